"""Names of things outside: versions, images and hosts."""

from __future__ import annotations

import ipaddress

from chartkit.engine.jmespath.declaration import function
from chartkit.engine.jmespath.errors import FunctionError
from chartkit.engine.jmespath.sources import current_sources
from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image
from chartkit.errors import Reraise
from chartkit.go.url import parse_url

_PRIVATE = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)


@function("semver_compare(string, string) bool", "semver_compare('1.27.3', '>=1.26.0 <1.28.0')")
def semver_compare(version: str, version_range: str) -> bool:
    """Return whether a version is in a range; a text that is no version counts as 0.0.0."""
    from chartkit.engine.scalars.semver_range import SemverError, parse_range, parse_version

    try:
        parsed = parse_version(version)
    except SemverError:
        parsed = parse_version("0.0.0")
    return parse_range(version_range)(parsed)


@function("image_normalize(string) string", "image_normalize('nginx')")
def image_normalize(image: str) -> str:
    """An image's full name, with its registry and its tag or digest."""
    with Reraise("JMESPath function 'image_normalize': ", ImageReferenceError, FunctionError):
        return str(parse_image(image))


@function("is_external_url(string) bool", "is_external_url('https://10.0.0.1/')")
def is_external_url(url: str) -> bool:
    """Return whether a URL's host is neither this machine nor in a private network."""
    host = parse_url(url).host_name
    try:
        return _is_public(host)
    except ValueError:
        return all(map(_is_public, current_sources().resolve(host)))


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None) or parsed
    return not (mapped.is_loopback or any(mapped in network for network in _PRIVATE))

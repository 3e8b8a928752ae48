"""Text encoded and decoded (Base64, digests, JSON, YAML, certificates), and the names of versions,
images and hosts."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections.abc import Callable
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import FunctionSpec, function, to_json
from chartkit.engine.jmespath.expression import FunctionError
from chartkit.engine.jmespath.nodes import current_sources
from chartkit.errors import InputError, Reraise
from chartkit.go.fmt import go_json
from chartkit.go.json_decoder import parse_json as read_json
from chartkit.go.json_decoder import yaml_problem
from chartkit.go.types import decode_base64
from chartkit.model import Body, Json

_YAML: Final = 4
"""Steps of a character of YAML, which is read slowly."""


def _bytes(text: str) -> bytes:
    """The bytes of a text; what `base64_decode` could not read as text is as it was."""
    return text.encode("utf-8", "surrogateescape")


@function("base64_decode(string) string", "base64_decode('aGVsbG8=')")
def base64_decode(text: str) -> str:
    """Decode Base64 to text."""
    return decode_base64(text).decode("utf-8", "surrogateescape")


@function("base64_encode(string) string", "base64_encode('hello')")
def base64_encode(text: str) -> str:
    """A text in Base64."""
    return base64.b64encode(_bytes(text)).decode("ascii")


def _digest(name: str, make: Callable[[bytes], str], bits: str) -> FunctionSpec:
    def digest(text: str) -> str:
        return make(_bytes(text))

    digest.__doc__ = f"The {bits} digest of a text, in hexadecimal."
    return function(f"{name}(string) string", f"{name}('hello')")(digest)


sha256 = _digest("sha256", lambda data: hashlib.sha256(data).hexdigest(), "SHA-256")
sha1 = _digest("sha1", lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(), "SHA-1")
md5 = _digest("md5", lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(), "MD5")


@function("parse_json(string) any", "parse_json('{\"a\": 1}')")
def parse_json(text: str) -> Json:
    """The value of a JSON text."""
    return read_json(text)


@function("parse_yaml(string) any", "parse_yaml('a: 1')")
def parse_yaml(budget: Budget, text: str) -> Json:
    """The value of a YAML text, read as Kubernetes reads YAML."""
    from chartkit.documents.reader import parse_yaml as read_yaml

    budget.spend(_YAML * len(text), "parse_yaml()")
    try:
        return read_yaml(text)
    except InputError as error:
        raise FunctionError(yaml_problem(text) or f"yaml: {error.message}") from error


@function("to_string(any) string", "to_string(request.object.metadata.labels)")
def to_string(budget: Budget, value: Json) -> str:
    """A text as it is; anything else as JSON."""
    if isinstance(value, str):
        return value
    budget.weigh(value, "to_string()")
    return go_json(to_json(value))


@function(
    "x509_decode(string) object",
    'x509_decode(base64_decode(request.object.data."tls.crt")).Subject.CommonName',
)
def x509_decode(text: str) -> Body:
    """The fields of an RSA certificate or certificate request in PEM."""
    from chartkit.go.x509 import CERTIFICATE, decode_pem

    kind, fields = decode_pem(text)
    if kind == CERTIFICATE:
        fields["SerialNumber"] = _serial_number(fields["SerialNumber"])
    return fields


def _serial_number(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        message = f"json: cannot unmarshal number {number} into Go value of type float64"
        raise FunctionError(message) from None


_PRIVATE = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"))
)


@function("semver_compare(string, string) bool", "semver_compare('1.27.3', '>=1.26.0 <1.28.0')")
def semver_compare(version: str, version_range: str) -> bool:
    """Report whether a version is in a range; a text that is not a version counts as 0.0.0."""
    from chartkit.engine.scalars.semver_range import SemverError, parse_range, parse_version

    try:
        parsed = parse_version(version)
    except SemverError:
        parsed = parse_version("0.0.0")
    return parse_range(version_range)(parsed)


@function("image_normalize(string) string", "image_normalize('nginx')")
def image_normalize(image: str) -> str:
    """An image's full name, with its registry and its tag or digest."""
    from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image

    with Reraise("JMESPath function 'image_normalize': ", ImageReferenceError, FunctionError):
        return str(parse_image(image))


@function("is_external_url(string) bool", "is_external_url('https://10.0.0.1/')")
def is_external_url(url: str) -> bool:
    """Report whether a URL's host is neither this machine nor in a private network."""
    from chartkit.go.url import parse_url

    host = parse_url(url).host_name
    try:
        return _is_public(host)
    except ValueError:
        return all(map(_is_public, current_sources().resolve(host)))


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None) or parsed
    return not (mapped.is_loopback or any(mapped in network for network in _PRIVATE))

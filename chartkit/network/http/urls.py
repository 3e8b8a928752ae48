"""URLs, read once: what is checked is what is connected to; and the addresses that are never asked:
those by which a cloud gives its machines their secrets."""

from __future__ import annotations

import base64
import ipaddress
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from chartkit.go.strconv import quote
from chartkit.wording import shortened

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA: Final = frozenset(
    map(
        ipaddress.ip_address,
        (
            "169.254.169.254",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
        ),
    )
)
"""Of Amazon, Google and others; Amazon's over IPv6, for machines and for Pods; Google's over IPv6;
Alibaba; Oracle; Azure's own services."""
_METADATA_NAMES: Final = frozenset(
    {"metadata.google.internal", "metadata.goog", "metadata.internal"}
)
_SHARED: Final = ipaddress.IPv4Network("100.64.0.0/10")
"""Addresses that providers and clusters share behind their own translation (RFC 6598)."""
_LAST_32: Final = tuple(
    map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"))
)
"""Prefixes of addresses that end in one of IPv4: IPv4-compatible and IPv4-mapped (RFC 4291),
IPv4-translated (RFC 2765) and NAT64 (RFC 6052)."""
_LOCAL_NAT64: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
"""RFC 8215."""
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})
"""The third quarter of an address whose last one is of IPv4 (RFC 5214)."""
_NUMERIC: Final = re.compile(r"[0-9a-fx.]+\Z", re.IGNORECASE | re.ASCII)
PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
"""The schemes that are spoken, and the port that a URL means where it names none."""
SSH: Final = "ssh"
SSH_PORT: Final = 22
_MOST_SHOWN: Final = 200
_LONGEST_HOST: Final = 255
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_USER: Final = re.compile(r"(?<=//)[^/?#]*@")
_BEHIND: Final = re.compile(r"[?#].*", re.DOTALL)
_BEHIND_HOST: Final = re.compile(r"[/?#]")
_NO_HOST: Final = re.compile(r"[ \\^`{|}]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def is_forbidden(address: Address) -> bool:
    """Report whether an address is link-local, a metadata service's or no single machine's, or an
    IPv6 address that leads to such an IPv4 address by any way of transition."""
    return any(
        target in _METADATA or target.is_link_local or target.is_multicast or target.is_unspecified
        for target in _meant(address)
    )


def is_forbidden_host(host: str) -> bool:
    """Report whether a host, as it is written, is never asked: an address that is forbidden, in any
    notation that systems read as one, or a metadata service's name."""
    name = host.strip("[]").lower().rstrip(".")
    address = literal(name) or _number(name)
    return name in _METADATA_NAMES or (address is not None and is_forbidden(address))


def is_inside(address: Address) -> bool:
    """Report whether an address is this machine itself or in a private network."""
    return any(
        target.is_loopback or target.is_private or (target.version == 4 and target in _SHARED)
        for target in _meant(address)
    )


def _meant(address: Address) -> Iterator[Address]:
    """Yield an address, and the IPv4 addresses embedded in it."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        yield from (ipaddress.IPv4Address(number & 0xFFFFFFFF) for number in _embedded(address))


def _embedded(address: ipaddress.IPv6Address) -> Iterator[int]:
    """Yield the IPv4 addresses in an IPv6 one, in the last 32 bits of each number."""
    number = int(address)
    if address in _LOCAL_NAT64:
        # The IPv4 addresses that an address stands for, whichever of the lengths of RFC 6052
        # its translator's prefix has: 96, 64, 56 or 48 bits.
        last, middle = number & 0xFFFFFFFF, number >> 32 & 0xFFFFFF
        if last or not number & (1 << 80) - 1:
            yield last
        others = (number >> 24, (number >> 64) << 24 | middle, (number >> 64) << 16 | middle >> 8)
        # Zeros are what the other lengths leave empty.
        yield from (other for other in others if other & 0xFFFFFFFF)
    elif any(address in network for network in _LAST_32):
        yield number
    if number >> 112 == 0x2002:  # 6to4 (RFC 3056)
        yield number >> 80
    if number >> 96 == 0x20010000:  # Teredo (RFC 4380): the server, and the client inverted
        yield from (number >> 64, ~number)
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        yield number


def _number(host: str) -> Address | None:
    """Return the IPv4 address that systems read in a number such as 0xa9fea9fe or 169.254.43518."""
    if not _NUMERIC.match(host) or not host[0].isdigit():
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def literal(host: str) -> Address | None:
    """Return the address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Report whether a host, by its name alone, is this machine itself."""
    address = literal(host)
    return host == "localhost" if address is None else address.is_loopback


class UrlError(ValueError):
    """A text that is not an http or https URL; in the words of Go's `net/url`, where it has any."""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host, as `normal_host` writes it, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Url:
    """host: as it is written, for the Host header and TLS; host_port: as hosts are compared;
    target: path and query; authorization: of the URL's user, empty for none."""

    text: str
    scheme: str
    host: str
    host_port: HostPort
    target: str
    authorization: str = ""

    @property
    def path(self) -> str:
        """The target without the query."""
        return self.target.partition("?")[0]

    @property
    def absolute(self) -> str:
        """The URL as a proxy is asked for it."""
        port = "" if self.host_port.port == PORTS[self.scheme] else f":{self.host_port.port}"
        return f"{self.scheme}://{self.host}{port}{self.target}"

    @property
    def origin(self) -> tuple[str, HostPort]:
        """Scheme, host and port."""
        return self.scheme, self.host_port


def is_url(text: str) -> bool:
    """Report whether a source is a URL."""
    return "://" in text


def shown_url(url: str) -> str:
    """Return a URL for people: without name, password, query, fragment and control characters."""
    text = _CONTROL.sub("", _BEHIND.sub("", _USER.sub("", url)))
    return shortened(text, _MOST_SHOWN)


def shown_source(source: str) -> str:
    """Return a path as it is, and a URL as `shown_url` does."""
    return shown_url(source) if is_url(source) else source


def scheme_of(url: str) -> str:
    """Return the scheme that a URL is written with, in small letters; empty for none."""
    match = _SCHEME.match(url)
    return match[1].lower() if match else ""


def normal_host(host: str) -> str:
    """Return a host as hosts are compared: in small letters, without brackets and final dot."""
    return host.strip("[]").lower().rstrip(".")


def read_url(url: str) -> Url:
    """Read a URL of http or https; raises UrlError."""
    # Most commands ask of a text whether it is a URL, and read none.
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    if _CONTROL.search(url):
        raise UrlError("net/url: invalid control character in URL")
    wrong = _NO_HOST.search(_BEHIND_HOST.split(url.partition("//")[2], maxsplit=1)[0])
    if wrong is not None:
        raise UrlError(f"invalid character {quote(wrong[0])} in host name")
    try:
        parts = parse_url(url)
    except (LocationParseError, UnicodeError):
        raise UrlError("invalid URL") from None
    scheme, host = parts.scheme or "", parts.host or ""
    if not host or len(host) > _LONGEST_HOST or scheme not in PORTS:
        raise UrlError("no host in the URL")
    compared = normal_host(host)
    address = literal(compared)
    host_port = HostPort(compared if address is None else str(address), parts.port or PORTS[scheme])
    if parts.auth is None:
        user = ""
    else:
        name, colon, password = parts.auth.partition(":")
        text = f"{unquote(name)}{colon}{unquote(password)}" if colon else f"{unquote(name)}:"
        user = basic_authorization(text)
    return Url(url, scheme, host, host_port, parts.request_uri, user)


def basic_authorization(user: str) -> str:
    """Return the Authorization header for `NAME:PASSWORD`."""
    return "Basic " + base64.b64encode(user.encode("utf-8", "replace")).decode("ascii")

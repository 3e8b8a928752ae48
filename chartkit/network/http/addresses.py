"""Addresses that are never asked: those by which a cloud gives its machines their secrets."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator
from typing import Final

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
    map(
        ipaddress.IPv6Network,
        ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"),
    )
)
"""Prefixes of addresses that end in one of IPv4: IPv4-compatible and IPv4-mapped (RFC 4291),
IPv4-translated (RFC 2765) and NAT64 (RFC 6052)."""
_LOCAL_NAT64: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
"""RFC 8215."""
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})
"""The third quarter of an address whose last one is of IPv4 (RFC 5214)."""
_NUMERIC: Final = re.compile(r"[0-9a-fx.]+\Z", re.IGNORECASE | re.ASCII)


def is_forbidden(address: Address) -> bool:
    """Tell whether an address is link-local, a metadata service's or no single machine's, or an
    IPv6 address that leads to such an IPv4 address by any way of transition."""
    return any(
        each in _METADATA or each.is_link_local or each.is_multicast or each.is_unspecified
        for each in _meant(address)
    )


def is_forbidden_host(host: str) -> bool:
    """Tell whether a host, as it is written, is never asked: an address that is forbidden, in any
    notation that systems read as one, or a metadata service's name."""
    name = host.strip("[]").lower().rstrip(".")
    address = literal(name) or _number(name)
    return name in _METADATA_NAMES or (address is not None and is_forbidden(address))


def is_inside(address: Address) -> bool:
    """Tell whether an address is this machine itself or in a private network."""
    return any(
        each.is_loopback or each.is_private or (each.version == 4 and each in _SHARED)
        for each in _meant(address)
    )


def _meant(address: Address) -> Iterator[Address]:
    """Yield an address, and the IPv4 addresses embedded in it."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        yield from (ipaddress.IPv4Address(each & 0xFFFFFFFF) for each in _embedded(address))


def _embedded(address: ipaddress.IPv6Address) -> Iterator[int]:
    """Yield the IPv4 addresses in an IPv6 one, in the last 32 bits of each number."""
    number = int(address)
    if address in _LOCAL_NAT64:
        # The IPv4 addresses that an address stands for, whichever of the lengths of RFC 6052
        # its translator's prefix has: 96, 64, 56 or 48 bits.
        last, middle = number & 0xFFFFFFFF, number >> 32 & 0xFFFFFF
        if last or not number & (1 << 80) - 1:
            yield last
        others = (
            number >> 24,
            (number >> 64) << 24 | middle,
            (number >> 64) << 16 | middle >> 8,
        )
        # Zeros are what the other lengths leave empty.
        yield from (each for each in others if each & 0xFFFFFFFF)
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
    """Tell whether a host, by its name alone, is this machine itself."""
    address = literal(host)
    return host == "localhost" if address is None else address.is_loopback

"""Which addresses are never asked: those by which a cloud gives its machines their secrets."""

from __future__ import annotations

import ipaddress
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
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")
"""Where NAT64 has the addresses of IPv4 (RFC 6052)."""


def is_forbidden(address: Address) -> bool:
    """Whether an address is link-local, a metadata service's, or no single machine's; or leads to
    such a one, as IPv6 can write those of IPv4."""
    return any(
        each in _METADATA or each.is_link_local or each.is_multicast or each.is_unspecified
        for each in _meant(address)
    )


def is_inside(address: Address) -> bool:
    """Whether an address is this machine itself or in a private network."""
    return any(each.is_loopback or each.is_private for each in _meant(address))


def _meant(address: Address) -> Iterator[Address]:
    """An address, and those of IPv4 that it stands for."""
    yield address
    if isinstance(address, ipaddress.IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address in _TRANSLATED:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def literal(host: str) -> Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether a host, by its name alone, is this machine itself."""
    address = literal(host)
    return host == "localhost" if address is None else address.is_loopback

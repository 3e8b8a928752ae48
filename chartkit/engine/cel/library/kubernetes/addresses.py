"""`kubernetes.net.ip`: IP addresses; `kubernetes.net.cidr`: networks such as `10.0.0.0/8`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from operator import attrgetter
from types import MappingProxyType
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, overload, overloads, type_constants
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_first, size_of, traversal
from chartkit.engine.cel.library.kubernetes.refusing import NO_SUCH_OVERLOAD, Refusing, accepts
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, opaque
from chartkit.engine.cel.values import Value
from chartkit.go.strconv import quote
from chartkit.go.url import AddressError, parse_address

IP: Final = named(opaque("net.IP"))

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class IpValue(Refusing):
    """An IPv4 or IPv6 address, without a zone and not IPv4 written as IPv6."""

    cel_type: ClassVar[Type] = IP

    address: Address

    def __str__(self) -> str:
        """The address in its canonical form."""
        return str(self.address)


@lru_cache(maxsize=1024)
def parse_ip(text: str) -> IpValue:
    """The address of a text; raises `CelError`."""
    try:
        address, zone = parse_address(text)
    except AddressError as error:
        problem = f"IP Address {quote(text)} parse error during conversion from string"
        raise CelError(f"{problem}: {error}") from None
    if zone:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return IpValue(address)


_MAKING_IP: Final = overloads(
    {
        "string_to_ip: ip(string) -> net.IP": parse_ip,
        "is_ip: isIP(string) -> bool": accepts(parse_ip),
    },
    cost=of_first,
)


def _twice(args: Sequence[Value], _result: Value) -> int:
    text = args[0]
    return traversal(2 * len(text)) if isinstance(text, str) else 1


_is_canonical = overload("ip_is_canonical: ip.isCanonical(string) -> bool", cost=_twice)(
    lambda text: str(parse_ip(text)) == text
)

_READING: Final = overloads(
    {
        "ip_family: net.IP.family() -> int": lambda value: value.address.version,
        "ip_to_string: string(net.IP) -> string": str,
    }
)

_IPV4_LINK_LOCAL_MULTICAST: Final = 224 << 16
_BROADCAST: Final = 2**32 - 1


def _is_link_local_multicast(value: IpValue) -> bool:
    address = value.address
    if address.version == 4:
        return int(address) >> 8 == _IPV4_LINK_LOCAL_MULTICAST
    return int(address) >> 112 & 0xFF0F == 0xFF02


def _is_global_unicast(value: IpValue) -> bool:
    address = value.address
    return not (
        address.is_unspecified
        or (address.version == 4 and int(address) == _BROADCAST)
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


_PREDICATES: Final = overloads(
    {
        "ip_is_unspecified: net.IP.isUnspecified() -> bool": attrgetter("address.is_unspecified"),
        "ip_is_loopback: net.IP.isLoopback() -> bool": attrgetter("address.is_loopback"),
        "ip_is_link_local_multicast: "
        "net.IP.isLinkLocalMulticast() -> bool": _is_link_local_multicast,
        "ip_is_link_local_unicast: net.IP.isLinkLocalUnicast() -> bool": attrgetter(
            "address.is_link_local"
        ),
        "ip_is_global_unicast: net.IP.isGlobalUnicast() -> bool": _is_global_unicast,
    }
)

IP_LIBRARY: Final = Library(
    "kubernetes.net.ip",
    overloads=(*_MAKING_IP, _is_canonical, *_READING, *_PREDICATES),
    variables=MappingProxyType(type_constants(IP)),
)


CIDR: Final = named(opaque("net.CIDR"))

_BITS = re.compile(r"[0-9]|[1-9][0-9]{1,18}")
_PROBLEM: Final = "network address parse error during conversion from string"


@dataclass(frozen=True, slots=True)
class CidrValue(Refusing):
    """A network: an address, whose host part is kept as it was written, and the mask's bits."""

    cel_type: ClassVar[Type] = CIDR

    address: Address
    bits: int

    def __str__(self) -> str:
        """The network as `address/bits`."""
        return f"{self.address}/{self.bits}"

    def network(self, bits: int) -> int:
        """The first bits of the address as a number."""
        return int(self.address) >> (self.address.max_prefixlen - bits)

    def contains(self, address: Address) -> bool:
        """Report whether an address of the same family is in the network."""
        if address.version != self.address.version:
            return False
        return int(address) >> (address.max_prefixlen - self.bits) == self.network(self.bits)


@lru_cache(maxsize=1024)
def parse_cidr(text: str) -> CidrValue:
    """The network of a text; raises `CelError`."""
    try:
        before, slash, mask = text.rpartition("/")
        if not slash:
            raise AddressError("no '/'")
        address, zone = parse_address(before)
        if zone:
            raise AddressError("IPv6 zones cannot be present in a prefix")
        if not _BITS.fullmatch(mask):
            raise AddressError(f"bad bits after slash: {quote(mask)}")
        bits = int(mask)
        if bits > address.max_prefixlen:
            raise AddressError("prefix length out of range")
    except AddressError as error:
        problem = f"netip.ParsePrefix({quote(text)}): {error}"
        raise CelError(f"{_PROBLEM}: {_PROBLEM}: {problem}") from None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        problem = f"IPv4-mapped IPv6 address {quote(text)} is not allowed"
        raise CelError(f"{_PROBLEM}: {problem}")
    return CidrValue(address, bits)


def _bytes(value: Value) -> int:
    """The size of a network as its costs have it: the bytes of its mask."""
    return -(-value.bits // 8) if isinstance(value, CidrValue) else size_of(value)


def _containing(args: Sequence[Value], _result: Value) -> int:
    return traversal(2 * _bytes(args[0]))


def _containing_text(args: Sequence[Value], result: Value) -> int:
    return _containing(args, result) + traversal(size_of(args[1]))


def _containing_network(args: Sequence[Value], result: Value) -> int:
    return _containing(args, result) + traversal(_bytes(args[0])) + 1


def _containing_network_text(args: Sequence[Value], result: Value) -> int:
    return _containing_network(args, result) + traversal(size_of(args[1]))


_MAKING: Final = overloads(
    {
        "string_to_cidr: cidr(string) -> net.CIDR": parse_cidr,
        "is_cidr: isCIDR(string) -> bool": accepts(parse_cidr),
    },
    cost=of_first,
)


def _within(network: CidrValue, other: CidrValue) -> bool:
    return network.bits <= other.bits and network.contains(other.address)


def _contains_text(network: CidrValue, text: str) -> bool:
    try:
        address = parse_ip(text).address
    except CelError:
        raise CelError(NO_SUCH_OVERLOAD) from None
    return network.contains(address)


_CONTAINING: Final = (
    overload("cidr_contains_ip_string: net.CIDR.containsIP(string) -> bool", cost=_containing_text)(
        _contains_text
    ),
    overload("cidr_contains_ip_ip: net.CIDR.containsIP(net.IP) -> bool", cost=_containing)(
        lambda network, value: network.contains(value.address)
    ),
    overload(
        "cidr_contains_cidr_string: net.CIDR.containsCIDR(string) -> bool",
        cost=_containing_network_text,
    )(lambda network, text: _within(network, parse_cidr(text))),
    overload(
        "cidr_contains_cidr: net.CIDR.containsCIDR(net.CIDR) -> bool", cost=_containing_network
    )(_within),
)


def _masked(network: CidrValue) -> CidrValue:
    address = network.address
    first = network.network(network.bits) << (address.max_prefixlen - network.bits)
    return CidrValue(type(address)(first), network.bits)


_PARTS: Final = overloads(
    {
        "cidr_ip: net.CIDR.ip() -> net.IP": lambda network: IpValue(network.address),
        "cidr_masked: net.CIDR.masked() -> net.CIDR": _masked,
        "cidr_prefix_length: net.CIDR.prefixLength() -> int": lambda network: network.bits,
        "cidr_to_string: string(net.CIDR) -> string": str,
    }
)

CIDR_LIBRARY: Final = Library(
    "kubernetes.net.cidr",
    overloads=(*_MAKING, *_CONTAINING, *_PARTS),
    variables=MappingProxyType(type_constants(CIDR, IP)),
)

"""`kubernetes.net.ip`: IP addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from operator import attrgetter
from types import MappingProxyType
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, Variable, declared, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_first, traversal
from chartkit.engine.cel.library.kubernetes.refusing import Refusing, accepts
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, opaque, type_of_type
from chartkit.engine.cel.values import Value
from chartkit.go.ip_address import AddressError, parse_address
from chartkit.go.strconv import quote

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


_MAKING: Final = overloads(
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

LIBRARY: Final = Library(
    "kubernetes.net.ip",
    overloads=declared(globals()),
    variables=MappingProxyType({IP.name: Variable(type_of_type(IP), IP, has_value=True)}),
)

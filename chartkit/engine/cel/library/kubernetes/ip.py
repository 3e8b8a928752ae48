"""`kubernetes.net.ip`: IP addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
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


def _top(address: Address, bits: int) -> int:
    return int(address) >> (address.max_prefixlen - bits)


def _is_unspecified(address: Address) -> bool:
    return int(address) == 0


def _is_loopback(address: Address) -> bool:
    return _top(address, 8) == 127 if address.version == 4 else int(address) == 1


def _is_multicast(address: Address) -> bool:
    return _top(address, 4) == 0xE if address.version == 4 else _top(address, 8) == 0xFF


def _is_link_local_multicast(address: Address) -> bool:
    if address.version == 4:
        return _top(address, 24) == _IPV4_LINK_LOCAL_MULTICAST
    return _top(address, 16) & 0xFF0F == 0xFF02


def _is_link_local_unicast(address: Address) -> bool:
    if address.version == 4:
        return _top(address, 16) == 169 << 8 | 254
    return _top(address, 10) == 0xFE80 >> 6


def _is_global_unicast(address: Address) -> bool:
    return not (
        _is_unspecified(address)
        or (address.version == 4 and int(address) == _BROADCAST)
        or _is_loopback(address)
        or _is_multicast(address)
        or _is_link_local_unicast(address)
    )


def _of_value(predicate: Callable[[Address], bool]) -> Callable[[IpValue], bool]:
    return lambda value: predicate(value.address)


_PREDICATES: Final = overloads(
    {
        f"ip_is_{id}: net.IP.{name}() -> bool": _of_value(predicate)
        for id, name, predicate in (
            ("unspecified", "isUnspecified", _is_unspecified),
            ("loopback", "isLoopback", _is_loopback),
            ("link_local_multicast", "isLinkLocalMulticast", _is_link_local_multicast),
            ("link_local_unicast", "isLinkLocalUnicast", _is_link_local_unicast),
            ("global_unicast", "isGlobalUnicast", _is_global_unicast),
        )
    }
)

LIBRARY: Final = Library(
    "kubernetes.net.ip",
    overloads=declared(globals()),
    variables=MappingProxyType({IP.name: Variable(type_of_type(IP), IP, has_value=True)}),
)

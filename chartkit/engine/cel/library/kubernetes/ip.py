"""`kubernetes.net.ip`: IP addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, Overload, Variable, overload
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


_ip = overload(
    "string_to_ip: ip(string) -> net.IP",
    "The IP address that a text is; one with a zone, and IPv4 written as IPv6, are refused.",
    "string(ip('2001:DB8::0:1'))  // '2001:db8::1'",
    "ip('127.0.0.256')"
    '  // error: IP Address "127.0.0.256" parse error during conversion from string: '
    'ParseAddr("127.0.0.256"): IPv4 field has value >255',
    cost=of_first,
)(parse_ip)

_is_ip = overload(
    "is_ip: isIP(string) -> bool",
    "Whether a text is an IP address.",
    "isIP('::1')  // true",
    "isIP('::ffff:1.2.3.4')  // false",
    cost=of_first,
)(accepts(parse_ip))


def _twice(args: Sequence[Value], _result: Value) -> int:
    text = args[0]
    return traversal(2 * len(text)) if isinstance(text, str) else 1


_is_canonical = overload(
    "ip_is_canonical: ip.isCanonical(string) -> bool",
    "Whether an address is written in its canonical form; an error where it is none.",
    "ip.isCanonical('2001:db8::abcd')  // true",
    "ip.isCanonical('2001:DB8::ABCD')  // false",
    cost=_twice,
)(lambda text: str(parse_ip(text)) == text)


@overload("ip_family: net.IP.family() -> int", "4 or 6.", "ip('::1').family()  // 6")
def _family(value: IpValue) -> int:
    return value.address.version


_string = overload(
    "ip_to_string: string(net.IP) -> string",
    "The address in its canonical form.",
    "string(ip('127.0.0.1'))  // '127.0.0.1'",
)(str)

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


_PREDICATES: Final[tuple[tuple[str, str, Callable[[Address], bool], str, str], ...]] = (
    ("ip_is_unspecified", "isUnspecified", _is_unspecified, "0.0.0.0 or ::", "::"),
    ("ip_is_loopback", "isLoopback", _is_loopback, "in 127.0.0.0/8, or ::1", "127.0.0.1"),
    (
        "ip_is_link_local_multicast",
        "isLinkLocalMulticast",
        _is_link_local_multicast,
        "in 224.0.0.0/24, or an IPv6 multicast address of the link's scope",
        "224.0.0.1",
    ),
    (
        "ip_is_link_local_unicast",
        "isLinkLocalUnicast",
        _is_link_local_unicast,
        "in 169.254.0.0/16 or fe80::/10",
        "169.254.169.254",
    ),
    (
        "ip_is_global_unicast",
        "isGlobalUnicast",
        _is_global_unicast,
        "neither zero, broadcast, loopback, multicast nor local to its link",
        "10.0.0.1",
    ),
)


def _predicates() -> Iterator[Overload]:
    for id, name, predicate, meaning, address in _PREDICATES:
        yield overload(
            f"{id}: net.IP.{name}() -> bool",
            f"Whether the address is {meaning}.",
            f"ip('{address}').{name}()  // true",
        )(_of_value(predicate))


def _of_value(predicate: Callable[[Address], bool]) -> Callable[[IpValue], bool]:
    return lambda value: predicate(value.address)


LIBRARY: Final = Library(
    "kubernetes.net.ip",
    overloads=(_ip, _is_ip, _is_canonical, _family, _string, *_predicates()),
    variables=MappingProxyType({IP.name: Variable(type_of_type(IP), IP, has_value=True)}),
    doc="IP addresses.",
)

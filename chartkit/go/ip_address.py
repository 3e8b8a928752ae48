"""IP addresses as Go's `netip.ParseAddr` reads them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

from chartkit.go import GoError
from chartkit.go.strconv import quote


class AddressError(GoError):
    """A text that is no IP address; Go's message names the fault, too."""


def parse_address(text: str) -> tuple[IPv4Address | IPv6Address, str]:
    """The address of a text and its zone, which is mostly empty; raises `AddressError`."""
    address, percent, zone = text.partition("%")
    problem = AddressError(f"ParseAddr({quote(text)}): unable to parse IP")
    try:
        parsed = ip_address(address)
    except ValueError:
        raise problem from None
    if percent and (parsed.version == 4 or not zone):
        raise problem
    return parsed, zone

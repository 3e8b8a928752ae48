"""IP addresses as Go's `netip.ParseAddr` reads them, and what it says of other texts."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

from chartkit.go import GoError
from chartkit.go.strconv import quote

_GROUP = re.compile(r"[0-9a-fA-F]*")
_GROUPS = 8
_OCTETS = 4
_SHORT = "IPv4 address too short"
_NOTHING_TO_EXPAND = "the :: must expand to at least one field of zeros"


class AddressError(GoError):
    """Text that is not an IP address, with the message of `netip.ParseAddr`."""


def parse_address(text: str) -> tuple[IPv4Address | IPv6Address, str]:
    """The address of a text and its zone, which is mostly empty; raises `AddressError`."""
    address, percent, zone = text.partition("%")
    try:
        parsed = ip_address(address)
    except ValueError:
        raise AddressError(address_problem(text)) from None
    if percent and (parsed.version == 4 or not zone):
        raise AddressError(address_problem(text))
    return parsed, zone


def address_problem(text: str) -> str:
    """The message for a text that `ipaddress` refuses."""
    message, at = _problem(text)
    place = f" (at {quote(at)})" if at else ""
    return f"ParseAddr({quote(text)}): {message}{place}"


def _problem(text: str) -> tuple[str, str]:
    kind = next((character for character in text if character in ".:%"), "")
    if kind == ".":
        return _ipv4_problem(text)
    if kind == ":":
        return _ipv6_problem(text)
    return ("missing IPv6 address" if kind else "unable to parse IP"), ""


def _ipv4_problem(text: str) -> tuple[str, str]:
    position = 0
    octet = ""
    for index, character in enumerate(text):
        if character == ".":
            if not octet or index == len(text) - 1:
                return "IPv4 field must have at least one digit", text[index:]
            if position == _OCTETS - 1:
                return "IPv4 address too long", ""
            position, octet = position + 1, ""
        elif not ("0" <= character <= "9"):
            return "unexpected character", text[index:]
        elif octet == "0":
            return "IPv4 field has octet with leading zero", ""
        else:
            octet += character
            if int(octet) > 255:
                return "IPv4 field has value >255", ""
    return _SHORT, ""


def _ipv6_problem(text: str) -> tuple[str, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string", ""
    shortened = rest.startswith("::")
    rest = rest[2:] if shortened else rest
    groups = 0
    while groups < _GROUPS:
        group = _GROUP.match(rest)
        digits = group[0] if group else ""
        if len(digits) > 4:
            return "each group must have 4 or less digits", rest
        if not digits:
            return "each colon-separated field must have at least one digit", rest
        after = rest[len(digits) :]
        if after.startswith("."):
            return _embedded_problem(rest, groups, shortened)
        groups, rest = groups + 1, after
        if not rest:
            break
        if not rest.startswith(":"):
            return "unexpected character, want colon", rest
        if len(rest) == 1:
            return "colon must be followed by more characters", rest
        rest = rest[1:]
        if rest.startswith(":"):
            if shortened:
                return "multiple :: in address", rest
            shortened, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        return "trailing garbage after address", rest
    if groups < _GROUPS:
        return "address string too short", ""
    return _NOTHING_TO_EXPAND, ""


def _embedded_problem(rest: str, groups: int, shortened: bool) -> tuple[str, str]:
    if not shortened and groups != _GROUPS - 2:
        message = "embedded IPv4 address must replace the final 2 fields of the address"
        return message, rest
    if groups > _GROUPS - 2:
        message = "too many hex fields to fit an embedded IPv4 at the end of the address"
        return message, rest
    message, at = _ipv4_problem(rest)
    if message == _SHORT and rest.count(".") == _OCTETS - 1:
        return _NOTHING_TO_EXPAND, ""
    return message, at

"""The formats of texts that an API server checks in custom resources.

Source: k8s.io/kube-openapi/pkg/validation/strfmt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.utils import parseaddr
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.library.kubernetes.naming import FORMATS as NAMED
from chartkit.go import GoError
from chartkit.go.duration import MINUTE, SECOND, parse_duration
from chartkit.go.regexp import compile_regex
from chartkit.go.url import parse_address

Test = Callable[[str], bool]

_HEX: Final = "[0-9a-f]"
_SHORT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL: Final = r"[a-zA-Z0-9\p{S}\p{L}]"
_HOSTNAME: Final = (
    rf"^({_LABEL}((-?{_LABEL}{{0,62}})?)"
    rf"|({_LABEL}(([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}{_LABEL})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
)
_MAC: Final = re.compile(
    r"(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?:(?::[0-9a-f]{2}){2}|(?::[0-9a-f]{2}){14})?"
    r"|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}(?:(?:-[0-9a-f]{2}){2}|(?:-[0-9a-f]{2}){14})?"
    r"|[0-9a-f]{12}(?:[0-9a-f]{4}|[0-9a-f]{28})?"
    r"|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}(?:\.[0-9a-f]{4}|(?:\.[0-9a-f]{4}){7})?)",
    re.IGNORECASE | re.ASCII,
)
_CARD: Final = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(?:222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01]"
    r"[0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})",
    re.ASCII,
)
_TIME_UNITS: Final[Mapping[tuple[str, ...], int]] = {
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 1_000,
    ("ms", "milli"): 1_000_000,
    ("s", "sec"): SECOND,
    ("m", "min"): MINUTE,
    ("h", "hr", "hour"): 60 * MINUTE,
    ("d", "day"): 24 * 60 * MINUTE,
    ("w", "wk", "week"): 7 * 24 * 60 * MINUTE,
}
"""Nanoseconds of units; texts that begin with the last name of one are that one, too."""
_AMOUNT: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_DIGITS: Final = 18
_DECIMAL: Final = 10
_COLOUR: Final = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"


def _pattern(pattern: str) -> Test:
    return lambda text: compile_regex(pattern).matches(text)


def _named(name: str) -> Test:
    return lambda text: not NAMED[name].check(text)


def _uuid(version: str, variant: str = _HEX) -> Test:
    return _pattern(
        f"(?i)^{_HEX}{{8}}-?{_HEX}{{4}}-?{version}{_HEX}{{3}}-?{variant}{_HEX}{{3}}-?{_HEX}{{12}}$"
    )


def _is_address(text: str, mark: str) -> bool:
    """Report whether a text is an address with a mark; `::ffff:1.2.3.4` is of both versions."""
    try:
        _, zone = parse_address(text)
    except (GoError, ValueError):
        return False
    return not zone and mark in text


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not _is_address(address, ""):
        return False
    digits = length.isascii() and length.isdigit() and len(length) <= len("128")
    return digits and int(length) <= (128 if ":" in address else 32)


def _is_hostname(text: str) -> bool:
    size = len(text.encode("utf-8", "replace"))
    parts = text.split(".")
    labels = all(len(part.encode("utf-8", "replace")) <= 63 for part in parts)
    return size <= 255 and labels and compile_regex(_HOSTNAME).matches(text)


def _is_email(text: str) -> bool:
    _, address = parseaddr(text)
    local, at, domain = address.rpartition("@")
    return bool(at and local and domain) and " " not in address


def read_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration, as Go or as Scala writes it; None for no duration."""
    try:
        return parse_duration(text)
    except GoError:
        pass
    total, has_unit = 0, False
    for amount, written in _AMOUNT.findall(text):
        unit = written.lower()
        for names, size in _TIME_UNITS.items():
            if unit in names or unit.startswith(names[-1]):
                has_unit = True
                total += int(amount[:_DIGITS]) * size
    return total if has_unit else None


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}(?:X|[0-9])", digits, re.ASCII):
        return False
    values = [_DECIMAL if digit == "X" else int(digit) for digit in digits]
    return sum(weight * value for weight, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits, re.ASCII):
        return False
    total = sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(digits[:12]))
    return int(digits[12]) == -total % _DECIMAL


def _is_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = [int(digit) * (2 if at % 2 else 1) for at, digit in enumerate(reversed(digits))]
    return sum(number // _DECIMAL + number % _DECIMAL for number in doubled) % _DECIMAL == 0


def _is_ssn(text: str) -> bool:
    return re.fullmatch(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text) is not None and len(text) == 11


TESTS: Final[Mapping[str, Test]] = MappingProxyType(
    {
        "bsonobjectid": _pattern(f"(?i)^{_HEX}{{24}}$"),
        "uri": _named("uri"),
        "email": _is_email,
        "hostname": _is_hostname,
        "ipv4": lambda text: _is_address(text, "."),
        "ipv6": lambda text: _is_address(text, ":"),
        "cidr": _is_cidr,
        "mac": lambda text: _MAC.fullmatch(text) is not None,
        "uuid": _uuid(_HEX),
        "uuid3": _uuid("3"),
        "uuid4": _uuid("4", "[89ab]"),
        "uuid5": _uuid("5", "[89ab]"),
        "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
        "isbn10": _is_isbn10,
        "isbn13": _is_isbn13,
        "creditcard": _is_card,
        "ssn": _is_ssn,
        "hexcolor": _pattern("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
        "rgbcolor": _pattern(rf"^rgb\(\s*{_COLOUR}\s*,\s*{_COLOUR}\s*,\s*{_COLOUR}\s*\)$"),
        "byte": _named("byte"),
        "password": lambda _text: True,
        "date": _named("date"),
        "duration": lambda text: read_duration(text) is not None,
        "datetime": _named("datetime"),
        "k8sshortname": lambda text: len(text) <= 63 and compile_regex(f"^{_SHORT}$").matches(text),
        "k8slongname": lambda text: (
            len(text) <= 253 and compile_regex(rf"^{_SHORT}(\.{_SHORT})*$").matches(text)
        ),
    }
)
"""By the normalized names of formats, without `-`."""

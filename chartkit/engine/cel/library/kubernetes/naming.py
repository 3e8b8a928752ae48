"""The rules for Kubernetes' names and the messages about names that break them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, declared, overload, overloads
from chartkit.engine.cel.library.costs import TRAVERSAL, size_of
from chartkit.engine.cel.library.kubernetes.refusing import Refusing
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, struct
from chartkit.engine.cel.values import NONE, OptionalValue, Value
from chartkit.go.regexp import compile_regex
from chartkit.go.time_layout import days_in
from chartkit.go.url import UrlError, parse_request_uri

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY})?"

_ENDS: Final = "and must start and end with an alphanumeric character"
_LABEL_MESSAGE: Final = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
)
_SUBDOMAIN_MESSAGE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', {_ENDS}"
)
_LABEL_1035_MESSAGE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_KEY_MESSAGE: Final = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_VALUE_MESSAGE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {_ENDS}"
)
_KEY_EXAMPLES: Final = ("MyName", "my.name", "123-abc")
_EMPTY: Final = "must be non-empty"

Check = Callable[[str], list[str]]
"""The faults of a text, one message a reason; empty for a valid one."""


def _matches(pattern: str, text: str) -> bool:
    return compile_regex(f"^{pattern}$").matches(text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _mismatch(message: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


def label(text: str) -> list[str]:
    """A DNS label (RFC 1123)."""
    problems = [] if _size(text) <= 63 else ["must be no more than 63 characters"]
    if not _matches(_LABEL, text):
        if _matches(_SUBDOMAIN, text):
            problems.append("must not contain dots")
        else:
            problems.append(_mismatch(_LABEL_MESSAGE, _LABEL, "my-name", "123-abc"))
    return problems


def subdomain(text: str) -> list[str]:
    """A DNS subdomain (RFC 1123)."""
    return _subdomain(text, "characters")


def _subdomain(text: str, unit: str) -> list[str]:
    problems = [] if _size(text) <= 253 else [f"must be no more than 253 {unit}"]
    if not _matches(_SUBDOMAIN, text):
        problems.append(_mismatch(_SUBDOMAIN_MESSAGE, _SUBDOMAIN, "example.com"))
    return problems


def label_1035(text: str) -> list[str]:
    """A DNS label (RFC 1035)."""
    problems = [] if _size(text) <= 63 else ["must be no more than 63 characters"]
    if not _matches(_LABEL_1035, text):
        problems.append(_mismatch(_LABEL_1035_MESSAGE, _LABEL_1035, "my-name", "abc-123"))
    return problems


def qualified_name(text: str) -> list[str]:
    """The key of a label: a name, with or without a subdomain and a slash before it."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        mismatch = _mismatch(_KEY_MESSAGE, _KEY, *_KEY_EXAMPLES)
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {mismatch} {optional}"]
    problems = []
    if slash and not prefix:
        problems.append(f"prefix part {_EMPTY}")
    elif slash:
        problems.extend(f"prefix part {problem}" for problem in _subdomain(prefix, "bytes"))
    if not name:
        problems.append(f"name part {_EMPTY}")
    elif _size(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _matches(_KEY, name):
        problems.append(f"name part {_mismatch(_KEY_MESSAGE, _KEY, *_KEY_EXAMPLES)}")
    return problems


def label_value(text: str) -> list[str]:
    problems = [] if _size(text) <= 63 else ["must be no more than 63 bytes"]
    if not _matches(_VALUE, text):
        problems.append(_mismatch(_VALUE_MESSAGE, _VALUE, "MyValue", "my_value", "12345"))
    return problems


def prefix_of(check: Check) -> Check:
    """The check of a name to which something is added: it may end in a dash."""

    def check_prefix(text: str) -> list[str]:
        masked = f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text
        return check(masked)

    return check_prefix


FORMAT: Final = named(struct("kubernetes.NamedFormat"), "NamedFormat")


@dataclass(frozen=True, slots=True)
class NamedFormat(Refusing):
    """A rule with its name; pattern_size: how long the pattern is taken to be for the cost."""

    cel_type: ClassVar[Type] = FORMAT

    name: str
    check: Check = field(compare=False)
    pattern_size: int = field(compare=False)

    def __str__(self) -> str:
        return self.name


_UUID: Final = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
_BASE64: Final = (
    r"^(?:[A-Za-z0-9+\/]{4})*(?:[A-Za-z0-9+\/]{2}==|[A-Za-z0-9+\/]{3}=|[A-Za-z0-9+\/]{4})$"
)
_TIME: Final = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_REGEX_COST: Final = 0.25


def _pattern(pattern: str, message: str) -> Check:
    return lambda text: [] if compile_regex(pattern).matches(text) else [message]


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    return 1 <= month <= 12 and 1 <= day <= days_in(month, year)


def _datetime(text: str) -> list[str]:
    # Upstream's rule: what follows a second `t` is not read, and any character may stand for
    # the point before the fraction.
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]) or not compile_regex(_TIME).matches(parts[1]):
        return ["invalid datetime"]
    hour, minute, second = parts[1][0:2], parts[1][3:5], parts[1][6:8]
    good = hour <= "23" and minute <= "59" and second <= "59"
    return [] if good else ["invalid datetime"]


FORMATS: Final = MappingProxyType(
    {
        "dns1123Label": NamedFormat("DNS1123Label", label, 30),
        "dns1123Subdomain": NamedFormat("DNS1123Subdomain", subdomain, 60),
        "dns1035Label": NamedFormat("DNS1035Label", label_1035, 30),
        "qualifiedName": NamedFormat("QualifiedName", qualified_name, 60),
        "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", prefix_of(label), 30),
        "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", prefix_of(subdomain), 60),
        "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", prefix_of(label_1035), 30),
        "labelValue": NamedFormat("LabelValue", label_value, 40),
        "uri": NamedFormat("URI", _uri, 1103),
        "uuid": NamedFormat("uuid", _pattern(_UUID, "does not match the UUID format"), len(_UUID)),
        "byte": NamedFormat("byte", _pattern(_BASE64, "invalid base64"), 84),
        "date": NamedFormat(
            "date", lambda text: [] if _is_date(text) else ["invalid date"], len(_TIME)
        ),
        "datetime": NamedFormat("datetime", _datetime, len(_TIME)),
    }
)


def _validation(args: Sequence[Value], _result: Value) -> int:
    rule, text = args
    size = rule.pattern_size if isinstance(rule, NamedFormat) else 0
    return ceil((1 + size_of(text)) * TRAVERSAL) * ceil(size * _REGEX_COST)


@overload(
    "format-validate: NamedFormat.validate(string) -> optional_type(list(string))",
    cost=_validation,
)
def _validate(rule: NamedFormat, text: str) -> OptionalValue:
    problems = rule.check(text)
    return OptionalValue(True, problems) if problems else NONE


@overload("format-named: format.named(string) -> optional_type(NamedFormat)")
def _named(name: str) -> OptionalValue:
    named_format = FORMATS.get(name)
    return NONE if named_format is None else OptionalValue(True, named_format)


def _always(rule: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: rule


_CONSTANTS: Final = overloads(
    {
        f"format.{name}: format.{name}() -> NamedFormat": _always(rule)
        for name, rule in FORMATS.items()
    }
)

LIBRARY: Final = Library("kubernetes.format", overloads=declared(globals()))

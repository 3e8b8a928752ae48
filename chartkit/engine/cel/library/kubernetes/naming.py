"""The rules for Kubernetes' names and the messages about names that break them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from chartkit.go.regexp import compile_regex

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
    """The value of a label."""
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

"""A finding of a Pod Security check."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

BadValue = str | bool | int | tuple[str, ...]
"""The forbidden value of a field; empty text if nothing is to be shown."""

_NUMBER: Final = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class FieldError:
    """A field that breaks a check.

    container: the container's name where the field is one of a container's; is_missing: the
    field should be there.
    """

    path: str
    value: BadValue = ""
    container: str | None = None
    is_missing: bool = False

    def __str__(self) -> str:
        if self.is_missing:
            return f"{self.path}: Required value"
        if self.value == "":
            return f"{self.path}: Forbidden"
        return f"{self.path} is forbidden, forbidden values found: {_shown(self.value)}"

    @property
    def pattern(self) -> str:
        """The path with `*` for every number, as `restrictedField` has it."""
        return _NUMBER.sub("*", self.path)

    @property
    def values(self) -> tuple[str, ...]:
        """The bad values as text, for wildcards."""
        if isinstance(self.value, tuple):
            return self.value
        return (_shown(self.value),) if self.value != "" else ()


def _shown(value: BadValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{' '.join(value)}]"
    return str(value)


@dataclass(frozen=True, slots=True)
class Violation:
    """The reason why a check forbids a pod.

    detail: names containers and values; errors: None where a check tells no fields.
    """

    reason: str
    detail: str
    errors: tuple[FieldError, ...] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of one check, by the check's id."""

    check: str
    reason: str
    detail: str
    errors: tuple[FieldError, ...] | None


def quoted(items: Iterable[str]) -> str:
    """`"a", "b"`."""
    text = '", "'.join(items)
    return f'"{text}"' if text else ""


def plural(word: str, count: int) -> str:
    """The word, with an `s` unless there is one."""
    return word if count == 1 else f"{word}s"


def counted(word: str, items: Iterable[str]) -> str:
    """`container "a"` or `containers "a", "b"`."""
    found = list(items)
    return f"{plural(word, len(found))} {quoted(found)}"

"""Errors about the fields of an object, in the words of an API server.

Source: k8s.io/apimachinery/pkg/util/validation/field.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from chartkit.go.fmt import format_float, go_json
from chartkit.go.strconv import quote
from chartkit.model import FieldPath, Json


class Reason(StrEnum):
    """The type of an error, as its text begins."""

    INVALID = "Invalid value"
    TYPE = "Invalid value "
    REQUIRED = "Required value"
    UNSUPPORTED = "Unsupported value"
    DUPLICATE = "Duplicate value"
    FORBIDDEN = "Forbidden"
    TOO_LONG = "Too long"
    TOO_MANY = "Too many"


_BLOCKING: Final = frozenset(
    {Reason.UNSUPPORTED, Reason.REQUIRED, Reason.TOO_LONG, Reason.TOO_MANY, Reason.TYPE}
)
_NO_FIELD: Final = "<nil>"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error. path: of the field, also where the text names none; text: as an API server words
    it; reason: its type."""

    path: FieldPath
    text: str
    reason: Reason

    @property
    def is_blocking(self) -> bool:
        """Return whether rules in CEL are not evaluated for an object with it."""
        return self.reason in _BLOCKING


class TooMuchWork(Exception):  # noqa: N818 - no fault of the object that is judged
    """An object has more values, or more errors, than are looked at."""


@dataclass(slots=True)
class Work:
    """The work that is left for one object: values to look at, and characters of errors."""

    left: int = 1_000_000

    def spend(self, amount: int = 1) -> None:
        """Count work; raise TooMuchWork."""
        self.left -= amount
        if self.left < 0:
            raise TooMuchWork


class Omitted:
    """The value of an error that does not show it."""


OMITTED: Final = Omitted()


def problem(
    path: FieldPath, name: str, reason: Reason, detail: str = "", value: Json | Omitted = OMITTED
) -> Problem:
    """Return an error; name: of the field in the text, empty for none; value: shown after the
    reason."""
    text = f"{name or _NO_FIELD}: {reason.strip()}"
    if not isinstance(value, Omitted):
        text += f": {shown(value)}"
    return Problem(path, f"{text}: {detail}" if detail else text, reason)


def shown(value: Json) -> str:
    """Return a value as an error shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return format_float(value)
    return str(value) if isinstance(value, int) else go_json(value)


def field_name(path: FieldPath, keys: frozenset[int] = frozenset()) -> str:
    """Return the name of a field: `spec.hosts[0].tls[key]`; keys: the positions of steps that are
    keys of a map, not fields."""
    text = ""
    for at, step in enumerate(path):
        if isinstance(step, int) or at in keys:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text

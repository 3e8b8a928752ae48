"""How an object departs from a pattern: what it means for the rule, where, and Kyverno's words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum, auto

Path = tuple["Path | None", str] | None
"""A place in the object as (parent, name); None is the root. Becomes text only on a mismatch."""


class MismatchKind(StrEnum):
    """What a mismatch makes of the rule."""

    FAIL = auto()
    SKIP = auto()
    ERROR = auto()


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The outcome of a pattern that does not hold.

    path: where, ending with a slash, empty where there is none to name; message: the reason in
    Kyverno's words, without the rule's own message.
    """

    kind: MismatchKind
    path: str
    message: str


class Cause(StrEnum):
    """Where a problem comes from, which decides what those around it make of it."""

    PLAIN = auto()
    NEGATION = auto()
    CONDITION = auto()
    COMBINED = auto()
    """Several conditions that were not met, gathered by a list or an object."""


class Problem:
    """A mismatch on its way up through the pattern; its text is made when it is asked for."""

    __slots__ = ("_text", "cause", "path")

    def __init__(self, cause: Cause, path: Path | str, text: Callable[[], str]) -> None:
        self.cause = cause
        self.path = path
        self._text = text

    @property
    def skips(self) -> bool:
        """Whether the pattern does not apply, rather than fails."""
        return self.cause is Cause.CONDITION or self.cause is Cause.COMBINED

    @property
    def text(self) -> str:
        """The reason."""
        return self._text()

    @property
    def place(self) -> str:
        """The path as Kyverno writes it."""
        return self.path if isinstance(self.path, str) else render(self.path)


def combined(path: Path, problems: list[Problem]) -> Problem:
    """The problem of a list or object all of whose conditions were not met."""
    return Problem(Cause.COMBINED, path, lambda: "; ".join(each.text for each in problems))


def render(path: Path) -> str:
    """`/spec/containers/0/`; the root is `/`."""
    names: list[str] = []
    while path is not None:
        path, name = path
        names.append(name)
    return "/" + "".join(f"{name}/" for name in reversed(names))

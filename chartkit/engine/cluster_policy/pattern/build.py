"""The shared parts of the pattern compiler: anchors (`pkg/engine/anchor` in Kyverno), paths and
failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from chartkit.engine.budget import Budget
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.errors import EvaluationError
from chartkit.model import Body, FieldPath, Json

GO_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The characters that Go's `strings.TrimSpace` removes."""

_ANCHOR: Final = re.compile(r"([+<=X^])?\((.+)\)")


class AnchorKind(StrEnum):
    """The modifier before the bracket."""

    CONDITION = ""
    GLOBAL = "<"
    NEGATION = "X"
    ADDITION = "+"
    EQUALITY = "="
    EXISTENCE = "^"


class Anchor(NamedTuple):
    """An anchor and the key that stands in its brackets."""

    kind: AnchorKind
    key: str

    def __str__(self) -> str:
        return f"{self.kind}({self.key})"


FIRST_PHASE: Final = frozenset(
    {AnchorKind.CONDITION, AnchorKind.EXISTENCE, AnchorKind.EQUALITY, AnchorKind.NEGATION}
)
"""Anchors that are looked at before the other keys of their object."""

NESTING: Final = FIRST_PHASE | {AnchorKind.GLOBAL}
"""Anchors that bring the key above them to the front."""


@lru_cache(1024)
def parse_anchor(key: str) -> Anchor | None:
    """The anchor that a key is written as; None for a plain key."""
    if ")" not in key:
        return None
    match = _ANCHOR.fullmatch(key.strip(GO_SPACE))
    return Anchor(AnchorKind(match[1] or ""), match[2]) if match else None


def has_nested_anchors(pattern: Json) -> bool:
    """Report whether a pattern holds an anchor at any depth."""
    if isinstance(pattern, dict):
        for key in pattern:
            anchor = parse_anchor(key)
            if anchor is not None and anchor.kind in NESTING:
                return True
        return any(map(has_nested_anchors, pattern.values()))
    return isinstance(pattern, list) and any(map(has_nested_anchors, pattern))


def in_phases(pattern: Body) -> tuple[list[str], list[str]]:
    """Return the keys of both phases; those with anchors in or below them are first, last first."""
    first: list[str] = []
    front: list[str] = []
    back: list[str] = []
    for key in sorted(pattern):
        anchor = parse_anchor(key)
        if anchor is not None and anchor.kind in FIRST_PHASE:
            first.append(key)
        elif (anchor is not None and anchor.kind is AnchorKind.GLOBAL) or has_nested_anchors(
            pattern[key]
        ):
            front.append(key)
        else:
            back.append(key)
    return first, front[::-1] + back


class MismatchKind(StrEnum):
    """The effect of a mismatch on the rule."""

    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The reason why a pattern does not hold.

    path: where, as `/spec/containers/0/image/`; empty unless the kind is FAIL. message: Kyverno's
    text of the reason, which skips and errors show; place: the part of the pattern that does not
    hold, and where in the value.
    """

    kind: MismatchKind
    path: str
    message: str
    place: tuple[Part, Places] | None = field(default=None, compare=False)


CONDITION_TEXT: Final = "conditional anchor mismatch"
GLOBAL_TEXT: Final = "global anchor mismatch"
NEGATION_TEXT: Final = "negation anchor matched in resource"


class Failure:
    """A mismatch on its way up through the pattern.

    anchor: the anchor that makes it a condition unmet, or a key that must not be; None for any
    other reason. combined: whether it combines several that were skipped below. skips: whether it
    means that the pattern does not apply. place: the part of the pattern that does not hold, and
    where in the value.
    """

    __slots__ = ("anchor", "combined", "path", "place", "skips", "text")

    def __init__(
        self,
        path: str,
        text: str,
        anchor: AnchorKind | None = None,
        combined: bool = False,
        place: tuple[Part, Places] | None = None,
    ) -> None:
        self.path = path
        self.place = place
        self.text = text
        self.anchor = anchor
        self.combined = combined
        # Kyverno tells them apart by their text once the type is lost, so a value that holds
        # such a text counts as well.
        if anchor is None:
            self.skips = CONDITION_TEXT in text or GLOBAL_TEXT in text
        else:
            self.skips = anchor is not AnchorKind.NEGATION

    @property
    def forbids(self) -> bool:
        """Report whether it means that a key is there which must not be."""
        if self.anchor is None:
            return NEGATION_TEXT in self.text
        return self.anchor is AnchorKind.NEGATION


def unmet_condition(inner: str, path: str, place: tuple[Part, Places] | None = None) -> Failure:
    """Return the failure of a `( )` anchor whose key is missing or does not match."""
    return Failure(path, f"{CONDITION_TEXT}: {inner}", AnchorKind.CONDITION, place=place)


def unmet_global(inner: str, path: str, place: tuple[Part, Places] | None = None) -> Failure:
    """Return the failure of a `<( )` anchor that does not match."""
    return Failure(path, f"{GLOBAL_TEXT}: {inner}", AnchorKind.GLOBAL, place=place)


def forbidden_key(path: str, place: tuple[Part, Places] | None = None) -> Failure:
    """Return the failure of an `X( )` anchor whose key is present."""
    text = f"{NEGATION_TEXT}: {path} is not allowed"
    return Failure(path, text, AnchorKind.NEGATION, place=place)


def combine(failures: Sequence[Failure], path: str) -> Failure:
    """Combine skipped failures into one."""
    text = "; ".join(failure.text for failure in failures)
    return Failure(path, text, combined=True, place=failures[0].place)


LIST: Final = "a list that is compared with a pattern"

MAX_DEPTH: Final = 100
"""The most levels of a pattern: each needs a few frames of Python's stack."""

Places = tuple[int, ...]
"""The index of the current element in each list around a value, from the outside in."""


class PatternDepthError(EvaluationError):
    """A pattern or a value that is nested too deep to be compared."""


class Run:
    """The state of one comparison.

    found: for each anchored key that was looked for, whether any object had it; metadata: label
    patterns by their place, once wildcards in their keys were replaced, which lasts for the rest of
    the comparison; budget: the rule's; absent: takes the optional parts that the value does not
    have, None unless they are needed.
    """

    __slots__ = ("absent", "budget", "found", "metadata")

    def __init__(
        self, budget: Budget | None = None, absent: list[tuple[Part, Places]] | None = None
    ) -> None:
        self.absent = absent
        self.budget = Budget() if budget is None else budget
        self.found: dict[str, bool] = {}
        self.metadata: dict[tuple[str, ...], Body] = {}

    @property
    def is_key_missing(self) -> bool:
        """Report whether no object had one of the anchored keys."""
        return not all(self.found.values())


Check = Callable[[Json, Places, Run], Failure | None]
"""Compares one value; None where it holds."""


class Path(NamedTuple):
    """The place of a pattern's part: texts with a list index between each two.

    steps: its keys, None for an index; is_open: whether all of them are keys that an object may
    have: wildcards and anchors are not, and end the steps.
    """

    parts: tuple[str, ...] = ("/",)
    steps: tuple[str | None, ...] = ()
    is_open: bool = True

    def child(self, key: str) -> Path:
        """The path of a key of the object here."""
        parts = (*self.parts[:-1], f"{self.parts[-1]}{key}/")
        if self.is_open and not has_wildcard(key) and parse_anchor(key) is None:
            return Path(parts, (*self.steps, key))
        return Path(parts, self.steps, False)

    def each(self) -> Path:
        """The path of each element of the list here."""
        parts = (*self.parts, "/")
        return Path(parts, (*self.steps, None)) if self.is_open else Path(parts, self.steps, False)

    def fields(self, places: Places) -> FieldPath:
        """Return the keys and indices that lead to a value, as far as they are open."""
        indices = iter(places)
        return tuple(next(indices) if step is None else step for step in self.steps)

    def at(self, places: Places) -> str:
        """Return the path as Kyverno writes it, with a slash at its end."""
        text = self.parts[0]
        if len(self.parts) > 1:
            for step, part in zip(places, self.parts[1:], strict=True):
                text = f"{text}{step}{part}"
        return text


@dataclass(frozen=True, slots=True)
class Spot:
    """A part of the pattern: where it looks, and the keys and list places that lead to it.

    compile: compiles what is at a spot.
    """

    compile: Callable[[Json, Spot], Check]
    path: Path = field(default_factory=Path)
    position: tuple[str, ...] = ()

    def key(self, key: str, written: str) -> Spot:
        """Return the spot of a key; written: as in the pattern, with its anchor."""
        return Spot(self.compile, self.path.child(key), (*self.position, written))

    def each(self, index: int) -> Spot:
        """The spot of the pattern's element that every element of the list is compared with."""
        return Spot(self.compile, self.path.each(), (*self.position, str(index)))

    def check(self, pattern: Json) -> Check:
        """Compile the pattern here; raise `PatternDepthError`."""
        if len(self.position) > MAX_DEPTH:
            raise PatternDepthError(f"the pattern has more than {MAX_DEPTH} levels")
        return self.compile(pattern, self)

    def part(self, pattern: Json, required: tuple[tuple[str, ...], ...] = ()) -> Part:
        """Return the part of the pattern that is here."""
        return Part(self.path, pattern, self.position, required)


class Part(NamedTuple):
    """A part of the pattern: where it looks, and what it asks for there; position: the keys and
    indices that lead to it in the pattern; required: the keys that an object must have to match."""

    path: Path
    pattern: Json
    position: tuple[str, ...]
    required: tuple[tuple[str, ...], ...] = ()


def weight_of(pattern: Json) -> int:
    """Return the number of parts of a pattern, the cost of one more comparison."""
    members = pattern.values() if isinstance(pattern, dict) else pattern
    return 1 + (sum(map(weight_of, members)) if isinstance(pattern, dict | list) else 0)

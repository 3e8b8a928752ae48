"""Patterns compiled once and compared with many values (`pkg/engine/validate` in Kyverno).

Of an object pattern the anchors come first, then the other keys, in Kyverno's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.pattern.build import (
    AnchorKind,
    Check,
    Failure,
    Mismatch,
    MismatchKind,
    Part,
    PatternDepthError,
    Places,
    Run,
    Spot,
    combine,
    in_phases,
    parse_anchor,
)
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.go.fmt import go_sprint, go_type
from chartkit.model import Body, Json

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.pattern.keys import Variants


_SHORT: Final = 1024
"""The longest text in a message that is not counted."""


class Pattern:
    """A compiled pattern without variables."""

    __slots__ = ("_check",)

    def __init__(self, check: Check) -> None:
        self._check = check

    def check(
        self,
        value: Json,
        budget: Budget | None = None,
        absent: list[tuple[Part, Places]] | None = None,
    ) -> Mismatch | None:
        """Compares a value; None where the pattern holds. budget: the rule's; absent: takes the
        optional parts that the value does not have.

        Raises `PatternDepthError` for a value that is nested too deep to be shown, `BudgetError`.
        """
        run = Run(budget, absent)
        try:
            failure = self._check(value, (), run)
        except RecursionError:
            raise PatternDepthError("the value is nested too deep to be compared") from None
        if failure is None:
            return None
        if failure.skips:
            return Mismatch(MismatchKind.SKIP, "", failure.text, failure.place)
        if failure.path and (failure.forbids or not run.is_key_missing):
            return Mismatch(MismatchKind.FAIL, failure.path, failure.text, failure.place)
        return Mismatch(MismatchKind.ERROR, "", failure.text, failure.place)


def compile_pattern(body: Json) -> Pattern:
    """Compiles a pattern; raises `PatternDepthError` for one that is nested too deep.

    body: as written, its whole numbers marked where they are int64 (`chartkit.go.strconv`): an
    int64 pattern takes the text `1`, a float64 one `1.0` as well.
    """
    try:
        return Pattern(Spot(_compile).check(body))
    except RecursionError:
        raise PatternDepthError("the pattern is nested too deep") from None


def _compile(pattern: Json, spot: Spot) -> Check:
    if isinstance(pattern, dict):
        return compile_object(pattern, spot)
    if isinstance(pattern, list):
        from chartkit.engine.cluster_policy.pattern.lists import compile_list

        return compile_list(pattern, spot)
    holds, wanted = compile_scalar(pattern), go_sprint(pattern)
    path, part = spot.path, spot.part(pattern)

    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if holds(value) or (isinstance(value, list) and all(map(holds, value))):
            return None
        at = path.at(places)
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > _SHORT):
            run.budget.weigh(value, "a value in a message")
        shown = go_sprint(value)
        text = f"resource value '{shown}' does not match '{wanted}' at path {at}"
        return Failure(at, text, place=(part, places))

    return check


TAGS: Final = ("labels", "annotations")

Entry = Callable[[Body, Places, Run], Failure | None]
"""Compares what an object has under one key; None where it holds."""
Entries = tuple[Entry, ...]


def variants_of(pattern: Body, spot: Spot) -> Variants | None:
    """Return the variants of an object pattern whose label keys are replaced; None for others."""
    written, metadata = entry_of(pattern, "metadata")
    if not isinstance(metadata, dict):
        return None
    if not any(_is_replaced(entry_of(metadata, tag)[1]) for tag in TAGS):
        return None
    from chartkit.engine.cluster_policy.pattern.keys import Variants

    return Variants(pattern, spot, written, metadata)


def _is_replaced(labels: Json) -> bool:
    if not isinstance(labels, dict):
        return False
    return any(has_wildcard(key) or not isinstance(labels[key], str) for key in labels)


def entry_of(value: Body, name: str) -> tuple[str, Json]:
    """The key of that name, anchored or not, and its value."""
    if name in value:
        return name, value[name]
    for key in value:
        anchor = parse_anchor(key)
        if anchor is not None and anchor.key == name:
            return key, value[key]
    return "", None


_TRACKED: Final = frozenset({AnchorKind.CONDITION, AnchorKind.EXISTENCE})


def compile_object(pattern: Body, spot: Spot) -> Check:
    """Compares an object with an object pattern."""
    phases, tracked = compile_entries(pattern, spot), _tracked(pattern)
    variants = variants_of(pattern, spot)
    path, part = spot.path, spot.part(pattern, tuple(_required(pattern, ())))

    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if not isinstance(value, dict):
            at = path.at(places)
            text = f"pattern and resource have different structures. Path: {at}. "
            text += f"Expected map[string]interface {{}}, found {go_type(value)}"
            return Failure(at, text, place=(part, places))
        anchors, fields = phases if variants is None else variants.entries(value, run)
        if anchors:
            for written, key in tracked:
                if not run.found.get(written):
                    run.found[written] = key in value
            skipped: list[Failure] = []
            applied = False
            for entry in anchors:
                failure = entry(value, places, run)
                if failure is None:
                    applied = True
                elif failure.skips:
                    skipped.append(failure)
                elif all(skip.combined for skip in skipped):
                    return failure
            # A condition unmet further down does not count beside an anchor that holds here.
            if skipped and not (applied and all(skip.combined for skip in skipped)):
                return combine(skipped, path.at(places))
        for entry in fields:
            failure = entry(value, places, run)
            if failure is not None:
                return failure
        return None

    return check


def _required(pattern: Json, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not isinstance(pattern, dict) or not pattern:
        yield path
        return
    for key, member in pattern.items():
        if parse_anchor(key) is None and not has_wildcard(key):
            yield from _required(member, (*path, key))


def _tracked(pattern: Body) -> tuple[tuple[str, str], ...]:
    """The keys, as written and bare, that must be somewhere for a mismatch to be a failure."""
    anchors = [(written, parse_anchor(written)) for written in pattern]
    return tuple(
        (written, anchor.key)
        for written, anchor in anchors
        if anchor is not None and anchor.kind in _TRACKED
    )


def compile_entries(pattern: Body, spot: Spot) -> tuple[Entries, Entries]:
    first, then = in_phases(pattern)
    return (
        tuple(compile_key(key, pattern[key], spot) for key in first),
        tuple(compile_key(key, pattern[key], spot) for key in then),
    )


def compile_key(written: str, pattern: Json, spot: Spot) -> Entry:
    """Compile the check of a key. written: the key as in the pattern, with its anchor; spot: the
    spot of the object with the key."""
    anchor = parse_anchor(written)
    # `+( )` is in a validate rule a key like any other.
    if anchor is not None and anchor.kind is not AnchorKind.ADDITION:
        from chartkit.engine.cluster_policy.pattern.keys import ANCHORED

        return ANCHORED[anchor.kind](anchor.key, pattern, spot.key(anchor.key, written))
    if pattern == "*":
        path = spot.path
        part = spot.key(written, written).part("*")

        def entry(resource: Body, places: Places, _run: Run) -> Failure | None:
            if resource.get(written) is not None:
                return None
            parent = path.at(places)
            return Failure(parent, f"{parent}/{written} not found", place=(part, places))

        return entry
    check = spot.key(written, written).check(pattern)
    return lambda resource, places, run: check(resource.get(written), places, run)

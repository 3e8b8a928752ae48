"""Object patterns: anchors first, then the other keys, in Kyverno's order."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cluster_policy.pattern.anchors import (
    FIRST_PHASE,
    AnchorKind,
    has_nested_anchors,
    parse_anchor,
)
from chartkit.engine.cluster_policy.pattern.build import Build, Check, Places, Run, Spot
from chartkit.engine.cluster_policy.pattern.keys import Entry, compile_key
from chartkit.engine.cluster_policy.pattern.labels import Expansion, expansion_of
from chartkit.engine.cluster_policy.pattern.mismatch import Failure, combine
from chartkit.engine.cluster_policy.pattern.numbers import go_type
from chartkit.model import Body, Json

Entries = tuple[Entry, ...]

_TRACKED: Final = frozenset({AnchorKind.CONDITION, AnchorKind.EXISTENCE})
_MOST_VARIANTS: Final = 256


def compile_object(pattern: Body, spot: Spot, build: Build) -> Check:
    """Compares an object with an object pattern."""
    anchors, plain = _compile_entries(pattern, spot, build)
    tracked = _tracked(pattern)
    expansion = expansion_of(pattern, spot)
    if expansion is not None:
        return _expanding(_Variants(pattern, expansion, spot, build), tracked, spot)
    if anchors or tracked:
        return _anchored(anchors, plain, tracked, spot)
    if len(plain) == 1:
        return _single(plain[0], spot)
    return _plain(plain, spot)


def _single(entry: Entry, spot: Spot) -> Check:
    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if isinstance(value, dict):
            return entry(value, places, run)
        return _not_an_object(value, spot, places)

    return check


def _plain(entries: Entries, spot: Spot) -> Check:
    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if not isinstance(value, dict):
            return _not_an_object(value, spot, places)
        for entry in entries:
            failure = entry(value, places, run)
            if failure is not None:
                return failure
        return None

    return check


def _anchored(
    anchors: Entries, plain: Entries, tracked: tuple[tuple[str, str], ...], spot: Spot
) -> Check:
    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if not isinstance(value, dict):
            return _not_an_object(value, spot, places)
        if tracked:
            _track(tracked, value, run)
        return _compare(value, (anchors, plain), spot, places, run)

    return check


def _expanding(variants: _Variants, tracked: tuple[tuple[str, str], ...], spot: Spot) -> Check:
    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if not isinstance(value, dict):
            return _not_an_object(value, spot, places)
        if tracked:
            _track(tracked, value, run)
        return _compare(value, variants.entries(value, run), spot, places, run)

    return check


def _compare(
    value: Body, phases: tuple[Entries, Entries], spot: Spot, places: Places, run: Run
) -> Failure | None:
    anchors, plain = phases
    skipped: list[Failure] = []
    applied = False
    for entry in anchors:
        failure = entry(value, places, run)
        if failure is None:
            applied = True
        elif failure.skips:
            skipped.append(failure)
        elif all(one.combined for one in skipped):
            return failure
    # A condition unmet further down does not count beside an anchor that holds here.
    if skipped and not (applied and all(one.combined for one in skipped)):
        return combine(skipped, spot.path.at(places))
    for entry in plain:
        failure = entry(value, places, run)
        if failure is not None:
            return failure
    return None


def _not_an_object(value: Json, spot: Spot, places: Places) -> Failure:
    path = spot.path.at(places)
    found = go_type(value)
    return Failure(
        path,
        f"pattern and resource have different structures. Path: {path}. "
        f"Expected map[string]interface {{}}, found {found}",
    )


def _tracked(pattern: Body) -> tuple[tuple[str, str], ...]:
    """The keys, as written and bare, that must be somewhere for a mismatch to be a failure."""
    anchors = [(written, parse_anchor(written)) for written in pattern]
    return tuple(
        (written, anchor.key)
        for written, anchor in anchors
        if anchor is not None and anchor.kind in _TRACKED
    )


def _track(tracked: tuple[tuple[str, str], ...], value: Body, run: Run) -> None:
    found = run.found
    for written, key in tracked:
        if not found.get(written):
            found[written] = key in value


def _compile_entries(pattern: Body, spot: Spot, build: Build) -> tuple[Entries, Entries]:
    first, then = _ordered(pattern)
    return (
        tuple(compile_key(key, pattern[key], spot, build) for key in first),
        tuple(compile_key(key, pattern[key], spot, build) for key in then),
    )


def _ordered(pattern: Body) -> tuple[list[str], list[str]]:
    """The keys of both phases: those with anchors in or below them come first, last one first."""
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


class _Variants:
    """An object pattern whose label keys hold wildcards, compiled for each set of labels."""

    __slots__ = ("_build", "_expansion", "_found", "_pattern", "_spot")

    def __init__(self, pattern: Body, expansion: Expansion, spot: Spot, build: Build) -> None:
        self._pattern = pattern
        self._expansion = expansion
        self._spot = spot
        self._build = build
        self._found: dict[object, tuple[Entries, Entries]] = {}

    def entries(self, value: Body, run: Run) -> tuple[Entries, Entries]:
        """The entries of both phases for an object."""
        metadata, key = self._expansion.expand(value, run)
        entries = self._found.get(key)
        if entries is None:
            pattern = {**self._pattern, self._expansion.written: metadata}
            entries = _compile_entries(pattern, self._spot, self._build)
            if len(self._found) >= _MOST_VARIANTS:
                del self._found[next(iter(self._found))]
            self._found[key] = entries
        return entries

"""Object patterns: anchors first, then the other keys, in Kyverno's order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from chartkit.engine.cluster_policy.pattern.anchors import (
    Anchor,
    AnchorKind,
    in_phases,
    parse_anchor,
)
from chartkit.engine.cluster_policy.pattern.build import (
    Build,
    Check,
    Failure,
    Part,
    Path,
    Places,
    Run,
    Spot,
    combine,
)
from chartkit.engine.cluster_policy.pattern.keys import Entry, compile_key
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.go.fmt import go_type
from chartkit.model import Body, Json

_TAGS: Final = ("labels", "annotations")


def expansion_of(pattern: Body, spot: Spot) -> Expansion | None:
    """Return the replacements of an object pattern's label keys; None if there are none."""
    written, metadata = _entry(pattern, "metadata")
    if not isinstance(metadata, dict):
        return None
    if not any(_is_replaced(_entry(metadata, tag)[1]) for tag in _TAGS):
        return None
    return Expansion(written, metadata, (*spot.position, written))


def _is_replaced(labels: Json) -> bool:
    if not isinstance(labels, dict):
        return False
    return any(has_wildcard(key) or not isinstance(labels[key], str) for key in labels)


class Expansion(NamedTuple):
    """The `metadata` of an object pattern: its key as written, its value, its place."""

    written: str
    metadata: Body
    position: tuple[str, ...]

    def expand(self, resource: Body, run: Run) -> tuple[Body, object]:
        """The metadata pattern for an object, and what tells it apart from others.

        What was replaced for one element of a list stays replaced for the next.
        """
        metadata = run.metadata.get(self.position, self.metadata)
        found = resource.get("metadata")
        if isinstance(found, dict):
            for tag in _TAGS:
                key, labels = _entry(metadata, tag)
                given = _texts(_entry(found, tag)[1])
                if isinstance(labels, dict) and given is not None:
                    metadata = {**metadata, key: _replaced(labels, given)}
            run.metadata[self.position] = metadata
        return metadata, tuple(map(_identity, (_entry(metadata, tag)[1] for tag in _TAGS)))


def _identity(labels: Json) -> object:
    if not isinstance(labels, dict) or not all(isinstance(label, str) for label in labels.values()):
        # Only labels as they were written hold anything but texts.
        return None
    return tuple(labels.items())


def _entry(value: Body, name: str) -> tuple[str, Json]:
    """The key of that name, anchored or not, and its value."""
    if name in value:
        return name, value[name]
    for key in value:
        anchor = parse_anchor(key)
        if anchor is not None and anchor.key == name:
            return key, value[key]
    return "", None


def _texts(labels: Json) -> dict[str, str] | None:
    if not isinstance(labels, dict):
        return None
    return {key: value for key, value in labels.items() if isinstance(value, str)}


def _replaced(labels: Body, given: dict[str, str]) -> Body:
    replaced = {}
    for key, value in labels.items():
        if isinstance(value, str):
            replaced[_replaced_key(key, given) if has_wildcard(key) else key] = value
    return replaced


def _replaced_key(key: str, given: dict[str, str]) -> str:
    anchor = parse_anchor(key)
    if anchor is None:
        return _matching(key, given)
    return str(Anchor(anchor.kind, _matching(anchor.key, given)))


def _matching(wildcard: str, given: dict[str, str]) -> str:
    matches = compile_wildcard(wildcard)
    return next(filter(matches, given), wildcard)


Entries = tuple[Entry, ...]

_TRACKED: Final = frozenset({AnchorKind.CONDITION, AnchorKind.EXISTENCE})
_MOST_VARIANTS: Final = 256


def compile_object(pattern: Body, spot: Spot, build: Build) -> Check:
    """Compares an object with an object pattern."""
    anchors, plain = _compile_entries(pattern, spot, build)
    tracked = _tracked(pattern)
    expansion = expansion_of(pattern, spot)
    part = Part(spot.path, pattern, spot.position, tuple(_required(pattern, ())))
    if expansion is not None:
        return _expanding(_Variants(pattern, expansion, spot, build), tracked, part)
    if anchors or tracked:
        return _anchored(anchors, plain, tracked, part)
    if len(plain) == 1:
        return _single(plain[0], part)
    return _plain(plain, part)


def _required(pattern: Json, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not isinstance(pattern, dict) or not pattern:
        yield path
        return
    for key, member in pattern.items():
        if parse_anchor(key) is None and not has_wildcard(key):
            yield from _required(member, (*path, key))


def _single(entry: Entry, part: Part) -> Check:
    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if isinstance(value, dict):
            return entry(value, places, run)
        return _not_an_object(value, part, places)

    return check


def _plain(entries: Entries, part: Part) -> Check:
    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if not isinstance(value, dict):
            return _not_an_object(value, part, places)
        for entry in entries:
            failure = entry(value, places, run)
            if failure is not None:
                return failure
        return None

    return check


def _anchored(
    anchors: Entries, plain: Entries, tracked: tuple[tuple[str, str], ...], part: Part
) -> Check:
    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if not isinstance(value, dict):
            return _not_an_object(value, part, places)
        if tracked:
            _track(tracked, value, run)
        return _compare(value, (anchors, plain), part.path, places, run)

    return check


def _expanding(variants: _Variants, tracked: tuple[tuple[str, str], ...], part: Part) -> Check:
    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if not isinstance(value, dict):
            return _not_an_object(value, part, places)
        if tracked:
            _track(tracked, value, run)
        return _compare(value, variants.entries(value, run), part.path, places, run)

    return check


def _compare(
    value: Body, phases: tuple[Entries, Entries], path: Path, places: Places, run: Run
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
        return combine(skipped, path.at(places))
    for entry in plain:
        failure = entry(value, places, run)
        if failure is not None:
            return failure
    return None


def _not_an_object(value: Json, part: Part, places: Places) -> Failure:
    path = part.path.at(places)
    found = go_type(value)
    return Failure(
        path,
        f"pattern and resource have different structures. Path: {path}. "
        f"Expected map[string]interface {{}}, found {found}",
        place=(part, places),
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
    first, then = in_phases(pattern)
    return (
        tuple(compile_key(key, pattern[key], spot, build) for key in first),
        tuple(compile_key(key, pattern[key], spot, build) for key in then),
    )


@dataclass(frozen=True, slots=True)
class _Variants:
    """An object pattern whose label keys hold wildcards, compiled for each set of labels."""

    pattern: Body
    expansion: Expansion
    spot: Spot
    build: Build
    found: dict[object, tuple[Entries, Entries]] = field(default_factory=dict)

    def entries(self, value: Body, run: Run) -> tuple[Entries, Entries]:
        """The entries of both phases for an object."""
        metadata, key = self.expansion.expand(value, run)
        entries = self.found.get(key)
        if entries is None:
            pattern = {**self.pattern, self.expansion.written: metadata}
            entries = _compile_entries(pattern, self.spot, self.build)
            if len(self.found) >= _MOST_VARIANTS:
                del self.found[next(iter(self.found))]
            self.found[key] = entries
        return entries

"""Keys of an object pattern with anchors, and label keys with wildcards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from chartkit.engine.cluster_policy.pattern.build import (
    LIST,
    Anchor,
    AnchorKind,
    Check,
    Failure,
    Places,
    Run,
    Spot,
    forbidden_key,
    parse_anchor,
    unmet_condition,
    unmet_global,
    weight_of,
)
from chartkit.engine.cluster_policy.pattern.match import (
    TAGS,
    Entries,
    Entry,
    compile_entries,
    entry_of,
)
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.go.fmt import go_type
from chartkit.model import Body, Json

_MOST_VARIANTS: Final = 256
_MISSING: Final = object()
_NO_KEY: Final = "conditional anchor key doesn't exist in the resource"


def _condition(key: str, pattern: Json, spot: Spot) -> Entry:
    check, path, part = spot.check(pattern), spot.path, spot.part(pattern)

    def entry(resource: Body, places: Places, run: Run) -> Failure | None:
        value = resource.get(key, _MISSING)
        if value is _MISSING:
            return unmet_condition(_NO_KEY, path.at(places), (part, places))
        failure = check(value, places, run)
        if failure is None:
            return None
        return unmet_condition(failure.text, failure.path, failure.place)

    return entry


def _global(key: str, pattern: Json, spot: Spot) -> Entry:
    check = spot.check(pattern)

    def entry(resource: Body, places: Places, run: Run) -> Failure | None:
        value = resource.get(key, _MISSING)
        failure = None if value is _MISSING else check(value, places, run)
        return None if failure is None else unmet_global(failure.text, failure.path, failure.place)

    return entry


def _equality(key: str, pattern: Json, spot: Spot) -> Entry:
    check, part = spot.check(pattern), spot.part(pattern)

    def entry(resource: Body, places: Places, run: Run) -> Failure | None:
        value = resource.get(key, _MISSING)
        if value is not _MISSING:
            return check(value, places, run)
        if run.absent is not None:
            run.absent.append((part, places))
        return None

    return entry


def _negation(key: str, _pattern: Json, spot: Spot) -> Entry:
    path, part = spot.path, spot.part(None)

    def entry(resource: Body, places: Places, _run: Run) -> Failure | None:
        return forbidden_key(path.at(places), (part, places)) if key in resource else None

    return entry


def _existence(key: str, pattern: Json, spot: Spot) -> Entry:
    path, part = spot.path, spot.part(pattern)
    check = _compile_existence(pattern, spot)

    def entry(resource: Body, places: Places, run: Run) -> Failure | None:
        value = resource.get(key, _MISSING)
        if value is _MISSING:
            return None
        if isinstance(value, list):
            return check(value, places, run)
        found_type = go_type(value)
        return Failure(
            path.at(places),
            f"invalid resource type {found_type}: "
            "Existence ^ () anchor can be used only on list/array type resource",
            place=(part, places),
        )

    return entry


def _compile_existence(pattern: Json, spot: Spot) -> Check:
    path, part = spot.path, spot.part(pattern)
    name = go_type(pattern)
    if not isinstance(pattern, list):
        return _refuse(
            spot,
            f"invalid pattern type {name}: Pattern has to be of list to compare against resource",
        )
    checks = [
        spot.each(index).check(element)
        if isinstance(element, dict)
        else _refuse(
            spot,
            f"invalid pattern type {name}: "
            "Pattern has to be of type map to compare against items in resource",
        )
        for index, element in enumerate(pattern)
    ]
    is_object = [isinstance(element, dict) for element in pattern]
    weights = list(map(weight_of, pattern))

    def check(value: Json, places: Places, run: Run) -> Failure | None:
        for compare, searches, weight in zip(checks, is_object, weights, strict=True):
            if not searches:
                return compare(value, places, run)
            run.budget.spend(len(value) * weight, LIST)
            for index, element in enumerate(value):
                if compare(element, (*places, index), run) is None:
                    break
            else:
                at = path.at(places)
                text = f"existence anchor validation failed at path {at}"
                return Failure(at, text, place=(part, places))
        return None

    return check


def _refuse(spot: Spot, text: str) -> Check:
    return lambda _value, places, _run: Failure(spot.path.at(places), text)


ANCHORED: Final[dict[AnchorKind, Callable[[str, Json, Spot], Entry]]] = {
    AnchorKind.CONDITION: _condition,
    AnchorKind.GLOBAL: _global,
    AnchorKind.EXISTENCE: _existence,
    AnchorKind.EQUALITY: _equality,
    AnchorKind.NEGATION: _negation,
}
"""The check of a key by its anchor."""


@dataclass(frozen=True, slots=True)
class Variants:
    """An object pattern whose label keys contain wildcards, compiled for each set of labels.

    written, metadata: the key of its `metadata`, with its anchor, and the value.
    """

    pattern: Body
    spot: Spot
    written: str
    metadata: Body
    found: dict[object, tuple[Entries, Entries]] = field(default_factory=dict)

    def entries(self, resource: Body, run: Run) -> tuple[Entries, Entries]:
        """The entries of both phases for an object.

        What was replaced for one element of a list stays replaced for the next.
        """
        position = self.spot.position
        metadata = run.metadata.get(position, self.metadata)
        current = resource.get("metadata")
        if isinstance(current, dict):
            for tag in TAGS:
                key, labels = entry_of(metadata, tag)
                given = _texts(entry_of(current, tag)[1])
                if isinstance(labels, dict) and given is not None:
                    metadata = {**metadata, key: _replaced(labels, given)}
            run.metadata[position] = metadata
        identity = tuple(_identity(entry_of(metadata, tag)[1]) for tag in TAGS)
        entries = self.found.get(identity)
        if entries is None:
            entries = compile_entries({**self.pattern, self.written: metadata}, self.spot)
            if len(self.found) >= _MOST_VARIANTS:
                del self.found[next(iter(self.found))]
            self.found[identity] = entries
        return entries


def _identity(labels: Json) -> object:
    if not isinstance(labels, dict) or not all(isinstance(label, str) for label in labels.values()):
        # Only labels as they were written hold anything but texts.
        return None
    return tuple(labels.items())


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

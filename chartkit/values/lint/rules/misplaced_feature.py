"""CK007: features outside `features`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from chartkit.model import Body, Diagnostic, FieldPath, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule

if TYPE_CHECKING:
    from chartkit.output.yaml_tree import Path

_PLACES: Final = ("features", "featuresOverride")
_NAMESAKES: Final = ("cleanupJobs",)
"""Keys of older charts below which keys have names of features."""


class MisplacedFeature(Rule):
    id = "CK007"
    what = "A feature outside features."
    why = "No template reads it there, so the feature keeps its default."
    do = "Move it below features."
    problematic = "policyExceptions:\n  enabled: true\n"
    correct = "features:\n  policyExceptions:\n    enabled: true\n"
    fixes = "Moves it there, unless features has it already."

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        known = mapping_at(subject.defaults.body, "features")
        for document in subject.overlays:
            body = document.body if isinstance(document.body, dict) else {}
            set_already: set[str | int] = set(mapping_at(body, "features"))
            for path in _misplaced(body, subject.defaults.body or {}, known):
                name = path[-1]
                message = f"feature '{name}' is read below 'features' alone"
                hint = f"write it as features.{name}"
                if name in set_already:
                    message += ", and is set twice"
                    hint = f"remove one, and keep the other as features.{name}"
                elif _takes_features(body):
                    hint += "; `chartkit values lint --fix` moves it"
                set_already.add(name)
                yield self.error(message, document.locate(*path), hint)

    def moves(self, values: Body, defaults: Body) -> dict[FieldPath, Path]:
        known = mapping_at(defaults, "features")
        there: set[str | int] = set(mapping_at(values, "features"))
        moves: dict[FieldPath, Path] = {}
        for path in _misplaced(values, defaults, known) if _takes_features(values) else ():
            if path[-1] not in there:
                there.add(path[-1])
                moves[path] = ("features", str(path[-1]))
        return moves


def _takes_features(values: Body) -> bool:
    """Report whether a feature can be put below `features`: it is a mapping, or missing."""
    features = values.get("features")
    return features is None or isinstance(features, dict)


def _misplaced(
    values: Body, defaults: Body, features: Body, path: FieldPath = ()
) -> Iterator[FieldPath]:
    """Yield the paths of features where the chart has no such key; what stands below an unknown key
    is not the chart's."""
    for key, value in values.items():
        at = (*path, key)
        if not path and key in _NAMESAKES:
            continue
        if key in features and key not in defaults and (not path or path[-1] not in _PLACES):
            yield at
        elif isinstance(value, dict) and key in defaults:
            yield from _misplaced(value, mapping_at(defaults, key), features, at)

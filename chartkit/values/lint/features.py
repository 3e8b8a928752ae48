"""Checks of feature flags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.model import Body, Diagnostic, Severity
from chartkit.values.lint.subject import Path, Subject, mapping

MISPLACED: Final = "CK007"
_PLACES: Final = ("features", "featuresOverride")
_NAMESAKES: Final = ("cleanupJobs",)
"""Keys of older charts below which keys have names of features."""


def misplaced_features(subject: Subject) -> Iterator[Diagnostic]:
    """CK007: a feature that stands elsewhere than below `features`, where no template reads it."""
    known = mapping(subject.defaults.body, "features")
    for document in subject.overlays:
        body = document.body if isinstance(document.body, dict) else {}
        set_already: set[str | int] = set(mapping(body, "features"))
        for path in misplaced(body, subject.defaults.body or {}, known):
            name = path[-1]
            message = f"feature '{name}' is read below 'features' alone"
            hint = f"write it as features.{name}"
            if name in set_already:
                message += ", and is set twice"
                hint = f"remove one, and keep the other as features.{name}"
            elif takes_features(body):
                hint += "; `chartkit values lint --fix` moves it"
            set_already.add(name)
            yield Diagnostic(MISPLACED, Severity.ERROR, message, document.locate(*path), hint)


def takes_features(values: Body) -> bool:
    """Return whether a feature can be put below `features`: it is a mapping, or missing."""
    features = values.get("features")
    return features is None or isinstance(features, dict)


def misplaced(values: Body, defaults: Body, features: Body, path: Path = ()) -> Iterator[Path]:
    """The paths of features that stand where the chart has no such key."""
    for key, value in values.items():
        at = (*path, key)
        if not path and key in _NAMESAKES:
            continue
        if key in features and key not in defaults and (not path or path[-1] not in _PLACES):
            yield at
        elif isinstance(value, dict):
            yield from misplaced(value, mapping(defaults, key), features, at)

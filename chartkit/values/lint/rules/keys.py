"""Keys that no template reads, or that have no effect where they are: CK001, CK002, CK007, CK010,
CK015."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from chartkit.model import Body, Diagnostic, FieldPath, Json, Location, leaves, mapping_at, value_at
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion
from chartkit.values.lint.rule import ChartValues, Fault, values_rule, without_nulls
from chartkit.values.moved import FIRST_OF_THREE, LAST_OF_TWO, Row, rows

_MERGED_ONLY = frozenset({"required"})
_PLACES: Final = ("features", "featuresOverride")
_NAMESAKES: Final = ("cleanupJobs",)
"""Keys of older charts below which keys have names of features."""
_EVERYWHERE: Final = frozenset({"global", "tags"})
"""Top-level keys that Helm itself gives a meaning."""
_FREE: Final = re.compile(
    r"(annotations|labels|selectors?|matchLabels|affinity|securityContext|resources|limits|requests"
    r"|probe|strategy|lifecycle|data|env|overrides?|bypolicy)$",
    re.IGNORECASE,
)
"""Keys below which a chart has examples or Kubernetes' own fields, and takes others too."""
_ENGINE: Final = "kyverno"
_CONTROLLER: Final = "admissionController"


@values_rule(json_schema.RULE_ID)
def invalid_value(subject: ChartValues) -> Iterator[Diagnostic]:
    """Keys and types that the chart's schema refuses."""
    if subject.schema is None:
        return
    alone: list[Diagnostic] = []
    for document in (subject.defaults, *subject.overlays):
        if isinstance(document.body, dict):
            body = without_nulls(document.body)
            alone += json_schema.violations(document, subject.schema, body, _MERGED_ONLY)
    yield from alone
    merged = json_schema.violations(_Merged(subject), subject.schema)
    reported = {diagnostic.message for diagnostic in alone} if merged else set()
    yield from (diagnostic for diagnostic in merged if diagnostic.message not in reported)


@dataclass(frozen=True, slots=True)
class _Merged:
    """All values files as one document; a place is the one that an edit would change."""

    subject: ChartValues

    @property
    def body(self) -> Body:
        return self.subject.values

    def locate(self, *path: str | int) -> Location:
        parent = path[:-1]
        for document in reversed(self.subject.overlays):
            if parent and value_at(document.body, parent) is not None:
                return document.locate(*path)
        return self.subject.locate(path)


@values_rule("CK010")
def unknown_key(subject: ChartValues) -> Iterator[Fault]:
    """Keys that a chart without a schema of its values does not know; below an empty or free
    mapping of the chart any key may be."""
    if subject.schema is not None or not isinstance(subject.defaults.body, dict):
        return
    for document in subject.overlays:
        for path, keys in _unknown(document.body, subject.defaults.body, ()):
            message = f"the chart's values.yaml has no key '{'.'.join(map(str, path))}'"
            hint = (
                suggestion(str(path[-1]), keys)
                or "Helm takes any key; a subchart's stand below its name"
            )
            yield Fault(message, document.locate(*path), hint)


def _unknown(
    values: object, defaults: Body, path: FieldPath
) -> Iterator[tuple[FieldPath, list[str]]]:
    """Yield the paths of unknown keys, each with its known neighbours."""
    for key, value in values.items() if isinstance(values, dict) else ():
        below = defaults.get(key)
        if key not in defaults:
            if path or key not in _EVERYWHERE:
                yield (*path, key), list(defaults)
        elif isinstance(below, dict) and below and not _FREE.search(key):
            yield from _unknown(value, below, (*path, key))


@values_rule("CK015")
def moved_key(subject: ChartValues) -> Iterator[Fault]:
    """Keys of older charts of Kyverno."""
    defaults = subject.defaults.body or {}
    if _CONTROLLER not in defaults:
        return
    for document in subject.overlays:
        moved: dict[tuple[str, ...], list[Row]] = {}
        for key, row in rows(_ENGINE).items():
            if _has(document.body, key) and not _has(defaults, key):
                ends = range(1, len(key) + 1)
                unknown = next(key[:end] for end in ends if not _has(defaults, key[:end]))
                moved.setdefault(unknown, []).append(row)
        for key, gone in moved.items():
            hint = f"`chartkit values migrate {document.source.file}` rewrites the file"
            name, last = ".".join(key), max(row.span.last for row in gone)
            version = FIRST_OF_THREE if last == LAST_OF_TWO else last.next_minor()
            if len(gone) > 1 or gone[0].key != key:
                what_became = f"what stood below '{name}' has other places since chart {version}"
            else:
                targets = sorted({".".join(target) for target in gone[0].targets})
                if targets:
                    what_became = f"'{name}' is {', '.join(targets)} since chart {version}"
                else:
                    what_became = f"'{name}' has had no effect since chart {version}: {gone[0].why}"
            yield Fault(what_became, document.locate(*key), hint)


def _has(values: Json, path: tuple[str, ...]) -> bool:
    for step in path:
        if not isinstance(values, Mapping) or step not in values:
            return False
        values = values[step]
    return True


@values_rule("CK002")
def null_override(subject: ChartValues) -> Iterator[Fault]:
    """Nulls that delete defaults."""
    for document in subject.overlays:
        for path, value in leaves(document.body):
            default = value_at(subject.defaults.body, path)
            if value is None and default is not None:
                shown = "a list" if isinstance(default, list) else repr(default)
                shown = "a mapping" if isinstance(default, dict) else shown
                name = ".".join(map(str, path))
                message = f"null deletes '{name}', and Helm renders as if it were not there"
                hint = f"the chart's default is {shown}: remove the line to have it"
                yield Fault(message, document.locate(*path), hint)


@values_rule("CK007")
def misplaced_feature(subject: ChartValues) -> Iterator[Fault]:
    """Features outside `features`."""
    features = mapping_at(subject.defaults.body, "features")
    for document in subject.overlays:
        body = document.body if isinstance(document.body, dict) else {}
        set_already: set[str | int] = set(mapping_at(body, "features"))
        for path in _misplaced(body, subject.defaults.body or {}, features):
            name = path[-1]
            message = f"feature '{name}' is read below 'features' alone"
            hint = f"write it as features.{name}"
            if name in set_already:
                message += ", and is set twice"
                hint = f"remove one, and keep the other as features.{name}"
            elif _takes_features(body):
                hint += "; `chartkit values lint --fix` moves it"
            set_already.add(name)
            yield Fault(message, document.locate(*path), hint)


@misplaced_feature.fix
def _moved_features(values: Body, defaults: Body) -> dict[FieldPath, tuple[str, ...]]:
    features = mapping_at(defaults, "features")
    there: set[str | int] = set(mapping_at(values, "features"))
    moves: dict[FieldPath, tuple[str, ...]] = {}
    for path in _misplaced(values, defaults, features) if _takes_features(values) else ():
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
    """The paths of features where the chart has no such key, none below an unknown key."""
    for key, value in values.items():
        at = (*path, key)
        if not path and key in _NAMESAKES:
            continue
        if key in features and key not in defaults and (not path or path[-1] not in _PLACES):
            yield at
        elif isinstance(value, dict) and key in defaults:
            yield from _misplaced(value, mapping_at(defaults, key), features, at)

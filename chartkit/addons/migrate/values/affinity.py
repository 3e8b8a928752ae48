"""Scheduling: selectors of the one Pod's labels become those of each controller's Pods."""

from __future__ import annotations

from typing import Final

from chartkit.addons.migrate.values.context import Context, Outcome
from chartkit.model import Body, Json
from chartkit.output.yaml_tree import Block, Leaf, Path, data_of, value_of
from chartkit.values.moved.table import CONTROLLERS, Row

_COMPONENT: Final = "app.kubernetes.io/component"
_OLD_LABELS: Final = ("app.kubernetes.io/name", "app")
_OLD_NAMES: Final = ("kyverno", '{{ template "kyverno.name" . }}', '{{ include "kyverno.name" . }}')
_HOSTNAME: Final = "kubernetes.io/hostname"
_COMPONENTS: Final = {
    "admissionController": "admission-controller",
    "backgroundController": "background-controller",
    "cleanupController": "cleanup-controller",
    "reportsController": "reports-controller",
}


def move_selectors(context: Context, row: Row) -> None:
    """Puts affinities to each controller, for its own pods."""
    context.move(row, change=_for_controller)


def move_affinity(context: Context, row: Row) -> None:
    """Divides an affinity by its kind."""
    for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        if context.tree.find((*row.key, kind)) is not None:
            targets = [(controller, kind) for controller in _controllers(context)]
            context.move(row, key=(*row.key, kind), targets=targets, change=_for_controller)
    rest = context.tree.find(row.key)
    if rest is not None and data_of(rest.value):
        context.remove(row.key, "It is no affinity.", "Say what is meant.", Outcome.ASKED)
    elif rest is not None:
        context.remove(row.key, "It is empty, and says nothing.")


def topology_key(context: Context, row: Row) -> None:
    """A whole anti-affinity of the key of nodes that the old chart took for its own."""
    key = context.value(row.key)
    if key in (None, "", _HOSTNAME):
        context.remove(row.key, "Kyverno's pods stay on different nodes where they can.")
        return

    def anti_affinity(_value: Leaf | Block, target: Path) -> Leaf | Block:
        return value_of(_preferred(str(key), _COMPONENTS[target[0]]))

    context.move(row, change=anti_affinity)


def _controllers(context: Context) -> list[str]:
    return [each for each in CONTROLLERS if each != "cleanupController" or not context.own_cleanup]


def _preferred(key: str, component: str) -> Body:
    expression = {"key": _COMPONENT, "operator": "In", "values": [component]}
    term = {"topologyKey": key, "labelSelector": {"matchExpressions": [expression]}}
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]
    }


def _for_controller(value: Leaf | Block, target: Path) -> Leaf | Block:
    return _relabelled(value, _COMPONENTS[target[0]])


def _relabelled(value: Leaf | Block, component: str) -> Leaf | Block:
    """The value with the labels of a component's pods in place of the one pod's."""
    if isinstance(value, Leaf):
        data = _data(value.data, component)
        return value if data == value.data else value_of(data)
    for entry in value.entries:
        entry.value = _relabelled(entry.value, component)
    if value.listed:
        return value
    fields = {each.key: each for each in value.entries}
    if {"key", "operator"} <= set(fields):
        key = fields["key"].value
        if isinstance(key, Leaf) and key.data in _OLD_LABELS and "values" in fields:
            fields["key"].value = Leaf(_COMPONENT, None, key.comment)
            fields["values"].value = value_of([component])
    labels = fields.get("matchLabels")
    if labels is not None and isinstance(labels.value, Block):
        for each in labels.value.entries:
            if _is_old(each.key, each.value.data if isinstance(each.value, Leaf) else None):
                each.key = each.name = _COMPONENT
                each.value = Leaf(component)
    return value


def _data(data: Json, component: str) -> Json:
    if isinstance(data, list):
        return [_data(each, component) for each in data]
    if not isinstance(data, dict):
        return data
    found = {key: _data(each, component) for key, each in data.items()}
    if found.get("key") in _OLD_LABELS and "operator" in found and "values" in found:
        return {**found, "key": _COMPONENT, "values": [component]}
    if isinstance(found.get("matchLabels"), dict):
        labels = found["matchLabels"]
        kept = {key: each for key, each in labels.items() if not _is_old(key, each)}
        if len(kept) < len(labels):
            found["matchLabels"] = {_COMPONENT: component, **kept}
    return found


def _is_old(key: str, value: Json) -> bool:
    return key in _OLD_LABELS and value in _OLD_NAMES

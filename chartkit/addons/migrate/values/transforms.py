"""Changes of values from older charts: one function a kind of change, in a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from chartkit.addons.migrate.values.arguments import move_arguments
from chartkit.addons.migrate.values.context import Context, Outcome, items
from chartkit.addons.migrate.values.filters import move_filters, spared_namespaces
from chartkit.addons.migrate.values.images import job_image, move_image, move_tag
from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.output.yaml_tree import Block, Entry, Leaf, Path, as_block, data_of, unwrap, value_of
from chartkit.values.moved import CONTROLLERS, Row

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
            targets = [
                (controller, kind)
                for controller in CONTROLLERS
                if controller != "cleanupController" or not context.own_cleanup
            ]
            context.move(row, key=(*row.key, kind), targets=targets, change=_for_controller)
    rest = context.tree.find(row.key)
    if rest is not None and data_of(rest.value):
        context.remove(row.key, "It is not an affinity.", "Say what is meant.", Outcome.ASKED)
    elif rest is not None:
        context.remove(row.key, "It is empty, and says nothing.")


def topology_key(context: Context, row: Row) -> None:
    """A whole anti-affinity of the key of nodes that the old chart took for its own."""
    key = context.value(row.key)
    if key in (None, "", _HOSTNAME):
        context.remove(row.key, "Kyverno's pods stay on different nodes where they can.")
        return

    def anti_affinity(_value: Leaf | Block, target: Path) -> Leaf | Block:
        values = [_COMPONENTS[target[0]]]
        expression = {"key": _COMPONENT, "operator": "In", "values": values}
        labels = {"matchExpressions": [expression]}
        term = {"topologyKey": str(key), "labelSelector": labels}
        preferred = [{"weight": 1, "podAffinityTerm": term}]
        return value_of({"preferredDuringSchedulingIgnoredDuringExecution": preferred})

    context.move(row, change=anti_affinity)


def _for_controller(value: Leaf | Block, target: Path) -> Leaf | Block:
    return _relabelled(value, _COMPONENTS[target[0]])


def _relabelled(value: Leaf | Block, component: str) -> Leaf | Block:
    """The value with the labels of a component's pods in place of the one pod's."""
    if isinstance(value, Leaf):
        block = value_of(value.data)
        if isinstance(block, Leaf):
            return value
        changed = _relabelled(block, component)
        return value if data_of(changed) == value.data else changed
    for entry in value.entries:
        entry.value = _relabelled(entry.value, component)
    if value.listed:
        return value
    fields = {entry.key: entry for entry in value.entries}
    if {"key", "operator"} <= set(fields):
        key = fields["key"].value
        if isinstance(key, Leaf) and key.data in _OLD_LABELS and "values" in fields:
            fields["key"].value = Leaf(_COMPONENT, None, key.comment)
            fields["values"].value = value_of([component])
    labels = fields.get("matchLabels")
    if labels is not None and isinstance(labels.value, Block):
        for label in labels.value.entries:
            value_ = label.value.data if isinstance(label.value, Leaf) else None
            if label.key in _OLD_LABELS and value_ in _OLD_NAMES:
                label.key = label.name = _COMPONENT
                label.value = Leaf(component)
    return value


Transform = Callable[[Context, Row], None]

_VERBS: Final = ["get", "list", "watch", "create", "update", "delete"]
_ACTIONS: Final = ("audit", "enforce")
_NOTHING: Final = "It is empty, and says nothing."
_NO_SELECTORS: Final = "It holds no mapping with selectors."
_SAY: Final = "Say what is meant."


def _remove(context: Context, row: Row) -> None:
    context.remove(row.key, row.why, row.do)


def _ask(context: Context, row: Row) -> None:
    if context.value(row.key):
        context.remove(row.key, row.why, row.do, Outcome.ASKED)
    else:
        context.remove(row.key, _NOTHING)


def _move_and_ask(context: Context, row: Row) -> None:
    """Moves a value; asks where it is on, as it no longer means the same."""
    is_on = bool(context.value(row.key))
    context.move(row, outcome=Outcome.ASKED if is_on else Outcome.MOVED)


def _mode(context: Context, row: Row) -> None:
    entry = context.tree.find(row.key)
    if entry is not None and data_of(entry.value) == "ha" and not context.value(("replicaCount",)):
        context.move(row, change=lambda _value, _target: Leaf(3))
    else:
        context.remove(row.key, row.why)


def _replicas(context: Context, row: Row) -> None:
    if context.value(row.key) == 2:
        do = "Set 1, or 3 for high availability: Kyverno does not run with 2."
        context.move(row, outcome=Outcome.ASKED, do=do)
    else:
        context.move(row)


def _secrets(context: Context, row: Row) -> None:
    """Names of Secrets as references."""
    for item in items(_entry(context, row)):
        name = data_of(item.value)
        if isinstance(name, str):
            item.value = value_of({"name": name})
    context.move(row)


def _environment(context: Context, row: Row) -> None:
    """Environment variables as a list, which containers have."""
    data = context.value(row.key)
    if not data:
        context.remove(row.key, _NOTHING)
        return
    if isinstance(data, dict):
        _entry(context, row).value = value_of(
            [{"name": name, "value": _text(value)} for name, value in data.items()]
        )
    context.move(row)


def _account_create(context: Context, row: Row) -> None:
    named = context.value((*row.key[:-1], "name"))
    if context.value(row.key) is not False or named or context.value(("rbac", "create")) is False:
        context.remove(row.key, row.why)
        return
    why = "The old chart ran Kyverno as the namespace's account default, with Kyverno's roles."
    do = (
        "Name an account in admissionController.rbac.serviceAccount.name, or leave it to the chart."
    )
    context.remove(row.key, why, do, Outcome.ASKED)


def _account_name(context: Context, row: Row) -> None:
    targets = context.targets(row)
    if context.value(("rbac", "create")) is False or context.value(targets[0][:-2]) is not None:
        created = context.value((*targets[0][:2], "create"))
        if context.value(("rbac", "create")) is False or created is False:
            do = "All controllers run as that account: it needs the roles of each."
            context.move(row, do=do)
            return
    context.move(row, targets=targets[:1])


def _resource_names(context: Context, row: Row) -> None:
    """Names of resources as a rule."""
    names = context.value(row.key)
    if not names:
        context.remove(row.key, _NOTHING)
        return
    if not isinstance(names, list):
        context.remove(row.key, "A list stood there.", _SAY, Outcome.ASKED)
        return
    entry = _entry(context, row)
    rule = value_of([{"apiGroups": ["*"], "resources": ["*"], "verbs": _VERBS}])
    block = as_block(entry)
    if isinstance(rule, Block) and block is not None:
        fields = as_block(rule.entries[0])
        if fields is not None:
            fields.entries[1].value = block
    entry.value = rule
    context.move(row)


def _existing(context: Context, row: Row) -> None:
    """The name of a config map that is there already."""
    name = context.value(row.key)
    if not name:
        context.remove(row.key, _NOTHING)
        return
    target = row.targets[0]
    entry = context.tree.take(row.key)
    context.set((*target, "create"), False)
    context.set((*target, "name"), name, entry)
    places = [(*target, "create"), (*target, "name")]
    context.say(Outcome.MOVED, row.key, entry, places, row.why)


def _groups(context: Context, row: Row) -> None:
    do = (
        "Kyverno left system:nodes, system:serviceaccounts:kube-system and system:kube-scheduler "
        "out by itself until 1.9; add those that policies are still not to see."
    )
    _listed(context, row, "system:nodes", do)


def _names(context: Context, row: Row) -> None:
    _listed(context, row, "", "")


def _listed(context: Context, row: Row, first: str, do: str) -> None:
    entry = _entry(context, row)
    data = data_of(entry.value)
    names = data if isinstance(data, list) else [data or ""]
    if not any(names):
        context.remove(row.key, _NOTHING)
        return
    if isinstance(data, str) or any("," in name for name in names):
        parts = [part.strip() for name in names for part in name.split(",")]
        names = [part for part in parts if part]
        entry.value = value_of(names)
    block = as_block(entry)
    if first and block is not None and first not in names:
        block.entries.insert(0, Entry("", Leaf(first)))
    context.move(row, do=do)


def _webhooks(context: Context, row: Row) -> None:
    """Writes a list of selectors, or a text that says one, as the first selector."""
    entry = _entry(context, row)
    data = data_of(entry.value)
    if isinstance(data, dict) and data:
        return
    if not data or (isinstance(data, str) and not data.strip()):
        context.remove(row.key, _NOTHING)
        return
    if isinstance(data, str):
        _webhooks_of_text(context, row, entry, data)
        return
    if not isinstance(data, list) or not all(isinstance(item, dict | None) for item in data):
        context.say(Outcome.ASKED, row.key, entry, (), _NO_SELECTORS, _SAY)
        return
    if not data[0]:
        alone = ", and that alone counted" if len(data) > 1 else ""
        context.remove(row.key, f"Its first entry is empty{alone}: it excluded nothing.")
        return
    unwrap(entry)
    do = "Its other items had no effect, and are left out." if len(data) > 1 else ""
    context.say(Outcome.CHANGED, row.key, entry, row.targets, row.why, do)


def _webhooks_of_text(context: Context, row: Row, entry: Entry, text: str) -> None:
    """Writes the selector that a text holds as a mapping, and asks whether it is meant: the charts
    passed a text on as a JSON string, which Kyverno cannot read."""
    try:
        bodies = [document.body for document in read_text(text)]
    except InputError:
        bodies = []
    meant = bodies[0] if len(bodies) == 1 else None
    if isinstance(meant, list) and meant:
        meant = meant[0]
    if not isinstance(meant, dict):
        context.say(Outcome.ASKED, row.key, entry, (), _NO_SELECTORS, _SAY)
        return
    entry.value = value_of(meant)
    why = "It was a text, which Kyverno could not read: it excluded nothing. A mapping has effect."
    do = "Check that Kyverno is not to be sent what the selectors leave out."
    context.say(Outcome.ASKED, row.key, entry, row.targets, why, do)


def _with_reports(context: Context, row: Row) -> None:
    if context.value(row.key) and context.value((*row.key[:-1], "enabled")) is not True:
        context.remove(row.key, row.why)


def _truth(context: Context, row: Row) -> None:
    data = context.value(row.key)
    if isinstance(data, str) and data.lower() in ("true", "false"):
        _change(context, row, data.lower() == "true")


def _seconds(context: Context, row: Row) -> None:
    data = context.value(row.key)
    if isinstance(data, int | float) and not isinstance(data, bool):
        _change(context, row, f"{data}s")


def _action(context: Context, row: Row) -> None:
    """Capitalize actions: the value itself, and the actions of single policies and overrides."""
    entry = _entry(context, row)
    todo, changed = [(entry, True)], False
    while todo:
        item, is_action = todo.pop()
        value = item.value
        if is_action and isinstance(value, Leaf) and value.data in _ACTIONS:
            _rewrite(item, str(value.data).capitalize())
            changed = True
        elif isinstance(value, Block) or _may_hold_actions(json.dumps(value.data)):
            block = as_block(item)
            for inner in block.entries if block is not None else ():
                todo.append((inner, inner.key == "action" or row.name.endswith("ByPolicy")))
    if changed:
        context.say(Outcome.CHANGED, row.key, entry, row.targets, row.why)


def _may_hold_actions(text: str) -> bool:
    return "{" in text and any(f'"{word}"' in text for word in _ACTIONS)


def _standard(context: Context, row: Row) -> None:
    if context.value(row.key) == "default":
        _change(context, row, "baseline")


def _change(context: Context, row: Row, data: object) -> None:
    entry = _entry(context, row)
    _rewrite(entry, data)
    context.say(Outcome.CHANGED, row.key, entry, row.targets, row.why)


def _rewrite(entry: Entry, data: object) -> None:
    comment = entry.value.comment if isinstance(entry.value, Leaf) else ""
    entry.value = Leaf(data, None, comment)


def _entry(context: Context, row: Row) -> Entry:
    entry = context.tree.find(row.key)
    if entry is None:
        raise KeyError(row.key)
    return entry


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


TRANSFORMS: Final[Mapping[str, Transform]] = {
    "move": Context.move,
    "remove": _remove,
    "ask": _ask,
    "move-and-ask": _move_and_ask,
    "other-chart": _remove,
    "mode": _mode,
    "replicas": _replicas,
    "image": move_image,
    "tag": move_tag,
    "secrets": _secrets,
    "kubectl-image": job_image,
    "test-image": job_image,
    "affinity": move_affinity,
    "selectors": move_selectors,
    "topology-key": topology_key,
    "env": _environment,
    "arguments": move_arguments,
    "account-create": _account_create,
    "account-name": _account_name,
    "resource-names": _resource_names,
    "filters": move_filters,
    "spared-namespaces": spared_namespaces,
    "existing": _existing,
    "groups": _groups,
    "names": _names,
    "webhooks": _webhooks,
    "with-reports": _with_reports,
    "truth": _truth,
    "seconds": _seconds,
    "action": _action,
    "actions": _action,
    "standard": _standard,
}
"""The kinds of change by what the tables call them."""

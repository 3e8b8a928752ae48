"""Policies that change their form: a ClusterPolicy that goes and one in CEL that comes are one
change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from chartkit.model import Body, mapping_at
from chartkit.render.compare.fields import FieldChange, ObjectChange, What

_ADMISSION: Final = "ValidatingAdmissionPolicy"
_KINDS: Final = (
    "ClusterPolicy",
    "Policy",
    "ClusterCleanupPolicy",
    "CleanupPolicy",
    "ValidatingPolicy",
    "ImageValidatingPolicy",
    "MutatingPolicy",
    "GeneratingPolicy",
    "DeletingPolicy",
    _ADMISSION,
)
"""The kinds that one policy may come as."""
_BINDING: Final = "ValidatingAdmissionPolicyBinding"
_SUFFIXES: Final = ("-ephemeral", "-audit", "-enforce", "-controllers", "-cronjobs")
"""The ends of the names of further objects of one policy."""
KIND: Final = ("kind",)


def is_form_change(change: ObjectChange) -> bool:
    """Return whether a change is of a policy's form."""
    return bool(change.fields) and change.fields[0].path == KIND


def joined(changes: Iterable[ObjectChange]) -> list[ObjectChange]:
    """Return the changes, with one for each policy that has the same name in another form; its
    further objects go with it."""
    found = list(changes)
    gone = _by_name(found, What.REMOVED)
    come = _by_name(found, What.ADDED)
    forms = {
        name: (gone[name], come[name])
        for name in gone.keys() & come.keys()
        if gone[name].identity.kind != come[name].identity.kind
    }
    left = [each for each in found if not _goes_with(each, forms)]
    for name in sorted(forms):
        left.append(_form_change(*(_bound(each, found) for each in forms[name])))
    return sorted(left, key=lambda each: each.identity)


def _by_name(changes: Sequence[ObjectChange], what: What) -> dict[str, ObjectChange]:
    return {
        f"{each.identity.namespace}/{each.identity.name}": each
        for each in changes
        if each.what is what and each.identity.kind.removeprefix("Namespaced") in _KINDS
    }


def _goes_with(change: ObjectChange, forms: dict[str, tuple[ObjectChange, ObjectChange]]) -> bool:
    """Return whether a change is of an object of a policy whose form changes."""
    if change.what is What.CHANGED:
        return False
    kind = change.identity.kind.removeprefix("Namespaced")
    if kind not in (*_KINDS, _BINDING):
        return False
    return any(
        f"{change.identity.namespace}/{name}" in forms for name in _names(change.identity.name)
    )


def policy_names(objects: Iterable[str]) -> list[str]:
    """Return the names of policies by those of their objects, without further objects of one."""
    found = set(objects)
    return sorted(name for name in found if found.isdisjoint(_names(name) - {name}))


def _names(name: str) -> set[str]:
    """Return the name, and the names without what further objects have at the end."""
    names = {name}
    while suffix := next((each for each in _SUFFIXES if name.endswith(each)), None):
        name = name.removesuffix(suffix)
        names.add(name)
    return names


def _bound(change: ObjectChange, found: Sequence[ObjectChange]) -> ObjectChange:
    """Return the change of a policy of Kubernetes' own with the actions of its binding."""
    if change.identity.kind != _ADMISSION:
        return change
    for each in found:
        same = each.identity.name == change.identity.name and each.what is change.what
        if same and each.identity.kind == _BINDING:
            before = _with_actions(change.before, each.before)
            return replace(change, before=before, after=_with_actions(change.after, each.after))
    return change


def _with_actions(policy: Body | None, binding: Body | None) -> Body | None:
    if policy is None or binding is None:
        return policy
    actions = mapping_at(binding, "spec").get("validationActions")
    return {**policy, "spec": {**mapping_at(policy, "spec"), "validationActions": actions}}


def _form_change(before: ObjectChange, after: ObjectChange) -> ObjectChange:
    kinds = FieldChange(KIND, before.identity.kind, after.identity.kind)
    return ObjectChange(after.identity, What.CHANGED, before.before, after.after, (kinds,))

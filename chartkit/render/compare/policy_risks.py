"""The objects that a changed policy begins to refuse, no longer refuses, or generated before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from chartkit.model import Body, Json, mapping_at, mappings_at
from chartkit.render.compare.fields import ABSENT, FieldChange, ObjectChange, What

POLICY_GROUPS: Final = ("kyverno.io", "policies.kyverno.io")
_ADMISSION: Final = "admissionregistration.k8s.io"
_REFUSING: Final = ("enforce", "deny")
_ENFORCE: Final = "Enforce"
_OVERRIDES: Final = (("validationFailureActionOverrides",), ("validate", "failureActionOverrides"))
_EXCLUDING: Final = ("exclude", "excludeResourceRules")
_CHECKS: Final = ("rules", "validations", "mutations")
_SYNCHRONIZED = "synchronize"
_ORPHANED = "orphanDownstreamOnPolicyDelete"
DELETED = "Kyverno deletes what it generated: synchronize without orphanDownstreamOnPolicyDelete"
LEFT = "what it generated stays, and this policy restores it no more"
_ADMISSION_POLICY: Final = "ValidatingAdmissionPolicy"
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
    _ADMISSION_POLICY,
)
"""The kinds that one policy may come as."""
_BINDING: Final = "ValidatingAdmissionPolicyBinding"
_SUFFIXES: Final = ("-ephemeral", "-audit", "-enforce", "-controllers", "-cronjobs")
"""The ends of the names of further objects of one policy."""
KIND: Final = ("kind",)


def is_policy(change: ObjectChange) -> bool:
    """Report whether an object is a policy of Kyverno or Kubernetes, or the binding of one."""
    kind, group = change.identity.kind, change.identity.group
    if group == _ADMISSION:
        return kind.endswith(("AdmissionPolicy", "AdmissionPolicyBinding"))
    return kind.endswith("Policy") and group in POLICY_GROUPS


def refuses(body: Body | None) -> bool:
    """Report whether a policy, or a bound one, refuses violations anywhere."""
    # A policy's action without overrides: `Enforce`, `Audit`, `Warn`.
    spec = mapping_at(body or {}, "spec")
    whole = spec.get("validationFailureAction", "Audit")
    given = {item for item in _items(spec, "validationActions") if isinstance(item, str)}
    for rule in _items(spec, "rules"):
        checks = [mapping_at(rule, "validate"), *_items(rule, "verifyImages")]
        for check in checks:
            own = check.get("failureAction", whole) if isinstance(check, dict) and check else None
            given |= {own} if isinstance(own, str) else set()
    actions = frozenset(_ENFORCE if action.lower() in _REFUSING else action for action in given)
    return _ENFORCE in actions


def weaker(change: ObjectChange) -> Iterator[str]:
    """Return a description of what a changed policy no longer refuses."""
    before, after = change.before or {}, change.after or {}
    if refuses(before) and not refuses(after):
        yield "no longer refuses: reports only what it refused before"
    for where in _only(_overridden(before, _ENFORCE), _overridden(after, _ENFORCE)):
        if not refuses(after):
            yield f"reports only what it refused before in {where}"
    for where in _only(_overridden(after, "Audit"), _overridden(before, "Audit")):
        if refuses(after):
            yield f"reports only what it refused before in {where}"
    for field in change.fields:
        path = field.path
        if path[0] != "spec" or len(path) == 1:
            continue
        # The third step of a path into rules is the name of a rule.
        excludes = any(step in _EXCLUDING for step in (path[1], *path[3:]))
        excludes = excludes or path[1:3] == ("matchConstraints", "excludeResourceRules")
        if excludes and field.after is not ABSENT and field.after:
            about = f" in rule {path[2]}" if path[1] == "rules" and len(path) > 2 else ""
            yield f"leaves out {'more' if field.before is ABSENT else 'others'}{about}"
        if path[1] == "matchConditions" and field.before is ABSENT and field.after:
            yield "a match condition more: it looks at less"
        if path[1] in _CHECKS and len(path) == 3 and field.after is ABSENT:
            yield f"{str(path[1]).removesuffix('s')} {path[2]} goes"
        if path == ("spec", "failurePolicy") and field.after == "Ignore":
            yield "requests pass while its webhook does not answer"


def stronger(change: ObjectChange) -> Iterator[str]:
    """Return a description of where a policy begins to refuse, by an override or without one."""
    before, after = change.before or {}, change.after or {}
    for where in _only(_overridden(after, _ENFORCE), _overridden(before, _ENFORCE)):
        if not refuses(before):
            yield f"refuses in {where} what it only reported before"
    for where in _only(_overridden(before, "Audit"), _overridden(after, "Audit")):
        if refuses(before) and refuses(after):
            yield f"refuses in {where} what it only reported before"


def _overridden(body: Body, action: str) -> frozenset[str]:
    """Return a description of where overrides set an action."""
    spec = mapping_at(body, "spec")
    overrides: list[Json] = []
    for holder in (spec, *_items(spec, "rules")):
        for *parents, key in _OVERRIDES:
            overrides += _items(mapping_at(holder, *parents), key)
    wanted = _REFUSING if action == _ENFORCE else (action.lower(),)
    return frozenset(
        _where(item)
        for item in overrides
        if isinstance(item, dict) and str(item.get("action")).lower() in wanted
    )


def _where(override: Body) -> str:
    names = [str(item) for item in _items(override, "namespaces")]
    return f"namespaces {', '.join(names)}" if names else "the namespaces of a selector"


def _only(before: frozenset[str], after: frozenset[str]) -> list[str]:
    return sorted(before - after)


def _items(body: Json, key: str) -> list[Json]:
    items = body.get(key) if isinstance(body, dict) else None
    return items if isinstance(items, list) else []


def newly(change: ObjectChange) -> str:
    """Return a description of how a policy begins to refuse; empty if it does not."""
    if not refuses(change.after) or refuses(change.before):
        return ""
    if change.what is What.ADDED:
        return "a new policy that refuses"
    return "refuses what it only reported before"


def _generating(body: Body | None) -> dict[str, Body]:
    """Return the generating rules of a policy by name; a CEL policy is one rule without a name."""
    spec = mapping_at(body or {}, "spec")
    if "generate" in spec:
        return {"": mapping_at(spec, "evaluation")}
    making = [mapping for mapping in mappings_at(spec, "rules") if mapping.get("generate")]
    return {str(rule.get("name")): mapping_at(rule, "generate") for rule in making}


def _is_on(rule: Body, key: str) -> bool:
    value: Json = rule.get(key)
    return value is True or (isinstance(value, dict) and value.get("enabled") is True)


def going(before: Body, after: Body | None) -> dict[str, Body]:
    """The synchronized rules that a policy loses when it is replaced or removed (None), by name."""
    rules, left = _generating(before), _generating(after)
    return {
        name: rule
        for name, rule in rules.items()
        if name not in left and _is_on(rule, _SYNCHRONIZED)
    }


def lost(before: Body, after: Body | None) -> str | None:
    """Return the consequence for generated objects when a policy is replaced or removed (None);
    None if there is none."""
    gone = going(before, after)
    if any(not _is_on(rule, _ORPHANED) for rule in gone.values()):
        return DELETED
    return LEFT if gone else None


def kinds(rules: Iterable[Body]) -> list[str]:
    """Return the kinds that rules name of what they generate; rules in CEL name none."""
    names: list[Json] = []
    for rule in rules:
        loops = rule.get("foreach")
        for holder in (rule, *(loops if isinstance(loops, list) else ())):
            cloned = mapping_at(holder, "cloneList").get("kinds")
            names += [mapping_at(holder).get("kind"), *(cloned if isinstance(cloned, list) else ())]
    return list(dict.fromkeys(kind for kind in names if isinstance(kind, str) and kind))


def is_form_change(change: ObjectChange) -> bool:
    """Report whether a change is of a policy's form."""
    return bool(change.fields) and change.fields[0].path == KIND


def joined(changes: Iterable[ObjectChange]) -> list[ObjectChange]:
    """Return the changes, with one for each policy that has the same name in another form; its
    further objects go with it."""
    object_changes = list(changes)
    gone = _by_name(object_changes, What.REMOVED)
    come = _by_name(object_changes, What.ADDED)
    forms = {
        name: (gone[name], come[name])
        for name in gone.keys() & come.keys()
        if gone[name].identity.kind != come[name].identity.kind
    }
    left = [change for change in object_changes if not _goes_with(change, forms)]
    for name in sorted(forms):
        old, new = (_bound(change, object_changes) for change in forms[name])
        kinds = FieldChange(KIND, old.identity.kind, new.identity.kind)
        left.append(ObjectChange(new.identity, What.CHANGED, old.before, new.after, (kinds,)))
    return sorted(left, key=lambda change: change.identity)


def _by_name(changes: Sequence[ObjectChange], what: What) -> dict[str, ObjectChange]:
    return {
        f"{change.identity.namespace}/{change.identity.name}": change
        for change in changes
        if change.what is what and change.identity.kind.removeprefix("Namespaced") in _KINDS
    }


def _goes_with(change: ObjectChange, forms: dict[str, tuple[ObjectChange, ObjectChange]]) -> bool:
    """Report whether a change is of an object of a policy whose form changes."""
    if change.what is What.CHANGED:
        return False
    kind = change.identity.kind.removeprefix("Namespaced")
    if kind not in (*_KINDS, _BINDING):
        return False
    return any(
        f"{change.identity.namespace}/{name}" in forms for name in _names(change.identity.name)
    )


def policy_names(objects: Iterable[str]) -> list[str]:
    """Return the names of policies, derived from the names of their objects."""
    names = set(objects)
    return sorted(name for name in names if names.isdisjoint(_names(name) - {name}))


def _names(name: str) -> set[str]:
    """Return the name, and the names without what further objects have at the end."""
    names = {name}
    while suffix := next((end for end in _SUFFIXES if name.endswith(end)), None):
        name = name.removesuffix(suffix)
        names.add(name)
    return names


def _bound(change: ObjectChange, changes: Sequence[ObjectChange]) -> ObjectChange:
    """Return the change of a policy of Kubernetes' own with the actions of its binding."""
    if change.identity.kind != _ADMISSION_POLICY:
        return change
    for other in changes:
        same = other.identity.name == change.identity.name and other.what is change.what
        if same and other.identity.kind == _BINDING:
            before = _with_actions(change.before, other.before)
            return replace(change, before=before, after=_with_actions(change.after, other.after))
    return change


def _with_actions(policy: Body | None, binding: Body | None) -> Body | None:
    if policy is None or binding is None:
        return policy
    actions = mapping_at(binding, "spec").get("validationActions")
    return {**policy, "spec": {**mapping_at(policy, "spec"), "validationActions": actions}}

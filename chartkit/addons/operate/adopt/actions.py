"""The actions that a policy gives itself: what two policies may differ in, and still be one."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.engine import AUDIT, ENFORCE
from chartkit.model import Body, Json, mapping_at, mappings_at
from chartkit.project.settings import Action

_OF_SPEC: Final = ("validationFailureAction", "validationFailureActionOverrides")
_OF_RULE: Final = ("failureAction", "failureActionOverrides")
_WHERE: Final = frozenset(("namespaces", "namespaceSelector"))
_OVERRIDE: Final = _WHERE | {"action"}
_OF_CEL: Final = "validationActions"


def without_actions(body: Body) -> Body:
    """Return the spec of a policy without its actions."""
    spec = copy.deepcopy(mapping_at(body, "spec"))
    for holder, keys in _holders(spec):
        for key in keys:
            holder.pop(key, None)
    return spec


def has_overrides(body: Body) -> bool:
    """Report whether a policy has other actions in some namespaces."""
    return bool(_overrides(body))


def action_settings(body: Body) -> Body | None:
    """Return the settings of chartkit.yaml for the actions of a policy; None where its rules
    differ in them, and where settings cannot say them."""
    actions = set(_actions(body))
    # The overrides that hold for all rules; None where rules have their own.
    spec = mapping_at(body, "spec")
    found = [mappings_at(spec, _OF_SPEC[1])] if spec.get(_OF_SPEC[1]) else []
    for rule in mappings_at(spec, "rules"):
        own = mappings_at(rule, "validate", _OF_RULE[1])
        if own or not found:
            found.append(own)
    given = found[0] if all(each == found[0] for each in found) else None
    if len(actions) != 1 or given is None:
        return None
    entries = as_entries(given)
    if entries is None:
        return None
    settings: Body = {"action": str(Action(actions.pop()))}
    return settings | ({"actions": entries} if entries else {})


def as_entries(overrides: Sequence[Body]) -> list[Json] | None:
    """Return overrides of Kyverno's as `actions` of chartkit.yaml; None where it has no such."""
    if not all(override.keys() <= _OVERRIDE and override.keys() & _WHERE for override in overrides):
        return None
    return [{**override, "action": as_action(override.get("action"))} for override in overrides]


def described_actions(body: Body) -> str:
    """Return the actions of a policy in words; empty for one that validates nothing."""
    actions = " and ".join(sorted(set(_actions(body))))
    if not actions:
        return ""
    parts = [actions]
    for one in _overrides(body):
        names = ", ".join(map(str, one.get("namespaces") or ())) or "namespaces of its selector"
        parts.append(f"{as_action(one.get('action'))} in {names}")
    return ", ".join(dict.fromkeys(parts))


def _holders(spec: Body) -> Iterator[tuple[Body, tuple[str, ...]]]:
    yield spec, (*_OF_SPEC, _OF_CEL)
    for rule in mappings_at(spec, "rules"):
        yield mapping_at(rule, "validate"), _OF_RULE
        for image in mappings_at(rule, "verifyImages"):
            yield image, _OF_RULE


def _actions(body: Body) -> Iterator[str]:
    spec = mapping_at(body, "spec")
    if "validations" in spec or _OF_CEL in spec:
        given = spec.get(_OF_CEL) or ["Deny"]
        yield ENFORCE if "Deny" in given else AUDIT
        return
    default = spec.get("validationFailureAction")
    for rule in mappings_at(spec, "rules"):
        for holder in [mapping_at(rule, "validate"), *mappings_at(rule, "verifyImages")]:
            if holder:
                yield as_action(holder.get("failureAction") or default)


def _overrides(body: Body) -> list[Body]:
    spec = mapping_at(body, "spec")
    found = mappings_at(spec, "validationFailureActionOverrides")
    for rule in mappings_at(spec, "rules"):
        found += mappings_at(rule, "validate", "failureActionOverrides")
    return found


def as_action(value: object) -> str:
    """Return an action as chartkit.yaml writes it."""
    return ENFORCE if str(value).lower() == ENFORCE.lower() else AUDIT

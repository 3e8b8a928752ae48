"""The actions that a policy gives itself: what two policies may differ in, and still be one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Final

from chartkit.engine import AUDIT, ENFORCE
from chartkit.model import Body, mapping_at, mappings_at
from chartkit.project.settings import Action

_OF_SPEC: Final = ("validationFailureAction", "validationFailureActionOverrides")
_OF_RULE: Final = ("failureAction", "failureActionOverrides")
_OF_CEL: Final = "validationActions"


def without_actions(body: Body) -> Body:
    """Return the spec of a policy without its actions."""
    spec = copy.deepcopy(mapping_at(body, "spec"))
    for holder, keys in _holders(spec):
        for key in keys:
            holder.pop(key, None)
    return spec


def single_action(body: Body) -> Action | None:
    """Return the action of a policy that has the same one everywhere, else None."""
    actions = set(_actions(body))
    return Action(actions.pop()) if len(actions) == 1 and not _overrides(body) else None


def described_actions(body: Body) -> str:
    """Return the actions of a policy in words; empty for one that validates nothing."""
    actions = " and ".join(sorted(set(_actions(body))))
    if not actions:
        return ""
    parts = [actions]
    for one in _overrides(body):
        names = ", ".join(map(str, one.get("namespaces") or ())) or "namespaces of its selector"
        parts.append(f"{_action(one.get('action'))} in {names}")
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
                yield _action(holder.get("failureAction") or default)


def _overrides(body: Body) -> list[Body]:
    spec = mapping_at(body, "spec")
    found = mappings_at(spec, "validationFailureActionOverrides")
    for rule in mappings_at(spec, "rules"):
        found += mappings_at(rule, "validate", "failureActionOverrides")
    return found


def _action(value: object) -> str:
    return ENFORCE if str(value).lower() == ENFORCE.lower() else AUDIT

"""Compares the objects that mutation made with the recorded ones."""

from collections.abc import Sequence
from typing import Any

from chartkit.model import Body, Resource, RuleResult, RuleType

Results = Sequence[tuple[Resource, RuleResult]]


def patched_differ(
    case: dict[str, Any], results: Results, *, after_all: bool = False
) -> str | None:
    """What of a case's `patched` was not recorded so; None where all of it agrees. after_all: every
    policy was recorded with the object as the last one left it."""
    for recorded in case.get("patched") or ():
        own = [
            (resource, result)
            for resource, result in results
            if _name(resource) == recorded["resource"]
        ]
        if not own:
            continue
        names = [one["metadata"]["name"] for one in case.get("policies") or [case["policy"]]]
        if not after_all:
            names = names[: names.index(recorded["policy"]) + 1]
        found = _object_after(names, own)
        if not _is_same(found, recorded["object"]):
            return f"{recorded['resource']}: recorded {recorded['object']}; found {found}"
        targets = [
            result.patched_target
            for _, result in own
            if result.patched_target is not None and _own_name(result) == recorded["policy"]
        ]
        if not _is_same(targets, recorded.get("targets") or []):
            return f"targets: recorded {recorded.get('targets')}; found {targets}"
    return None


def _object_after(policies: Sequence[str], results: Results) -> Body:
    """The object after the mutations of some policies."""
    body = results[0][0].body
    for _, result in results:
        mutates = result.type is RuleType.MUTATION and _own_name(result) in policies
        if mutates and result.patched is not None:
            body = result.patched
    return body


def _own_name(result: RuleResult) -> str:
    return result.policy.rpartition("/")[2]


def _name(resource: Resource) -> str:
    return f"{resource.namespace}/{resource.kind}/{resource.name}"


def _is_same(found: Any, recorded: Any) -> bool:
    """Equal, and true is not 1."""
    if isinstance(found, dict) and isinstance(recorded, dict):
        return found.keys() == recorded.keys() and all(
            _is_same(found[key], recorded[key]) for key in found
        )
    if isinstance(found, list) and isinstance(recorded, list):
        return len(found) == len(recorded) and all(map(_is_same, found, recorded))
    return isinstance(found, bool) is isinstance(recorded, bool) and bool(found == recorded)

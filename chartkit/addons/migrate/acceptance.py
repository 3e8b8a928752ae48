"""The rules of a legacy policy that Kyverno takes, those that are left, and whether it would take
new policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.engine import PolicyAttachments, compile_any, is_exception
from chartkit.engine.cluster_policy import autogen
from chartkit.engine.cluster_policy.policy import read_policy
from chartkit.engine.kubernetes.kinds import UNKNOWN, is_binding
from chartkit.errors import CompileError
from chartkit.model import (
    Body,
    Json,
    Location,
    Places,
    Resource,
    list_of,
    mapping_at,
    pointer_of,
    single_line,
)
from chartkit.wording import shortened

REFUSED: Final = "Kyverno refuses it"
IN_CLUSTER: Final = PolicyAttachments(names=UNKNOWN)
"""The surroundings of a policy in a cluster, which knows the scope of all kinds."""
_MOST: Final = 500
"""The most characters of a reason that is not about one rule."""
_ALONE: Final = "/spec/rules/0"


def accepted_rules(legacy: Resource) -> tuple[Resource, Mapping[int, NotConvertible]]:
    """Return a ClusterPolicy or Policy with the rules that Kyverno takes, and by its index why it
    refuses another.

    Raises CompileError where it takes no rule alone or not all of these together.
    """
    try:
        compile_any(legacy, IN_CLUSTER)
    except CompileError:
        refused: dict[int, NotConvertible] = {}
        for index, rule in enumerate(rules_of(legacy)):
            alone = replace(_with_rules(legacy, [rule]), location=Location("", places=_Pointers()))
            try:
                compile_any(alone, IN_CLUSTER)
            except CompileError as fault:
                path = fault.location.path if fault.location else ""
                is_within, message = path.startswith(_ALONE), single_line(fault.message)
                message = f"{message} ({fault.hint})" if fault.hint else message
                reason = f"{REFUSED}: {message if is_within else shortened(message, _MOST)}"
                steps = path.removeprefix(_ALONE).strip("/") if is_within else ""
                refused[index] = NotConvertible(reason, steps)
        kept = [rule for index, rule in enumerate(rules_of(legacy)) if index not in refused]
        if not refused:
            raise
        accepted = _with_rules(legacy, kept)
        if kept:
            compile_any(accepted, IN_CLUSTER)
        return accepted, refused
    return legacy, {}


_CONNECTIONS: Final = {
    "PodAttachOptions": "Pod/attach",
    "PodExecOptions": "Pod/exec",
    "PodPortForwardOptions": "Pod/portforward",
    "PodProxyOptions": "Pod/proxy",
    "NodeProxyOptions": "Node/proxy",
    "ServiceProxyOptions": "Service/proxy",
}
"""By kind of what connections send: their subresource, which Kyverno knows them by since 1.10."""
_BLOCKS: Final = frozenset(("match", "exclude"))


def with_connections(legacy: Resource) -> Resource:
    """Return a policy that names the kinds of connections by their subresources; the same policy
    where it names none."""
    rules = [
        {**rule, **{key: _by_subresource(rule[key]) for key in _BLOCKS & rule.keys()}}
        if isinstance(rule, dict)
        else rule
        for rule in rules_of(legacy)
    ]
    return legacy if rules == rules_of(legacy) else _with_rules(legacy, rules)


def _by_subresource(value: Json, *, is_kind: bool = False) -> Json:
    if isinstance(value, dict):
        return {key: _by_subresource(item, is_kind=key == "kinds") for key, item in value.items()}
    if isinstance(value, list):
        return [_by_subresource(item, is_kind=is_kind) for item in value]
    return _CONNECTIONS.get(value, value) if is_kind and isinstance(value, str) else value


def rules_of(legacy: Resource) -> Sequence[Json]:
    """Return the rules of a policy as they are written."""
    return list_of(mapping_at(legacy.body, "spec").get("rules"))


def _with_rules(legacy: Resource, rules: Sequence[Json]) -> Resource:
    body = legacy.body
    return replace(legacy, body={**body, "spec": {**body["spec"], "rules": list(rules)}})


class _Pointers(Places):
    """The places of a policy's fields by their pointers, which need no text."""

    def locate(self, *path: str | int) -> Location:
        return Location("", path=pointer_of(*path))


def remaining_policy(legacy: Resource, left: Sequence[int]) -> Body | None:
    """Return the legacy policy with the rules alone that are left to be done by hand.

    It is extended to pod controllers only if the whole policy was: a rule that generates, or a
    match by name, keeps Kyverno from extending the others.
    """
    if not left:
        return None
    rules = rules_of(legacy)
    remaining = _with_rules(legacy, [rules[index] for index in left])
    if len(left) < len(rules) and _extends(remaining) and not _extends(legacy):
        metadata = mapping_at(legacy.body, "metadata")
        annotations = {**(metadata.get("annotations") or {}), autogen.ANNOTATION: "none"}
        return {**remaining.body, "metadata": {**metadata, "annotations": annotations}}
    return remaining.body


def _extends(legacy: Resource) -> bool:
    try:
        return bool(autogen.controllers(read_policy(legacy)))
    except CompileError:
        return False


def refusal(documents: Iterable[Body]) -> str:
    """Return why Kyverno would refuse the first of several new objects that it refuses; empty
    where it takes them all."""
    for new in map(Resource, documents):
        if is_exception(new) or is_binding(new):
            continue
        try:
            compile_any(new)
        except CompileError as error:
            return f"the {new.kind} that it becomes is refused: {single_line(error.message)}"
    return ""

"""Runs compiled policies over objects and hands every object's results on as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from chartkit.engine.cli_files.admission import NO_VALUES, Admissions
from chartkit.engine.cli_files.user_values import UserValues
from chartkit.engine.cluster_policy.failure_action import ENFORCE
from chartkit.engine.evaluate import evaluate
from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.policies import AnyPolicy, action_of, judges_json
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request.normalized import as_submitted
from chartkit.engine.request.request import Request, User
from chartkit.model import Body, Resource, RuleResult, Status, mapping_at
from chartkit.scan.refused_objects import with_refusals

_NO_OBJECTS: Final[Mapping[str, Body]] = MappingProxyType({})

Sink = Callable[[Resource, Sequence[RuleResult]], None]


def run_scan(
    policies: Sequence[AnyPolicy],
    found: Iterable[Resource],
    sink: Sink,
    namespaces: Mapping[str, Mapping[str, str]],
    *,
    world: World = OFFLINE,
    audit_warn: bool = False,
    values: UserValues = NO_VALUES,
    user: User | None = None,
    namespace_objects: Mapping[str, Body] = _NO_OBJECTS,
    is_json: bool = False,
    plural_of: Callable[[GroupVersionKind], str] | None = None,
) -> Counter[Status]:
    """Evaluates every object, calls sink with it and its results, and counts the statuses.

    The policies run in admission order: what one mutates, the next ones see. namespaces: the
    labels of each namespace, for namespace selectors; audit_warn: a failure of a policy that only
    audits is a warning; values, user: what the user says about the requests; namespace_objects: the
    namespaces themselves; is_json: whether what was found is no Kubernetes object but any JSON,
    which the policies for JSON judge and no other; plural_of: given where an API server gave the
    objects, which are then as Kyverno takes them, and says the name of a kind in URLs.
    """
    policies = [one for one in policies if judges_json(one) is is_json]
    names = (policy.policy.name for policy in policies)
    admissions = Admissions(names, values, user, namespaces, namespace_objects)
    by_id = {policy.policy.id: policy for policy in policies}
    counts: Counter[Status] = Counter()
    for given in found:
        resource = given if is_json or plural_of is not None else as_submitted(given)
        request = Request(given, is_json=True) if is_json else admissions.request(resource)
        if plural_of is not None:
            request = replace(request, plural=plural_of(request.kind or kind_of(given)))
        results = with_refusals(resource, evaluate(policies, request, world))
        if audit_warn:
            labels = request.namespace_labels
            results = [
                _audited(by_id[result.policy_id], resource, result, labels) for result in results
            ]
        counts.update([result.status for result in results])
        sink(resource, results)
    return counts


def namespaces_among(found: Iterable[Resource]) -> dict[str, Body]:
    """The Namespace objects among what was found, by name, with the label that each has."""
    objects: dict[str, Body] = {}
    for resource in found:
        if resource.kind == "Namespace" and resource.api_version == "v1":
            metadata = mapping_at(resource.body, "metadata")
            labels = {"kubernetes.io/metadata.name": resource.name}
            labels |= mapping_at(metadata, "labels")
            objects[resource.name] = {**resource.body, "metadata": {**metadata, "labels": labels}}
    return objects


def namespace_labels(found: Iterable[Resource]) -> dict[str, dict[str, str]]:
    """The labels of the Namespace objects among what was found, by name."""
    return {name: body["metadata"]["labels"] for name, body in namespaces_among(found).items()}


def _audited(
    policy: AnyPolicy, resource: Resource, result: RuleResult, labels: Mapping[str, str]
) -> RuleResult:
    """A failure that is only audited becomes a warning."""
    if result.status is not Status.FAIL:
        return result
    action = action_of(policy, result.rule, resource.namespace, labels)
    return result if action == ENFORCE else replace(result, status=Status.WARN)

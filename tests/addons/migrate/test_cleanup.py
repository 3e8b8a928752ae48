"""Cleanup policies become DeletingPolicies that delete the same objects."""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.engine import Cleaner, Request, compile_any
from chartkit.model import Location, Resource, Status
from tests.data import from_table
from tests.objects import api_object

_MEMORY = Location("policy.yaml")
_LABELS: dict[str, dict[str, str]] = {"team": {"a": "b"}, "other": {}}


def policy(spec: str, kind: str = "ClusterCleanupPolicy", namespace: str = "") -> Resource:
    metadata = {"name": "clean", "labels": {"owner": "ops"}}
    if namespace:
        metadata["namespace"] = namespace
    body = api_object(
        "kyverno.io/v2", kind, metadata, spec={"schedule": "0 1 * * *", **yaml.safe_load(spec)}
    )
    return Resource(body, _MEMORY)


def objects() -> Iterator[Resource]:
    """Yield objects of some kinds, names, namespaces, labels and sizes."""
    for namespace in ("team", "other", "kube-system", "tmp-1"):
        for labels in (None, {}, {"remove": "yes"}, {"remove": "no", "tier": "db"}):
            for name in ("app", "keep-me"):
                metadata: dict[str, Any] = {"name": name, "namespace": namespace}
                if labels is not None:
                    metadata["labels"] = labels
                for kind, api, spec in (
                    ("Pod", "v1", {"containers": [{"name": "a", "image": "b"}]}),
                    ("Deployment", "apps/v1", {"replicas": 0, "template": {}, "selector": {}}),
                    ("Deployment", "apps/v1", {"template": {}, "selector": {}}),
                    ("Deployment", "apps/v1", {"replicas": 3, "template": {}, "selector": {}}),
                    ("Widget", "example.com/v1", {"size": "large"}),
                ):
                    body = {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
                    yield Resource(body, _MEMORY)
    yield Resource(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tmp-9"}}, _MEMORY
    )


def deletes(cleaner: Any, resource: Resource) -> bool:
    assert isinstance(cleaner, Cleaner)
    labels = _LABELS.get(resource.namespace, {})
    result = cleaner.evaluate(Request(resource, namespace_labels=labels))
    return result is not None and result.status is Status.PASS


def agree(legacy: Resource) -> int:
    """Return how many objects both forms delete; every object has the same answer."""
    conversion = convert(legacy)
    assert conversion.complete, conversion.outcomes
    (document,) = conversion.documents
    old, new = compile_any(legacy), compile_any(Resource(document, _MEMORY))
    count = 0
    for resource in objects():
        wanted = deletes(old, resource)
        assert deletes(new, resource) is wanted, resource.body
        count += wanted
    return count


@from_table("spec")
def test_both_forms_delete_the_same_objects(spec: str) -> None:
    assert agree(policy(spec)) > 0


def test_a_policy_of_a_namespace_stays_there() -> None:
    legacy = policy("match: {any: [{resources: {kinds: [Pod]}}]}", "CleanupPolicy", "team")
    assert agree(legacy) == 8
    (document,) = convert(legacy).documents
    assert document["kind"] == "NamespacedDeletingPolicy"
    assert document["metadata"]["namespace"] == "team"


def test_the_schedule_and_the_propagation_are_kept() -> None:
    legacy = policy(
        "match: {any: [{resources: {kinds: [Pod]}}]}\ndeletionPropagationPolicy: Orphan"
    )
    conversion = convert(legacy)
    (document,) = conversion.documents
    assert document["metadata"] == {"name": "clean", "labels": {"owner": "ops"}}
    assert document["spec"]["schedule"] == "0 1 * * *"
    assert document["spec"]["deletionPropagationPolicy"] == "Orphan"
    assert conversion.outcomes[0].replaced_by == ("DeletingPolicy/clean",)
    assert conversion.remaining is None


@from_table("spec", "reason")
def test_policies_without_a_form_are_left_as_they_are(spec: str, reason: str) -> None:
    legacy = policy(spec)
    conversion = convert(legacy)
    assert not conversion.documents
    assert conversion.remaining == legacy.body
    assert reason in conversion.outcomes[0].reason


@from_table("kind", "conditions")
def test_a_proof_reaches_what_conditions_ask_for(kind: str, conditions: list[list[object]]) -> None:
    written = json.dumps(
        [
            {"key": f"{{{{ {key} }}}}", "operator": operator, "value": value}
            for key, operator, value in conditions
        ]
    )
    match = f"match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}"
    legacy = policy(f"{match}\nconditions: {{all: {written}}}")
    conversion = convert(legacy)
    new = [Resource(body, _MEMORY) for body in conversion.documents]
    proof = prove(legacy, new, options=proof_options(conversion, 30))
    assert proof.equal
    assert proof.decided

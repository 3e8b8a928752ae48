"""What is deleted when: schedules, conditions at the time of the run, and labels."""

from datetime import UTC, datetime
from typing import Any

import pytest

from chartkit.engine.cleanup import plan_deletions, read_cleanup_policy
from chartkit.engine.cleanup.policy import LABEL, PROPAGATION
from chartkit.errors import CompileError
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.objects import api_object

NOW = datetime(2030, 1, 1, 10, 2, tzinfo=UTC)
PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}


def _policy(name: str = "old", kind: str = "ClusterCleanupPolicy", **spec: Any) -> Resource:
    body = {"schedule": "*/5 * * * *", "match": PODS, **spec}
    return Resource(api_object("kyverno.io/v2", kind, {"name": name}, spec=body))


def _pod(name: str, **metadata: Any) -> Resource:
    return Resource(api_object("v1", "Pod", {"name": name, "namespace": "shop", **metadata}))


def _plan(policies: list[Resource], *pods: Resource, **namespaces: Any) -> list[tuple[Any, ...]]:
    compiled = [read_cleanup_policy(policy) for policy in policies]
    found, diagnostics = plan_deletions(compiled, pods, NOW, namespaces)
    assert diagnostics == []
    return [(one.resource.name, one.time.isoformat(), one.cause, one.propagation) for one in found]


def test_at_the_next_run() -> None:
    policy = _policy(deletionPropagationPolicy="Orphan")
    assert _plan([policy], _pod("a")) == [("a", "2030-01-01T10:05:00+00:00", "old", "Orphan")]


def test_conditions_see_the_time_of_the_run() -> None:
    # Four minutes old now, seven when the policy runs.
    age = "{{ time_since('', '{{ target.metadata.creationTimestamp }}', '') }}"
    policy = _policy(conditions={"all": [{"key": age, "operator": "GreaterThan", "value": "6m"}]})
    old = _pod("old", creationTimestamp="2030-01-01T09:58:00Z")
    young = _pod("young", creationTimestamp="2030-01-01T10:01:00Z")
    assert [row[0] for row in _plan([policy], old, young)] == ["old"]


def test_namespaces_by_their_labels() -> None:
    selector = {"matchLabels": {"stage": "dev"}}
    match = {"any": [{"resources": {"kinds": ["Pod"], "namespaceSelector": selector}}]}
    assert _plan([_policy(match=match)], _pod("a")) == []
    assert len(_plan([_policy(match=match)], _pod("a"), shop={"stage": "dev"})) == 1


def test_in_order_of_time_with_labels_among_them() -> None:
    labelled = _pod("b", labels={LABEL: "1m"}, annotations={PROPAGATION: "Foreground"})
    past = _pod("c", labels={LABEL: "2029-01-01"}, annotations={PROPAGATION: "Sideways"})
    match = {"any": [{"resources": {"kinds": ["Pod"], "names": ["a"]}}]}
    assert _plan([_policy(match=match)], _pod("a"), labelled, past) == [
        ("c", "2030-01-01T10:02:00+00:00", LABEL, ""),
        ("b", "2030-01-01T10:03:00+00:00", LABEL, "Foreground"),
        ("a", "2030-01-01T10:05:00+00:00", "old", ""),
    ]


def test_what_cannot_be_evaluated_is_told_and_stays() -> None:
    missing = {"all": [{"key": "{{ target.spec.gone }}", "operator": "Equals", "value": "x"}]}
    broken = [read_cleanup_policy(_policy(conditions=missing))]
    never = [read_cleanup_policy(_policy(schedule="sometimes"))]
    pod = _pod("a", labels={LABEL: "soon"})
    found, diagnostics = plan_deletions(broken + never, [pod], NOW, {})
    assert found == []
    assert [one.rule_id for one in diagnostics] == ["cleanup-policy", "ttl-label"]
    assert "gone" in diagnostics[0].message


@from_table("spec", "fault")
def test_what_a_cluster_would_refuse(spec: Body, fault: str) -> None:
    (diagnostic,) = read_cleanup_policy(_policy(**spec)).diagnostics
    assert fault in diagnostic.message


@from_table("change")
def test_what_the_schema_does_not_take(change: Body) -> None:
    with pytest.raises(CompileError):
        read_cleanup_policy(Resource({**_policy().body, **change}))

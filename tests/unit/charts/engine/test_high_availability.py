from typing import Any

import pytest

from chartkit.charts.engine import high_availability
from chartkit.documents.reader import read_file, resources
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.model import Body, Resource
from tests.shared import shared

NAMES = {
    "admission-controller": "admission",
    "background-controller": "background",
    "cleanup-controller": "cleanup",
    "reports-controller": "reports",
}


def deployment(component: str, replicas: Any = ...) -> Resource:
    spec: Body = {"template": {"metadata": {"labels": {"app": component}}}}
    if replicas is not ...:
        spec["replicas"] = replicas
    labels = {kyverno_controllers.COMPONENT: component}
    metadata = {"name": component, "namespace": "kyverno", "labels": labels}
    return Resource({"kind": "Deployment", "metadata": metadata, "spec": spec})


def engine(**replicas: Any) -> list[Resource]:
    counts = {"admission": 3, "background": 2, "cleanup": 2, "reports": 2, **replicas}
    return [deployment(component, counts[short]) for component, short in NAMES.items()]


def budget(component: str, namespace: str = "kyverno", name: str = "pdb", **spec: Any) -> Resource:
    body = {"selector": {"matchLabels": {"app": component}}, **spec}
    metadata = {"name": name, "namespace": namespace}
    return Resource({"kind": "PodDisruptionBudget", "metadata": metadata, "spec": body})


def scaler(component: str, **spec: Any) -> Resource:
    body = {"scaleTargetRef": {"kind": "Deployment", "name": component}, **spec}
    metadata = {"name": "hpa", "namespace": "kyverno"}
    return Resource({"kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": body})


def ids(objects: list[Resource], required: bool) -> list[str]:
    return [
        each.rule_id
        for each in high_availability.judge(objects, required)
        if each.severity == "error"
    ]


def test_a_highly_available_engine_has_nothing_wrong() -> None:
    assert high_availability.judge(engine(), required=True) == []


@pytest.mark.parametrize("admission", [..., None, 1, 0])
def test_one_admission_replica_is_fine_unless_required(admission: Any) -> None:
    assert ids(engine(admission=admission), required=False) == []
    assert ids(engine(admission=admission), required=True) == [high_availability.RULE_REPLICAS]


@pytest.mark.parametrize("required", [True, False])
def test_two_admission_replicas_are_refused_everywhere(required: bool) -> None:
    assert ids(engine(admission=2), required) == [high_availability.RULE_TWO_ADMISSION]
    scaled = [*engine(admission=3), scaler("admission-controller", minReplicas=2)]
    assert ids(scaled, required) == [high_availability.RULE_TWO_ADMISSION]


def test_more_than_three_is_noted() -> None:
    found = high_availability.judge(engine(admission=5), required=True)
    assert [str(each.severity) for each in found] == ["note"]
    assert high_availability.judge(engine(admission=5), required=False) == []


@pytest.mark.parametrize("short", ["background", "cleanup", "reports"])
@pytest.mark.parametrize("count", [..., 1])
def test_the_others_need_two(short: str, count: Any) -> None:
    found = high_availability.judge(engine(**{short: count}), required=True)
    assert [each.rule_id for each in found] == [high_availability.RULE_REPLICAS]
    assert found[0].hint == f"set {short}Controller.replicas: 2"
    assert ids(engine(**{short: count}), required=False) == []


def test_an_autoscaler_decides_in_place_of_replicas() -> None:
    assert ids([*engine(admission=1), scaler("admission-controller", minReplicas=3)], True) == []
    absent = high_availability.judge([*engine(), scaler("admission-controller")], required=True)
    assert absent[0].message.startswith("admission-controller has at least 1 replica,")
    assert absent[0].hint == "set admissionController.autoscaling.minReplicas: 3"
    other = scaler("another", minReplicas=1)
    assert ids([*engine(), other], required=True) == []


@pytest.mark.parametrize("replicas", ["3", 2.5, -1, True])
def test_what_is_no_number_of_replicas_is_refused(replicas: Any) -> None:
    assert ids(engine(admission=replicas), required=False) == [high_availability.RULE_REPLICAS]


@pytest.mark.parametrize(
    ("spec", "blocks"),
    [
        ({"minAvailable": 3}, True),
        ({"minAvailable": 4}, True),
        ({"minAvailable": 2}, False),
        ({"minAvailable": "100%"}, True),
        ({"minAvailable": "67%"}, True),
        ({"minAvailable": "66%"}, False),
        ({"maxUnavailable": 0}, True),
        ({"maxUnavailable": "0%"}, True),
        ({"maxUnavailable": "1%"}, False),
        ({"maxUnavailable": 1}, False),
        ({}, True),
        ({"maxUnavailable": "some"}, True),
    ],
)
def test_budgets_that_block_every_drain(spec: Body, blocks: bool) -> None:
    found = ids([*engine(), budget("admission-controller", **spec)], required=True)
    assert found == ([high_availability.RULE_BUDGET] if blocks else [])


def test_a_budget_of_one_replica_blocks_where_no_availability_is_required() -> None:
    objects = [*engine(reports=1), budget("reports-controller", minAvailable=1)]
    assert ids(objects, required=False) == [high_availability.RULE_BUDGET]


def test_two_budgets_for_one_pod_block_its_eviction() -> None:
    budgets = [budget("admission-controller", name=n, maxUnavailable=1) for n in ("one", "two")]
    found = high_availability.judge([*engine(), *budgets], required=False)
    assert "two disruption budgets (one, two)" in found[0].message


def test_a_budget_of_other_pods_says_nothing() -> None:
    others = [budget("other", minAvailable=9), budget("admission-controller", "x", minAvailable=9)]
    assert ids([*engine(), *others], required=True) == []
    expression = {"key": "app", "operator": "NotIn", "values": ["admission-controller"]}
    spec = {"selector": {"matchExpressions": [expression]}, "minAvailable": "100%"}
    metadata = {"name": "x", "namespace": "kyverno"}
    negative = Resource({"kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    assert ids([*engine(), negative], required=True) == [high_availability.RULE_BUDGET] * 3


def test_an_engine_without_admission_is_refused() -> None:
    assert ids(engine()[1:], required=False) == [high_availability.RULE_NO_ADMISSION]


@pytest.mark.parametrize(
    ("name", "available"), [("ha", True), ("ha-service-monitors", True), ("default", False)]
)
def test_upstreams_own_renders(name: str, available: bool) -> None:
    file = shared(f"reference/kyverno-chart-3.9.0/{name}.rendered.yaml")
    objects = resources(read_file(file))
    assert (not ids(objects, required=True)) is available
    assert ids(objects, required=False) == []

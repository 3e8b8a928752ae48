"""Mutate rules as a whole: variables, foreach, what later rules see."""

import copy
from typing import Any

import pytest

from chartkit.engine.cli_files.world import UserApi
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import Operation, Request
from chartkit.model import Body, Resource, RuleResult, Status
from tests.data import from_table
from tests.objects import api_object
from tests.unit.engine.policies import policy_resource

WIDGET: Body = api_object(
    "example.com/v1", "Widget", "ns/w", spec={"a": "1", "items": [{"n": "x"}, {"n": "y"}]}
)


def _rule(mutate: Body, name: str = "m", **parts: Any) -> Body:
    match = {"any": [{"resources": {"kinds": ["Widget"]}}]}
    return {"name": name, "match": match, "mutate": mutate, **parts}


def _run(*rules: Body, objects: tuple[Body, ...] = (), **spec: Any) -> list[RuleResult]:
    before = copy.deepcopy(WIDGET)
    compiled = compile_policy(policy_resource(*rules, **spec))
    world = World(UserApi(Cluster(objects)))
    results = evaluate([compiled], Request(Resource(WIDGET)), world)
    assert before == WIDGET
    return results


def _patched(*rules: Body) -> Body:
    """The object as the last rule leaves it."""
    patched = _run(*rules)[-1].patched
    assert patched is not None
    return patched


def _merge(**spec: Any) -> Body:
    return {"patchStrategicMerge": {"spec": spec}}


def test_a_mutation_says_what_it_changed() -> None:
    (result,) = _run(_rule(_merge(a="2")))
    assert (result.status, result.message) == (Status.PASS, "mutated Widget/w in namespace ns")
    assert result.patched is not None
    assert result.patched["spec"]["a"] == "2"


def test_without_a_change_there_is_no_patched_object() -> None:
    (result,) = _run(_rule(_merge(a="1")))
    assert (result.status, result.message) == (Status.SKIP, "no patches applied")
    assert result.patched is None


def test_later_rules_see_what_was_changed() -> None:
    check = {
        "name": "v",
        "match": {"any": [{"resources": {"kinds": ["Widget"]}}]},
        "validate": {"message": "m", "pattern": {"spec": {"b": "1!"}}},
    }
    first, second, last = _run(
        check,
        _rule(_merge(b="{{ request.object.spec.a }}!"), "m1"),
        _rule(_merge(c="{{ request.object.spec.b }}"), "m2"),
    )
    assert (first.rule, second.rule, last.rule, last.status) == ("m1", "m2", "v", Status.PASS)
    assert second.patched is not None
    assert second.patched["spec"]["c"] == "1!"


def test_an_error_leaves_nothing_for_later_rules() -> None:
    (result,) = _run(_rule(_merge(b="{{ request.object.x }}")), _rule(_merge(a="2"), "m2"))
    assert result.status is Status.ERROR
    assert result.patched == {}
    assert result.message.startswith(
        "variable substitution failed: failed to resolve request.object.x at path "
        "/mutate/patchStrategicMerge/spec/b: "
    )


def test_preconditions_are_substituted_with_the_patch() -> None:
    conditions = {
        "any": [
            {"key": "a", "operator": "Equals", "value": "a"},
            {"key": "{{ request.object.nope }}", "operator": "Equals", "value": "a"},
        ]
    }
    (result,) = _run(_rule(_merge(a="2"), preconditions=conditions))
    assert result.status is Status.ERROR
    assert "at path /preconditions/any/1/key" in result.message


def test_what_is_no_object_afterwards_is_an_error() -> None:
    patch = '[{"op": "remove", "path": "/kind"}, {"op": "remove", "path": "/spec"}]'
    (result,) = _run(_rule({"patchesJson6902": patch}))
    assert result.message == (
        "failed to unmarshal patched resource: Object 'Kind' is missing in "
        '\'{"apiVersion":"example.com/v1","metadata":{"name":"w","namespace":"ns"}}\''
    )


def _foreach(**block: Any) -> Body:
    return {"foreach": [{"list": "request.object.spec.items", **block}]}


def test_foreach_goes_from_the_last_element_where_it_merges() -> None:
    block = {"patchStrategicMerge": {"spec": {"seen": "{{ element.n }}"}}}
    for order, last in ((None, "x"), ("Descending", "x"), ("Ascending", "y")):
        patched = _patched(_rule(_foreach(**block, **({"order": order} if order else {}))))
        assert patched["spec"]["seen"] == last


def test_foreach_with_operations_goes_forward() -> None:
    patch = '- op: add\n  path: /spec/out/-\n  value: "{{ element.n }}{{ elementIndex }}"'
    assert _patched(_rule(_foreach(patchesJson6902=patch)))["spec"]["out"] == ["x0", "y1"]


def test_foreach_in_foreach() -> None:
    inner = {
        "list": "['p', 'q']",
        "patchStrategicMerge": {"spec": {"{{ element0.n }}{{ element1 }}": "{{ elementIndex1 }}"}},
    }
    spec = _patched(_rule(_foreach(foreach=[inner])))["spec"]
    added = {key: value for key, value in spec.items() if key[0] in "xy"}
    assert added == {"xp": 0, "xq": 1, "yp": 0, "yq": 1}


def test_foreach_that_does_nothing_or_fails() -> None:
    unmet = {"all": [{"key": "a", "operator": "Equals", "value": "b"}]}
    block = {"preconditions": unmet, "patchStrategicMerge": {"spec": {"x": "1"}}}
    (result,) = _run(_rule(_foreach(**block)))
    assert (result.status, result.message) == (Status.SKIP, "0 elements processed")
    (result,) = _run(_rule({"foreach": [{"list": "request.object.zz", "patchesJson6902": "[]"}]}))
    assert result.message.startswith("failed to evaluate list request.object.zz: JMESPath query")
    failing = {"patchStrategicMerge": {"spec": {"x": "{{ element.zz }}"}}}
    (result,) = _run(_rule(_foreach(**failing)))
    assert result.message.startswith("failed to mutate elements: variable substitution failed: ")
    conditions = {"all": [{"key": "{{ element.zz }}", "operator": "Equals", "value": "b"}]}
    (result,) = _run(_rule(_foreach(preconditions=conditions, patchesJson6902="[]")))
    assert "failed to evaluate mutate.foreach[0].preconditions: " in result.message
    (result,) = _run(_rule(_foreach(patchesJson6902="{{ element }}")))
    assert result.message == "failed to mutate elements: empty mutate rule"


def _configmap(name: str, namespace: str = "ns", **labels: str) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "data": {"a": name},
    }


OBJECTS = (_configmap("t1", x="y"), _configmap("t2"), _configmap("t1", "other", x="y"))


def _targets(patch: Body, *targets: Body, objects: tuple[Body, ...] = OBJECTS) -> list[RuleResult]:
    named = [{"apiVersion": "v1", "kind": "ConfigMap", **target} for target in targets]
    return _run(_rule({"targets": named, **patch}), objects=objects)


def _names(results: list[RuleResult]) -> list[tuple[str, str]]:
    bodies = [Resource(result.patched_target or {}) for result in results]
    return [(body.namespace, body.name) for body in bodies]


PATCH: Body = {"patchStrategicMerge": {"data": {"b": "{{ target.data.a }}"}}}


def test_targets_by_name_wildcard_and_selector() -> None:
    assert _names(_targets(PATCH, {"name": "t1", "namespace": "ns"})) == [("ns", "t1")]
    assert _names(_targets(PATCH, {"name": "t*", "namespace": "ns"})) == [
        ("ns", "t1"),
        ("ns", "t2"),
    ]
    assert _names(_targets(PATCH, {"name": "t1"})) == [("ns", "t1"), ("other", "t1")]
    selected = {"selector": {"matchLabels": {"x": "y"}}, "namespace": "o*"}
    assert _names(_targets(PATCH, selected)) == [("other", "t1")]
    assert _targets(PATCH, {"name": "zz*"}) == []


def test_a_target_is_patched_and_the_object_of_the_request_is_not() -> None:
    (result,) = _targets(PATCH, {"name": "t1", "namespace": "{{ request.namespace }}"})
    assert result.message == "mutated ConfigMap/t1 in namespace ns"
    assert result.patched is None
    assert result.patched_target is not None
    assert result.patched_target["data"] == {"a": "t1", "b": "t1"}
    assert OBJECTS[0]["data"] == {"a": "t1"}


def test_targets_that_are_not_there_are_told_together() -> None:
    missing = [{"name": name, "namespace": "ns"} for name in ("n1", "n2")]
    error, found = _targets(PATCH, *missing, {"name": "t2"})
    assert error.message == ': configmaps "n1" not found; configmaps "n2" not found'
    assert (error.status, found.status) == (Status.ERROR, Status.PASS)
    (error,) = _targets(PATCH, {"name": "{{ request.object.zz }}", "namespace": "ns"})
    assert error.message.startswith(": failed to substitute variables in target[0]: ")


@from_table("version", "names")
def test_a_version_alone_stands_for_every_group(version: str, names: list[str]) -> None:
    metadata = {"name": "app", "namespace": "ns"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    target = {"apiVersion": version, "kind": "Deployment", "namespace": "ns"}
    patch: Body = {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}
    listed = _targets(patch, target, objects=(deployment,))
    assert [name for _, name in _names(listed)] == names
    (named,) = _targets(patch, {**target, "name": "app"}, objects=(deployment,))
    assert named.status is (Status.PASS if names else Status.ERROR)


@pytest.mark.parametrize("version", ["", "apps", "v10", "*/*", "v1/apps", "a/b/c"])
def test_what_is_no_version_names_no_kind(version: str) -> None:
    (error,) = _targets(PATCH, {"apiVersion": version, "namespace": "ns", "name": "t1"})
    assert (error.status, error.message) == (Status.ERROR, ": not found")


def test_targets_have_preconditions_of_their_own() -> None:
    conditions = {"all": [{"key": "{{ target.data.a }}", "operator": "Equals", "value": "t2"}]}
    target = {"name": "t*", "namespace": "ns", "preconditions": conditions}
    results = _targets({"patchStrategicMerge": {"data": {"b": "1"}}}, target)
    assert [(one.status, one.message) for one in results] == [
        (Status.SKIP, "preconditions not met"),
        (Status.PASS, "mutated ConfigMap/t2 in namespace ns"),
    ]


@from_table("mutate", "text")
def test_a_deletion_has_no_object_to_change(mutate: Body, text: str) -> None:
    compiled = compile_policy(policy_resource(_rule(mutate)))
    request = Request(Resource(WIDGET), operation=Operation.DELETE)
    (result,) = evaluate([compiled], request)
    assert (result.status, result.message) == (Status.ERROR, text)


def test_foreach_over_a_target() -> None:
    block = {
        "list": "keys(target.data)",
        "patchStrategicMerge": {"metadata": {"labels": {"{{ element }}": "k"}}},
    }
    (result,) = _targets({"foreach": [block]}, {"name": "t2", "namespace": "ns"})
    assert result.patched_target is not None
    assert result.patched_target["metadata"]["labels"] == {"a": "k"}


def test_a_policy_of_a_namespace_reaches_no_other() -> None:
    resource = policy_resource(
        _rule({"targets": [{"apiVersion": "v1", "kind": "ConfigMap"}], **PATCH})
    )
    resource.body["kind"] = "Policy"
    resource.body["metadata"]["namespace"] = "ns"
    compiled = compile_policy(resource)
    world = World(UserApi(Cluster(OBJECTS)))
    results = evaluate([compiled], Request(Resource(WIDGET)), world)
    assert _names(results) == [("ns", "t1"), ("ns", "t2")]


_SAME_MERGE = {"patchStrategicMerge": {"spec": {"containers": [{"name": "{{ element.name }}"}]}}}
_SAME_PATCH = {
    "patchesJson6902": "- {op: replace, path: '/spec/containers/{{elementIndex}}/image', value: x}"
}
_BACK_AND_FORTH = {
    "patchesJson6902": "- {op: add, path: /metadata/labels/a, value: '{{ element.label }}'}"
}


@pytest.mark.parametrize("extra", [{"n": 1}, {"n": 2.0}, {"n": 1.5}, {"n": "1"}, {"n": True}, {}])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("patch", [_SAME_MERGE, _SAME_PATCH, _BACK_AND_FORTH])
def test_a_loop_that_takes_its_changes_back(patch: Body, count: int, extra: Body) -> None:
    """A change that a later element takes back leaves int64 where the object had float64."""
    containers = [{"name": str(i), "image": "x", "label": str(i % 2)} for i in range(count)]
    if count:
        containers[-1] = {**containers[-1], "label": "was", **extra}
    body: Body = api_object(
        "v1", "Pod", {"name": "p", "labels": {"a": "was"}}, spec={"containers": containers}
    )
    loop = {"list": "request.object.spec.containers", **patch}
    rule = {**_rule({"foreach": [loop]}), "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}
    (result,) = evaluate([compile_policy(policy_resource(rule))], Request(Resource(body)))
    changes_on_the_way = count > 1 and patch is not _SAME_PATCH
    rereads_a_number = extra.get("n") in (1, 2.0) and extra.get("n") is not True
    if changes_on_the_way and rereads_a_number:
        assert (result.status, result.message) == (Status.PASS, "mutated Pod/p")
        assert result.patched == body
    else:
        assert (result.status, result.message) == (Status.SKIP, "0 elements processed")
        assert result.patched is None


def test_an_object_that_was_read_anew_once_has_no_float64_left() -> None:
    body: Body = api_object(
        "v1", "Pod", "p", spec={"containers": [{"name": "a", "n": 1}, {"name": "b"}]}
    )
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    loop = {"list": "request.object.spec.containers", **_SAME_MERGE}
    label = {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}
    rules = [{**_rule(label, "1"), "match": match}, {**_rule({"foreach": [loop]}), "match": match}]
    compiled = compile_policy(policy_resource(*rules))
    first, second = evaluate([compiled], Request(Resource(body)))
    assert (first.status, second.status) == (Status.PASS, Status.SKIP)
    twice = {**_rule({"foreach": [{**loop, **label}, loop]}), "match": match}
    (result,) = evaluate([compile_policy(policy_resource(twice))], Request(Resource(body)))
    assert result.status is Status.PASS


@pytest.mark.parametrize("label", ["x", "{{ element }}"])
def test_a_target_has_int64_from_the_start(label: str) -> None:
    there = api_object(
        "v1", "ConfigMap", {"name": "c", "namespace": "ns", "labels": {"a": "y"}}, data={"n": 1}
    )
    patch = {"patchStrategicMerge": {"metadata": {"labels": {"a": label}}}}
    target = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "c"}
    loop = {"list": "request.object.spec.items[].n", "order": "Ascending", **patch}
    (result,) = _run(_rule({"foreach": [loop], "targets": [target]}), objects=(there,))
    assert result.status is (Status.PASS if label == "x" else Status.SKIP)

"""Generate rules on objects that are there: clones, lists of clones, targets, updates."""

from typing import Any

import pytest

from chartkit.engine.cli_files.world import UserApi
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.run import BACKGROUND_CONTROLLER
from chartkit.engine.kubernetes.kinds import UNKNOWN, scope_of
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import Operation, Request, User
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, RuleResult, Status
from tests.data import from_table
from tests.unit.engine.policies import policy_resource, rule

NAMESPACE = Resource({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
TARGET = "{{ request.object.metadata.name }}"


def _generate(**parts: Any) -> Body:
    body = rule("g", ("Namespace",))
    del body["validate"]
    return body | parts


def _run(
    body: Body, *there: Body, trigger: Resource = NAMESPACE, **request: Any
) -> list[RuleResult]:
    world = World(UserApi(Cluster(there)))
    compiled = compile_policy(policy_resource(body))
    return evaluate([compiled], Request(trigger, **request), world)


def _secret(name: str, namespace: str = "base", **labels: str) -> Body:
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": labels,
        "uid": "u",
        "finalizers": [],
    }
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"k": "dg=="}}


def _names(result: RuleResult) -> list[str]:
    return [f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in result.generated]


CLONE = {
    "apiVersion": "v1",
    "kind": "Secret",
    "name": "copy",
    "namespace": TARGET,
    "clone": {"namespace": "base", "name": "a"},
}


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "namespace": TARGET}


def test_a_clone_keeps_all_but_what_is_its_sources_own() -> None:
    (result,) = _run(_generate(generate=CLONE), _secret("a", team="x"))
    (made,) = result.generated
    assert made["data"] == {"k": "dg=="}
    assert made["metadata"].keys() == {"name", "namespace", "labels", "finalizers"}
    labels = made["metadata"]["labels"]
    assert labels["team"] == "x"
    assert labels["generate.kyverno.io/source-uid"] == "u"
    assert labels["generate.kyverno.io/trigger-kind"] == "Namespace"


def test_without_its_source_a_clone_is_not_made() -> None:
    (result,) = _run(_generate(generate=CLONE))
    assert (result.status, result.generated) == (Status.PASS, ())
    missing = 'source resource v1/Secret/shop/copy not found: secrets "a" not found'
    assert result.unmade == missing


def test_what_cannot_be_filled_in_is_not_made() -> None:
    data = {"data": {"k": "{{ request.object.spec.missing }}"}}
    generate = {**CONFIG, "data": data}
    (result,) = _run(_generate(generate=generate))
    assert (result.status, result.generated) == (Status.PASS, ())
    assert "Unknown key" in result.unmade


@pytest.mark.parametrize("owned", [{}, {"uid": "u", "resourceVersion": "7"}])
@pytest.mark.parametrize("source", ["data", "clone", "cloneList", "foreach"])
@pytest.mark.parametrize("synchronize", [True, False])
def test_a_synchronised_target_that_differs_is_overwritten(
    synchronize: bool, source: str, owned: Body
) -> None:
    there = _secret("a", "shop") | {"data": {"k": "b2xk"}}
    there["metadata"] = {"name": "a", "namespace": "shop", **owned}
    secret = {"apiVersion": "v1", "kind": "Secret", "name": "a", "namespace": TARGET}
    clone = {"namespace": "base", "name": "a"}
    kinds: dict[str, Body] = {
        "data": {**secret, "data": {"data": {"k": "dg=="}}},
        "clone": {**secret, "clone": clone},
        "cloneList": {
            "namespace": TARGET,
            "cloneList": {"namespace": "base", "kinds": ["v1/Secret"]},
        },
        "foreach": {"foreach": [{"list": "['x']", **secret, "clone": clone}]},
    }
    body = _generate(generate={**kinds[source], "synchronize": synchronize})
    (result,) = _run(body, _secret("a"), there)
    assert (result.generated, result.unmade) == ((), "")
    if not synchronize:
        assert result.updated == ()
        return
    (updated,) = result.updated
    assert updated["data"] == {"k": "dg=="}
    assert updated["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "kyverno"
    assert {key: updated["metadata"].get(key) for key in owned} == owned
    (again,) = _run(body, _secret("a"), updated)
    assert again.updated == ()


@pytest.mark.parametrize("synchronize", [True, False])
def test_a_target_that_is_there_is_not_made_again(synchronize: bool) -> None:
    generate = {**CLONE, "synchronize": synchronize}
    (result,) = _run(_generate(generate=generate), _secret("a"), _secret("copy", "shop"))
    assert result.generated == ()


@from_table("selector", "names")
def test_lists_of_clones(selector: Body | None, names: list[str]) -> None:
    clones: Body = {"namespace": "base", "kinds": ["v1/ConfigMap", "v1/Secret"]}
    if selector is not None:
        clones["selector"] = selector
    body = _generate(generate={"namespace": TARGET, "cloneList": clones})
    (result,) = _run(body, _secret("b"), _secret("a", team="x"), _secret("c", "other"))
    assert _names(result) == names


def test_objects_are_not_cloned_into_their_own_namespace() -> None:
    clones = {"namespace": "base", "kinds": ["v1/Secret"]}
    body = _generate(generate={"namespace": "base", "cloneList": clones})
    (result,) = _run(body, _secret("a"))
    assert (result.status, result.generated) == (Status.PASS, ())


def test_a_list_needs_versions() -> None:
    clones = {"namespace": "base", "kinds": ["Secret"]}
    (result,) = _run(_generate(generate={"namespace": TARGET, "cloneList": clones}))
    assert result.status is Status.ERROR
    assert "names no version" in result.message


def test_a_deletion_is_an_error() -> None:
    (result,) = _run(_generate(generate=CLONE), operation=Operation.DELETE)
    assert result.status is Status.ERROR


def _labelled(stage: str) -> Resource:
    metadata = {"name": "shop", "labels": {"stage": stage}}
    return Resource({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def test_an_update_out_of_the_match_fails() -> None:
    match = {
        "any": [
            {"resources": {"kinds": ["Namespace"], "selector": {"matchLabels": {"stage": "dev"}}}}
        ]
    }
    body = _generate(match=match, generate=CLONE)
    update = {"operation": Operation.UPDATE, "old": _labelled("dev")}
    (result,) = _run(body, trigger=_labelled("prod"), **update)
    assert (result.status, result.message) == (Status.FAIL, "")
    assert _run(body, trigger=_labelled("prod")) == []


def test_an_update_out_of_the_preconditions_fails() -> None:
    stage = "{{ request.object.metadata.labels.stage }}"
    conditions = {"all": [{"key": stage, "operator": "Equals", "value": "dev"}]}
    body = _generate(preconditions=conditions, generate=CLONE)
    update = {"operation": Operation.UPDATE, "old": _labelled("dev")}
    (failed,) = _run(body, trigger=_labelled("prod"), **update)
    (skipped,) = _run(body, trigger=_labelled("prod"))
    assert (failed.status, skipped.status) == (Status.FAIL, Status.SKIP)


@pytest.mark.parametrize(
    ("namespace", "offline", "online"), [("", False, True), (TARGET, True, False)]
)
def test_kinds_outside_namespaces(namespace: str, offline: bool, online: bool) -> None:
    generate = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "name": "r",
        "namespace": namespace,
        "data": {"rules": []},
    }
    policy = policy_resource(_generate(generate=generate))
    assert _is_taken(policy) is offline
    assert _is_taken(policy, scope_of(UNKNOWN)) is online


def _is_taken(policy: Resource, *cluster_wide: Any) -> bool:
    try:
        compile_policy(policy, (), *cluster_wide)
    except CompileError as error:
        return "namespace must" not in error.message
    return True


def test_what_came_in_stays_as_it_was() -> None:
    source = _secret("a", team="x")
    before = repr(source)
    _run(_generate(generate=CLONE), source)
    assert repr(source) == before


@pytest.mark.parametrize("skips", [None, True, False])
@pytest.mark.parametrize("name", [BACKGROUND_CONTROLLER, "system:serviceaccount:kyverno:other"])
def test_what_the_background_controller_does_itself(skips: bool | None, name: str) -> None:
    """By default it sets no rule off again; rules that validate do not ask who it is."""
    data = {**CONFIG, "data": {"data": {"k": "v"}}}
    body = _generate(generate=data)
    if skips is not None:
        body["skipBackgroundRequests"] = skips
    results = _run(body, user=User(name))
    assert bool(results) is not (name == BACKGROUND_CONTROLLER and skips is not False)
    validating = rule("v", ("Namespace",))
    assert _run(validating, user=User(name)) != []

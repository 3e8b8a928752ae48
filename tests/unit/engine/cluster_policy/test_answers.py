"""Whole answers of policies, as Kyverno 1.19.1 gave them: rule, status and message."""

from typing import Any, NamedTuple

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.exceptions import read_exception
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation, Request
from chartkit.errors import CompileError
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.unit.engine.policies import PLACE, obj, policy_resource, rule

_LOST = "JMESPath query failed: Unknown key"


def _exception(**match: Any) -> Body:
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "default"},
        "spec": {
            "exceptions": [{"policyName": "p", "ruleNames": ["*"]}],
            "match": {"any": [{"resources": {"kinds": ["*"], **match}}]},
        },
    }


def _generate(**parts: Any) -> Body:
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "made", "namespace": "default"}
    return {"generate": {**target, **parts}, "validate": None}


def _selecting(**resources: Any) -> Body:
    return {"match": {"any": [{"resources": {"kinds": ["Pod"], **resources}}]}}


def _unresolved(path: str) -> str:
    return (
        f"variable substitution failed: failed to resolve request.oldObject.spec.x at path {path}: "
        f'{_LOST} "spec" in path'
    )


_NONE: Body = {"any": [], "all": []}
_X = "{{ request.object.spec.x }}"
_NO_LIST = (
    "validation failure: failed to deserialize anyPattern, expected type array: "
    "json: cannot unmarshal string into Go value of type []interface {}"
)
_PASSED = ("r", "pass", "validation rule 'r' passed.")

_GENERATES = rule(kinds=("Namespace",), **_generate(data={"data": {"a": "b"}}))
_DENIES = {"message": "m", "deny": {"conditions": {"any": []}}}
_DEPLOYMENT = obj("Deployment", "apps/v1")
_LOOP = {"list": "['a']", "deny": {"conditions": _NONE}}


class _Answer(NamedTuple):
    """A rule, and its results for an object."""

    rule: Body
    expected: list[tuple[str, str, str]]
    resource: Resource = obj()
    operation: str = "CREATE"
    exceptions: tuple[Body, ...] = ()


ANSWERS = {
    "what a pattern names is looked up before a deletion passes": _Answer(
        rule(validate={"pattern": {"metadata": {"name": _X}}}),
        [("r", "error", _unresolved("/metadata/name"))],
        operation="DELETE",
    ),
    "also what anyPattern names": _Answer(
        rule(validate={"anyPattern": [{"metadata": {"name": _X}}]}),
        [("r", "error", _unresolved("/0/metadata/name"))],
        operation="DELETE",
    ),
    "an element is compared with patterns in a list alone": _Answer(
        rule(validate={"foreach": [{"list": "['x']", "anyPattern": "{{ element }}"}]}),
        [("r", "error", _NO_LIST)],
    ),
    "a standard without a level is none": _Answer(
        rule(validate={"podSecurity": {"level": None}}), []
    ),
    "but is restricted in the rule for pod controllers": _Answer(
        rule(validate={"podSecurity": {}}),
        [("autogen-r", "pass", "Validation rule 'autogen-r' passed.")],
        _DEPLOYMENT,
    ),
    "no expressions pass": _Answer(
        rule(validate={"cel": {}}), [("r", "pass", "Validation rule 'r' passed.")]
    ),
    "a patch is no text": _Answer(
        rule(mutate={"patchStrategicMerge": ""}, validate=None),
        [
            (
                "r",
                "error",
                "failed to patch resource: failed to preProcess rule: wrong node kind: expected "
                'MappingNode but got ScalarNode: node contents:\n""\n',
            )
        ],
    ),
    "a deletion is not compared": _Answer(rule(), [], operation="DELETE"),
    "an empty list of conditions does not hold": _Answer(rule(validate=_DENIES), [_PASSED]),
    "but is no list in the rule for pod controllers": _Answer(
        rule(validate=_DENIES), [("autogen-r", "fail", "m")], _DEPLOYMENT
    ),
    "nor in its loops": _Answer(
        rule(validate={"message": "m", "foreach": [{"list": "['a']", "foreach": [_LOOP]}]}),
        [("autogen-r", "fail", "validation failure: validation failure: m")],
        _DEPLOYMENT,
    ),
    "a label without a value is an empty text": _Answer(
        rule(**_selecting(selector={"matchLabels": {"team": "a", "app": ""}})),
        [_PASSED],
        obj(labels={"app": None, "team": "a"}),
    ),
    "an annotation without a value leaves the others": _Answer(
        rule(**_selecting(annotations={"team": "a*"})),
        [_PASSED],
        obj(annotations={"app": None, "team": "ab"}),
    ),
    "a number among labels leaves none": _Answer(
        rule(**_selecting(selector={"matchLabels": {"team": "a"}})),
        [],
        obj(labels={"app": 5, "team": "a"}),
    ),
    "an exception of a generate rule counts before its kinds": _Answer(
        _GENERATES,
        [("r", "skip", "rule is skipped due to policy exception default/e")],
        exceptions=(_exception(),),
    ),
    "one of other objects does not": _Answer(
        _GENERATES, [], exceptions=(_exception(names=["other"]),)
    ),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_answers(answer: _Answer) -> None:
    found = [read_exception(Resource(one, PLACE)) for one in answer.exceptions]
    policy = compile_policy(policy_resource(_present(answer.rule)), found)
    request = Request(answer.resource, operation=Operation(answer.operation))
    results = evaluate([policy], request)
    assert [(one.rule, one.status.value, one.message) for one in results] == answer.expected


def _present(body: Body) -> Body:
    return {key: value for key, value in body.items() if value is not None}


def test_a_generated_label_without_a_value_is_an_empty_text() -> None:
    data = {"metadata": {"labels": {"app": "{{ request.object.spec.items[].x }}"}}}
    policy = compile_policy(policy_resource(_present(rule(**_generate(data=data)))))
    (result,) = evaluate([policy], Request(obj()))
    (made,) = result.generated
    assert made["metadata"]["labels"]["app"] == ""


_ONLY_METADATA = (
    "path: spec.rules[0].match.any[0].kinds: policy can only deal with the metadata field of the "
    "resource if the rule does not match any kind"
)


@pytest.mark.parametrize(
    ("patch", "refusal"),
    [
        ('[{"op": "add", "path": "/spec/x", "value": "y"}]', _ONLY_METADATA),
        ('[{"op": "add", "path": "/metadata/labels/x", "value": "y"}]', None),
        ("- op: add\n  path: /spec/x\n  value: y", None),
    ],
)
def test_a_json_patch_of_any_kind_is_for_metadata_alone(patch: str, refusal: str | None) -> None:
    body = _present(rule(kinds=("*",), mutate={"patchesJson6902": patch}, validate=None))
    found = None
    try:
        compile_policy(policy_resource(body, background=False))
    except CompileError as error:
        found = error.message
    assert found == refusal


def _namespaced(entry: Body, *, in_loop: bool) -> Resource:
    entries = [{"name": "x", **entry}]
    deny = {"conditions": {"any": [{"key": "{{ x }}", "operator": "Equals", "value": "a"}]}}
    loop = {"list": "['a']", "context": entries, "deny": deny}
    body = rule(validate={"foreach": [loop]} if in_loop else {"deny": deny})
    read = policy_resource(body if in_loop else {**body, "context": entries})
    read.body.update(kind="Policy", metadata={"name": "p", "namespace": "default"})
    return read


_NO_GLOBALS = "globalReference is not allowed in namespaced policies"
_URL = "/api/v1/namespaces/{}/pods"


@from_table("path", "said")
def test_calls_of_a_policy_stay_in_its_namespace(path: str, said: str) -> None:
    policy = compile_policy(_namespaced({"apiCall": {"urlPath": path}}, in_loop=False))
    (result,) = evaluate([policy], Request(obj()))
    assert said in result.message


def test_a_policy_reads_no_global_entries() -> None:
    entry = {"globalReference": {"name": "all"}}
    with pytest.raises(CompileError, match=_NO_GLOBALS):
        compile_policy(_namespaced(entry, in_loop=False))
    (result,) = evaluate([compile_policy(_namespaced(entry, in_loop=True))], Request(obj()))
    assert result.message.endswith(f"context entry x: {_NO_GLOBALS}")


_QUOTED = (
    '{"name":"r","context":[{"name":"x","variable":{"value":"v","jmesPath":"@","default":1}},'
    '{"name":"c","apiCall":{"urlPath":"/api/v1/pods","method":"GET"}}],'
    '"match":{"any":[{"resources":{"kinds":["Pod"]}}],"resources":{}},'
    '"exclude":{"any":[{"resources":{"kinds":["Pod"]}}],"resources":{}},'
    '"validate":{"allowExistingViolations":true,"message":"m","foreach":[{"list":"x",'
    '"preconditions":{"any":[{"key":"{{ element }}","operator":"Equals","value":"a"}]},'
    '"deny":{"conditions":{"all":[{"key":"{{ element }}","operator":"Equals","value":"a"}]}}}]},'
    '"skipBackgroundRequests":true}'
)


def test_a_refused_rule_is_quoted_with_fields_in_the_order_of_its_types() -> None:
    condition = {"value": "a", "operator": "Equals", "key": "{{ element }}"}
    loop = {
        "deny": {"conditions": {"all": [condition]}},
        "preconditions": {"any": [condition]},
        "list": "x",
    }
    body = rule(
        validate={"message": "m", "foreach": [loop]},
        exclude={"any": [{"resources": {"kinds": ["Pod"]}}]},
        context=[
            {"variable": {"default": 1, "jmesPath": "@", "value": "v"}, "name": "x"},
            {"apiCall": {"urlPath": "/api/v1/pods"}, "name": "c"},
        ],
    )
    with pytest.raises(CompileError) as caught:
        compile_policy(policy_resource(body))
    text = f"spec.rules[0]: Invalid value: {_QUOTED}: Rule is matching an empty set"
    assert caught.value.message == text


def test_an_empty_any_pattern_cannot_be_extended_to_pod_controllers() -> None:
    with pytest.raises(CompileError) as caught:
        compile_policy(policy_resource(rule(validate={"anyPattern": []})))
    text = "path: spec.rules[1].validate..: one of pattern, anyPattern, deny, foreach, cel must be"
    assert caught.value.message == f"{text} specified"
    compile_policy(policy_resource(rule(kinds=("Service",), validate={"anyPattern": []})))

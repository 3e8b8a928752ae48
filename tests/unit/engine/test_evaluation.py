from typing import Any

import pytest

from chartkit.engine.cli_files.admissions import UserValues
from chartkit.engine.cli_files.world import UserMocks
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.exceptions import read_exception
from chartkit.engine.cluster_policy.run import context_of
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.world import World
from chartkit.engine.request import Operation, Request, User
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, RuleResult, Status
from tests.unit.engine.policies import obj, policy_resource, request, rule

_LABEL: Body = {"message": "m", "pattern": {"metadata": {"labels": {"app": "?*"}}}}


def _results(
    *rules: Body, given: Request | None = None, annotations: Body | None = None, **spec: Any
) -> list[RuleResult]:
    resource = policy_resource(*rules, **spec)
    metadata = {"name": "p", "annotations": annotations or {}}
    compiled = compile_policy(Resource({**resource.body, "metadata": metadata}))
    return evaluate([compiled], given or request())


def _shown(results: list[RuleResult]) -> list[tuple[str, str, str]]:
    return [(one.rule, one.status.value, one.message) for one in results]


def test_a_rule_passes() -> None:
    assert _shown(_results()) == [("r", "pass", "validation rule 'r' passed.")]


def test_a_rule_fails_with_kyvernos_text() -> None:
    message = "validation error: m. rule r failed at path /metadata/labels/"
    assert _shown(_results(rule(validate=_LABEL))) == [("r", "fail", message)]


def test_what_does_not_match_has_no_result() -> None:
    assert _results(given=request(obj("Service"))) == []


def test_a_failure_that_is_not_scored_is_a_warning() -> None:
    annotations = {"policies.kyverno.io/scored": "false"}
    results = _results(rule(validate=_LABEL), annotations=annotations)
    assert [one.status for one in results] == [Status.WARN]


def test_a_controller_is_judged_by_the_rule_made_for_it() -> None:
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}}},
    }
    results = _results(rule(validate=_LABEL), given=request(Resource(body)))
    message = (
        "validation error: m. rule autogen-r failed at path /spec/template/metadata/labels/app/"
    )
    assert _shown(results) == [("autogen-r", "fail", message)]


def test_apply_one_stops_after_the_first_rule_that_applies() -> None:
    rules = rule("a"), rule("b")
    assert [one.rule for one in _results(*rules)] == ["a", "b"]
    assert [one.rule for one in _results(*rules, applyRules="One")] == ["a"]


def test_apply_one_goes_on_after_a_skip() -> None:
    unmet = {"all": [{"key": "a", "operator": "Equals", "value": "b"}]}
    results = _results(rule("a", preconditions=unmet), rule("b"), applyRules="One")
    assert _shown(results) == [
        ("a", "skip", "preconditions not met"),
        ("b", "pass", "validation rule 'b' passed."),
    ]


def test_an_unmet_precondition_says_so() -> None:
    condition = {"key": "a", "operator": "Equals", "value": "b", "message": "because"}
    results = _results(rule(preconditions={"all": [condition]}))
    assert _shown(results) == [("r", "skip", "preconditions not met; because")]


def test_a_precondition_that_cannot_be_decided_is_an_error() -> None:
    condition = {"key": "{{ request.object.missing }}", "operator": "Equals", "value": "b"}
    (result,) = _results(rule(preconditions={"all": [condition]}))
    assert result.status is Status.ERROR
    assert result.message.startswith("failed to evaluate preconditions: ")
    assert 'Unknown key "missing" in path' in result.message


def test_context_entries_stay_with_their_rule() -> None:
    context = [{"name": "a", "variable": {"value": "x"}}]
    conditions = {"all": [{"key": "{{ a }}", "operator": "Equals", "value": "x"}]}
    deny = {"message": "{{ a }}", "deny": {"conditions": conditions}}
    results = _results(rule("with", context=context, validate=deny), rule("without"))
    assert _shown(results)[0] == ("with", "fail", "x")
    assert _shown(results)[1][1] == "pass"


def test_rules_in_cel_are_judged() -> None:
    expressions = [{"expression": "object.metadata.name != 'a'", "message": "no"}]
    (result,) = _results(rule(validate={"cel": {"expressions": expressions}}))
    assert (result.status, result.message) == (Status.FAIL, "no")


@pytest.mark.parametrize(
    ("expression", "statuses"),
    [
        ("false", []),
        ("object.metadata.name == 'a'", [Status.PASS]),
        ("object.nope", [Status.ERROR]),
        ("object.nope == 1 && false", []),
    ],
)
def test_match_conditions_decide_what_is_sent(expression: str, statuses: list[Status]) -> None:
    conditions = [{"name": "a", "expression": expression}]
    results = _results(rule("a"), webhookConfiguration={"matchConditions": conditions})
    assert [result.status for result in results] == statuses


def test_mutation_comes_before_validation() -> None:
    mutate = rule("m", mutate={"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}})
    del mutate["validate"]
    resources = policy_resource(rule("v")), policy_resource(mutate)
    results = evaluate([compile_policy(one) for one in resources], request())
    assert [one.rule for one in results] == ["m", "v"]


def test_deleted_objects_have_no_pattern_result() -> None:
    assert _results(given=request(operation=Operation.DELETE)) == []


def test_deny_sees_the_old_object_of_a_deletion() -> None:
    key = "{{ request.oldObject.metadata.name }}"
    conditions = {"all": [{"key": key, "operator": "Equals", "value": "a"}]}
    body = rule(validate={"message": "no", "deny": {"conditions": conditions}})
    results = _results(body, given=request(operation=Operation.DELETE))
    assert _shown(results) == [("r", "fail", "no")]


def test_exceptions_skip_the_rule() -> None:
    exception = Resource(
        {
            "apiVersion": "kyverno.io/v2",
            "kind": "PolicyException",
            "metadata": {"name": "e", "namespace": "ns"},
            "spec": {
                "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                "exceptions": [{"policyName": "p", "ruleNames": ["r"]}],
            },
        }
    )
    compiled = compile_policy(policy_resource(), [read_exception(exception)])
    results = evaluate([compiled], request())
    message = "rule is skipped due to policy exceptionsns/e"
    assert _shown(results) == [("r", "skip", message)]


def test_values_of_the_user_change_what_a_policy_sees() -> None:
    body = rule(validate=_LABEL)
    compiled = compile_policy(policy_resource(body))
    variables = {"p": {"request.object.metadata.labels.app": "web"}}
    results = evaluate([compiled], request(variables=variables))
    assert [one.status for one in results] == [Status.PASS]
    assert evaluate([compiled], request())[0].status is Status.FAIL


def test_values_of_a_rule() -> None:
    context = [{"name": "a", "variable": {"value": "x"}}]
    compiled = compile_policy(policy_resource(rule(context=context)))
    values = UserValues(by_rule={("p", "r"): {"b.c": "d"}})
    assert evaluate([compiled], request(), World(mocks=UserMocks(values)))[0].status is Status.PASS


def test_properties_of_a_rule() -> None:
    properties = {"team": "{{ request.object.metadata.name }}", "passMessage": "fine"}
    (result,) = _results(rule(reportProperties=properties))
    assert result.message == "fine"
    assert result.properties == {"team": "a", "passMessage": "fine"}


def test_properties_that_cannot_be_substituted_stay_as_written() -> None:
    properties = {"team": "{{ request.object.missing }}"}
    (result,) = _results(rule(reportProperties=properties))
    assert result.properties == properties


def test_what_expressions_see_of_a_request() -> None:
    user = User("alice", "1", ("dev",), {"k": ["v"]}, ("a:b",), ("c",))
    seen = context_of(request(user=user)).data["request"]
    assert seen["operation"] == "CREATE"
    assert seen["namespace"] == "default"
    assert seen["userInfo"] == {
        "username": "alice",
        "uid": "1",
        "groups": ["dev"],
        "extra": {"k": ["v"]},
    }
    assert (seen["roles"], seen["clusterRoles"]) == (["a:b"], ["c"])


def test_the_object_is_never_changed() -> None:
    given = obj(labels={"a": "b"})
    before = str(given.body)
    _results(rule(validate=_LABEL), given=request(given))
    assert str(given.body) == before


def test_a_policy_that_kyverno_refuses_does_not_compile() -> None:
    with pytest.raises(CompileError):
        compile_policy(policy_resource(rule(validate={})))

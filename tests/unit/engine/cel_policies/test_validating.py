"""ValidatingPolicy: which validation decides, why, and what is said of it."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from chartkit.documents.reader import read_text, resources
from chartkit.engine.cel import ENVIRONMENTS, compile_expression
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cel_policies.expressions import (
    ExpressionCompiler,
    names_its_own,
    sees_the_request_alone,
)
from chartkit.engine.cel_policies.policy import NamedExpression, read_cel_policy
from chartkit.engine.cleanup.deleting import DeletingPolicy
from chartkit.engine.cli_files.user_files import read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserMocks
from chartkit.engine.policies import compile_any, evaluate, is_exception, is_policy, read_exceptions
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Operation, Request, Run
from chartkit.engine.why import Decision, RuleDecision
from chartkit.errors import CompileError
from chartkit.model import Body, Json, Location, Resource, Status, pointer_steps
from tests.data import from_table
from tests.unit.engine.cel_policies.policies import (
    conditions,
    deployment,
    pod,
    policy,
    results,
    said,
    validating,
    variables,
)


@from_table("validation", "status", "message")
def test_validating_one_validation(validation: Body, status: str, message: str) -> None:
    assert said(validating(validations=[validation])) == (status, message)


def test_the_first_that_does_not_hold_decides() -> None:
    (result,) = results(validating("true", "false", "object.nope == 1"))
    assert result.properties == {"cel.validationIndex": "1"}


@from_table("given", "status")
def test_a_condition_that_fails(given: dict[str, Any], status: str) -> None:
    conditional = validating("true", matchConditions=conditions("object.nope == 1"), **given)
    assert said(conditional)[0] == status


def test_a_false_condition_outweighs_one_that_fails() -> None:
    conditional = validating("false", matchConditions=conditions("object.nope == 1", "false"))
    assert said(conditional) == ("skip", "skip")


def test_variables_are_computed_when_asked_for() -> None:
    named = variables(
        broken="object.nope", name="object.metadata.name", both="variables.name + '!'"
    )
    assert said(validating("variables.both == 'web!'", variables=named))[0] == "pass"
    assert said(validating("variables.broken == 1", variables=named)) == (
        "error",
        "error: no such key: nope",
    )


def test_audit_annotations_become_properties() -> None:
    made = [
        {"key": "name", "valueExpression": "object.metadata.name + ''"},
        {"key": "empty", "valueExpression": "''"},
    ]
    (passed,) = results(validating("true", auditAnnotations=made))
    (failed,) = results(validating("false", auditAnnotations=made))
    assert passed.properties == {"name": "web"}
    assert failed.properties == {"name": "web", "cel.validationIndex": "0"}


@from_table("expression", "status", "message")
def test_an_audit_annotation_that_fails(expression: str, status: str, message: str) -> None:
    made = [{"key": "k", "valueExpression": "object.nope + ''"}]
    assert said(validating(expression, auditAnnotations=made)) == (status, message)


def test_what_is_deleted_is_the_old_object() -> None:
    gone = validating("object.size() == 0 && oldObject.metadata.name == 'web'")
    assert said(gone, operation=Operation.DELETE)[0] == "pass"


def test_pod_controllers_too() -> None:
    found = policy(validations=[{"expression": "object.spec.containers.size() == 1"}])
    assert said(found, deployment())[0] == "pass"


def test_a_failure_that_is_not_scored_warns() -> None:
    unscored = validating(
        "false", metadata={"annotations": {"policies.kyverno.io/scored": "false"}}
    )
    assert said(unscored)[0] == "warn"


@from_table("expression", "status")
def test_payloads_that_are_no_requests(expression: str, status: str) -> None:
    judged = validating(expression, evaluation={"mode": "JSON"}, matchConstraints=None)
    assert said(judged, Resource({"a": 1}), is_json=True)[0] == status


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_objects_are_payloads_whatever_is_done_with_them(operation: str) -> None:
    text = "object.spec.a == 3 && oldObject == null && request == null && namespaceObject == null"
    judged = validating(text, evaluation={"mode": "JSON"}, matchConstraints=None)
    given = {"operation": Operation(operation), "namespace_labels": {"a": "b"}}
    assert said(judged, pod(spec={"a": 3}), **given) == ("pass", "success")


def test_payloads_have_no_audit_annotations() -> None:
    made = [{"key": "k", "valueExpression": "there_is_no_such_function()"}]
    judged = validating(
        "true", evaluation={"mode": "JSON"}, matchConstraints=None, auditAnnotations=made
    )
    (result,) = results(judged, Resource({"a": 1}), is_json=True)
    assert result.properties == {}


@from_table("given")
def test_a_namespace_has_a_specification_and_a_status(given: Body) -> None:
    has = "namespaceObject.metadata.labels.a == 'b' && has(namespaceObject.spec)"
    has += " && has(namespaceObject.status) && !has(namespaceObject.status.phase)"
    assert said(validating(has), **given) == ("pass", "success")


def test_a_policy_of_a_namespace_speaks_of_what_is_in_it() -> None:
    own = policy(
        "NamespacedValidatingPolicy",
        metadata={"namespace": "team"},
        validations=[{"expression": "true"}],
    )
    assert not results(own)
    (result,) = results(own, pod(namespace="team"))
    assert result.policy == "team/p"


_DATA: Final = yaml.safe_load(Path(__file__).with_name("why.yaml").read_text())
_BASE: Final = _DATA["base"]
_CASES: Final = [pytest.param(case, id=case.get("id", "pass")) for case in _DATA["cases"]]
Case = dict[str, Any]


def _policy(case: Case, others: Mapping[str, str]) -> str:
    text: str = _BASE["policy"]
    for old, new in [*(case.get("policy") or {}).items(), *others.items()]:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def _object(case: Case, changes: Mapping[str, Json]) -> Resource:
    body = deepcopy(case.get("object", _BASE["object"]))
    for pointer, value in [*(case.get("given") or {}).items(), *changes.items()]:
        *steps, last = pointer_steps(pointer)
        here = body
        for step in steps:
            here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
        here[last] = value
        if value is None:
            del here[last]
    return Resource(body)


def _exceptions(case: Case) -> list[Resource]:
    bodies: list[Body] = [
        {
            "apiVersion": "policies.kyverno.io/v1",
            "kind": "PolicyException",
            "metadata": {"name": f"ex{at}", "namespace": "shop"},
            "spec": {
                "policyRefs": [{"name": "demo", "kind": "ValidatingPolicy"}],
                "matchConditions": one["conditions"],
            },
        }
        for at, one in enumerate(case.get("exceptions") or ())
    ]
    if "binding" in case:
        kind = "ValidatingAdmissionPolicyBinding"
        spec = {"policyName": "demo", "validationActions": ["Deny"], **case["binding"]}
        version, metadata = "admissionregistration.k8s.io/v1", {"name": "bind"}
        bodies.append({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    return [Resource(body) for body in bodies]


def decided(
    case: Case, changes: Mapping[str, Json] = {}, others: Mapping[str, str] = {}
) -> tuple[RuleDecision, str]:
    """Return the one decision of a case, and the text of its policy."""
    text = _policy(case, others)
    (document,) = read_text(text, "policy.yaml")
    found = _exceptions(case)
    attachments = read_exceptions(found).with_bindings(found)
    policy = compile_any(Resource(document.body, document.location), attachments)
    request = Request(_object(case, changes), namespace_labels=case.get("namespace") or {})
    if isinstance(policy, DeletingPolicy):
        result, decision = policy.why(request)
        assert result == policy.evaluate(request)
        return decision, text
    (phase,) = policy.phases  # type: ignore[union-attr]
    results: list[Any] = []
    plain: list[Any] = []
    (decision,) = policy.why_phase(Run(request, OFFLINE), phase, results)  # type: ignore[union-attr]
    policy.run_phase(Run(request, OFFLINE), phase, plain)  # type: ignore[union-attr]
    assert results == plain
    return decision, text


def _sentence(decision: Decision) -> str:
    return f"{decision.asked} {decision.text}"


def _at(decision: Decision, text: str) -> str:
    """Return the text of the policy at a decision's location."""
    location = decision.location
    assert location is not None
    return text.splitlines()[location.line - 1][location.column - 1 :]


@pytest.mark.parametrize("case", _CASES)
def test_what_decides(case: Case) -> None:
    found, text = decided(case)
    decision = found.decision
    assert _sentence(decision).startswith(case["why"])
    assert (found.status, found.rule) == (case.get("status", "fail"), case.get("form", ""))
    assert decision.pointer == case.get("field", decision.pointer)
    assert _at(decision, text).startswith(case.get("at", ""))
    for part in case.get("parts") or ():
        wanted, _, at = part.partition(" @ ")
        parts = [one for one in decision.walk() if _sentence(one).startswith(wanted)]
        assert parts, "\n".join(map(_sentence, decision.walk()))
        assert not at or _at(parts[0], text).startswith(at)


@pytest.mark.parametrize("case", [case for case in _CASES if "then" in case.values[0]])  # type: ignore[operator]
def test_another_value_decides_otherwise(case: Case) -> None:
    found, _text = decided(case, case.get("change") or {}, case.get("other") or {})
    assert _sentence(found.decision).startswith(case["then"])


@pytest.mark.parametrize("field", ["object.data.password", "object.metadata.annotations.applied"])
def test_secrets_are_not_shown(field: str) -> None:
    policy = {"resources: [pods]": "resources: [secrets]"}
    policy["object.spec.hostNetwork == false"] = f"{field}.size() > 9"
    metadata = {"name": "web", "annotations": {"applied": "aHVudGVy"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    case = {"policy": policy, "object": {**secret, "data": {"password": "aHVudGVy"}}}
    rule, _text = decided(case)
    assert f"{field} is hidden" in [part.text for part in rule.decision.walk()]
    assert "aHVudGVy" not in str(rule.decision)


def test_locations_are_left_out_where_there_is_no_file() -> None:
    case = _DATA["cases"][1]
    (document,) = read_text(_policy(case, {}), "policy.yaml")
    policy = compile_any(Resource(document.body, replace(document.location, places=None)))
    results: list[Any] = []
    run = Run(Request(_object(case, {})), OFFLINE)
    (phase,) = policy.phases  # type: ignore[union-attr]
    (found,) = policy.why_phase(run, phase, results)  # type: ignore[union-attr]
    assert found.decision.pointer == "/spec/containers/1/resources"


PAGE: Final = Path(__file__).parents[4] / "docs" / "reference" / "cel-policies.md"
EXAMPLES: Final = re.findall(
    r"```yaml\n(.*?)```\n\n```results\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
)
VALUES: Final = read_values(None, Location("values.yaml"), read_settings([]))


def shown(text: str) -> Iterator[str]:
    """What the policies among some documents say of the objects among them."""
    documents = list(resources(read_text(text)))
    around = read_exceptions(filter(is_exception, documents)).with_bindings(documents)
    policies = [compile_any(one, around) for one in documents if is_policy(one)]
    world = World(UserApi(Cluster([one.body for one in documents])), mocks=UserMocks(VALUES))
    for one in documents:
        for result in evaluate(policies, Request(one), world):  # type: ignore[arg-type]
            yield f"{one.kind}/{one.name}: {result.status}, {result.message}"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_cel_policies_page_example(text: str, expected: str) -> None:
    assert list(shown(text)) == expected.splitlines()


@from_table("expression", "alone")
def test_what_depends_on_the_request_alone(expression: str, alone: bool) -> None:
    assert sees_the_request_alone(compile_expression(expression, ENVIRONMENTS["vpol"])) is alone


@pytest.mark.parametrize("expression", ["variables.a", "params.b", "[1].map(variables, 1)"])
def test_what_a_policy_alone_has(expression: str) -> None:
    assert names_its_own(expression)
    assert not names_its_own("object.a")


def test_an_expression_is_compiled_once_for_policies_with_the_same_variables() -> None:
    def compiled(**given: str) -> tuple[object, object]:
        compiler = ExpressionCompiler(read_cel_policy(policy()), ENVIRONMENTS["vpol"])
        compiler.variables([NamedExpression(name, text) for name, text in given.items()])
        return compiler.one("spec", "variables.a == 1"), compiler.one("spec", "object.kind == ''")

    one, plain = compiled(a="1")
    assert compiled(a="1") == (one, plain)
    assert compiled(a="2") == (one, plain)
    for other, same in (compiled(a="dyn(1)"), compiled(a="1", b="2")):
        assert other is not one
        assert same is plain


def test_a_variable_is_not_there_for_those_before_it() -> None:
    texts = variables(a="1", b="variables.a + 1")
    assert compile_cel_policy(policy(variables=texts)).evaluators
    with pytest.raises(CompileError, match="undefined field 'a'"):
        compile_cel_policy(policy(variables=[texts[1], texts[0]]))


def test_match_conditions_of_an_api_server_see_no_namespace_whoever_asked_before() -> None:
    text = "namespaceObject == null"
    common: Body = {"variables": variables(bare=text)}
    asked = policy(
        "ValidatingAdmissionPolicy", **common, validations=[{"expression": "!variables.bare"}]
    )
    matching = policy(
        "ValidatingAdmissionPolicy",
        **common,
        matchConditions=[{"name": "c", "expression": "variables.bare"}],
        validations=[{"expression": "!variables.bare"}],
    )
    found = [compile_cel_policy(one) for one in (asked, matching, asked)]
    request = Request(pod(), namespace={"metadata": {"name": "default"}})
    assert [one.status for one in evaluate(found, request)] == [Status.PASS] * 3

"""GeneratingPolicy: what its expressions and templates make."""

from typing import Any

import pytest

from chartkit.engine.request import Operation
from chartkit.errors import CompileError
from chartkit.model import Body, Resource
from tests.unit.engine.cel_policies.policies import (
    about,
    conditions,
    exception,
    pod,
    policy,
    results,
    said,
    variables,
)

DONE = "policy evaluated successfully"
CONFIG = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: (( object.metadata.name )), namespace: %s}"
)


def generating(*steps: str | Body, kind: str = "GeneratingPolicy", **spec: Any) -> Resource:
    """A GeneratingPolicy; a text is an expression."""
    made = [{"expression": step} if isinstance(step, str) else step for step in steps]
    return policy(kind, generate=made, **spec)


def template(text: str) -> Body:
    return {"template": {"interpolate": "cel", "value": text}}


def test_generating_templates() -> None:
    (result,) = results(generating(template(CONFIG % "x" + "\n---\n" + CONFIG % "y")))
    assert result.message == DONE
    assert [one["metadata"] for one in result.generated] == [
        {"name": "web", "namespace": "x"},
        {"name": "web", "namespace": "y"},
    ]


def test_expressions_see_variables() -> None:
    objects = variables(
        made="[{'kind': dyn('ConfigMap'), 'apiVersion': dyn('v1'), 'metadata': dyn({'name': 'c'})}]"
    )
    (result,) = results(generating("generator.Apply('x', variables.made)", variables=objects))
    assert result.generated[0]["metadata"] == {"name": "c", "namespace": "x"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (generating("false"), ("pass", DONE)),
        (
            generating("object.nope == 1"),
            ("error", "failed to evaluate policy: no such key: nope"),
        ),
        (
            generating("true", matchConditions=conditions("object.nope == 1")),
            ("error", "failed to evaluate policy: no such key: nope"),
        ),
        (
            generating(template("kind: (( object.nope ))")),
            (
                "error",
                "failed to evaluate policy: failed to render generation template: document 1: "
                'field "kind": failed to evaluate placeholder "object.nope": no such key: nope',
            ),
        ),
        (
            generating("true", auditAnnotations=[{"key": "k", "valueExpression": "null"}]),
            (
                "error",
                'failed to evaluate policy: failed to convert auditAnnotation "k" expression: '
                "type conversion error from 'null_type' to 'string'",
            ),
        ),
    ],
)
def test_generating_results(found: Resource, expected: tuple[str, str]) -> None:
    assert said(found) == expected


def test_generating_a_condition_that_does_not_hold() -> None:
    assert results(generating("true", matchConditions=conditions("false"))) == []


def test_generating_exceptions() -> None:
    given = exception(kind="GeneratingPolicy", reportResult="pass")
    message = "rule is passed due to policy exception: default/e"
    assert said(generating("true"), exceptions=[given]) == ("pass", message)


@pytest.mark.parametrize(
    ("constraints", "matches"),
    [
        ({"resourceRules": [about(scope="Namespaced")]}, False),
        ({"resourceRules": [about(scope="Cluster")]}, True),
        ({"resourceRules": [about()], "namespaceSelector": {"matchLabels": {"a": "b"}}}, True),
    ],
)
def test_what_is_deleted_is_in_no_namespace(constraints: Body, matches: bool) -> None:
    found = policy(
        "GeneratingPolicy", generate=[{"expression": "true"}], matchConstraints=constraints
    )
    assert bool(results(found, operation=Operation.DELETE)) is matches


def test_a_policy_of_a_namespace_stays_in_it() -> None:
    own: dict[str, Any] = {"kind": "NamespacedGeneratingPolicy", "metadata": {"namespace": "team"}}
    inside = pod(namespace="team")
    (made,) = results(generating(template(CONFIG % "team"), **own), inside)
    assert made.generated[0]["metadata"]["namespace"] == "team"
    status, message = said(generating(template(CONFIG % "x"), **own), inside)
    assert status == "error"
    assert "cross-namespace generation denied" in message


def test_the_first_problem_ends_it() -> None:
    with pytest.raises(CompileError) as caught:
        results(generating("foo()", "bar()"))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message.startswith('spec.generate[0].expression: Invalid value: "foo()"')

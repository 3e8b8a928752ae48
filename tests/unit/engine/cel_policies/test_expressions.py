"""Expressions that do not compile: each with its field, and what ends the list."""

from typing import Any

import pytest

from chartkit.errors import CompileError
from tests.unit.engine.cel_policies.policies import conditions, said, validating, variables


def problems(*expressions: str, **spec: Any) -> list[tuple[str, str]]:
    """Where and what the problems of a policy are."""
    with pytest.raises(CompileError) as caught:
        said(validating(*expressions, **spec))
    return [
        (one.location.path if one.location else "", one.message.splitlines()[0])
        for one in caught.value.diagnostics
    ]


def test_all_conditions_and_variables_are_told() -> None:
    found = problems("true", matchConditions=conditions("foo()", "1", "true"))
    assert found == [
        (
            "/spec/matchConditions/0/expression",
            'spec.matchConditions[0].expression: Invalid value: "foo()": '
            "ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')",
        ),
        (
            "/spec/matchConditions/1/expression",
            'spec.matchConditions[1].expression: Invalid value: "1": '
            "output is expected to be of type bool",
        ),
    ]
    assert len(problems("true", variables=variables(a="foo()", b="bar()"))) == 2


def test_the_first_validation_ends_it() -> None:
    assert [path for path, _ in problems("foo()", "bar()")] == ["/spec/validations/0/expression"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (
            {"validations": [{"expression": "true", "messageExpression": "1"}]},
            "/spec/validations/0/messageExpression",
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
            "/spec/auditAnnotations/0/valueExpression",
        ),
        ({"variables": variables(b="variables.a", a="1")}, "/spec/variables/0/expression"),
        (
            {"variables": variables(a="1"), "matchConditions": conditions("variables.a == 1")},
            "/spec/matchConditions/0/expression",
        ),
    ],
)
def test_expressions_places(given: dict[str, Any], path: str) -> None:
    assert [place for place, _ in problems("true", **given)] == [path]


@pytest.mark.parametrize("text", ["object.metadata.name", "dyn(true)", "1", "variables.none"])
def test_a_validation_is_a_boolean(text: str) -> None:
    assert problems(text)

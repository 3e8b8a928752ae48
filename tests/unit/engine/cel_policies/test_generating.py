"""GeneratingPolicy: what its expressions and templates make, and the YAML of templates."""

import math
from typing import Any

import pytest

from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel_policies.generation import (
    Template,
    TemplateError,
    placeholders,
    read_documents,
    value_of,
)
from chartkit.engine.request import Operation
from chartkit.errors import CompileError
from chartkit.model import Body, Json, Resource
from tests.data import from_table
from tests.errors import error_of
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
        (generating("object.nope == 1"), ("error", "failed to evaluate policy: no such key: nope")),
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
    error = error_of(CompileError, results, generating("foo()", "bar()"))
    (diagnostic,) = error.diagnostics
    assert diagnostic.message.startswith('spec.generate[0].expression: Invalid value: "foo()"')


SCOPE: dict[str, Any] = {"object": {"metadata": {"name": "web"}, "spec": {"n": [1, 2]}}}


def rendered(text: str, interpolate: bool = True) -> list[Json]:
    """The objects of a template."""
    return list(Template(text, interpolate, ENVIRONMENTS["gpol"]).render(SCOPE, OFFLINE))


@from_table("written", "value")
def test_generation_template_placeholders(written: str, value: Json) -> None:
    assert rendered(f"kind: A\nx: {written}") == [{"kind": "A", "x": value}]


def test_without_interpolation_nothing_is_replaced() -> None:
    assert rendered('a: "(( object ))"', interpolate=False) == [{"a": "(( object ))"}]


def test_a_whole_document_may_be_a_placeholder() -> None:
    assert rendered("(( object ))\n---\n~\n---\na: b") == [SCOPE["object"], {"a": "b"}]


_LOCATED = 'document 1: field "k": '


@from_table("text", "message")
def test_generation_template_failures(text: str, message: str) -> None:
    assert error_of(CelError, rendered, text).message == message


@from_table("text", "message")
def test_what_cannot_be_used(text: str, message: str) -> None:
    assert str(error_of(TemplateError, rendered, text)) == message


def test_expressions_are_compiled_at_once() -> None:
    with pytest.raises(TemplateError, match=r"^line 2: invalid placeholder expression \"foo\(\)\""):
        rendered("a:\n  b: (( foo() ))")


def test_placeholders_are_listed() -> None:
    text = 'a: &x "(( b ))"\nc: [*x, "(( d )) (( e ))"]'
    assert sorted(placeholders({"interpolate": "cel", "value": text})) == ["b", "b", "d", "e"]
    assert placeholders({"value": text}) == []
    assert placeholders({"interpolate": "cel", "value": "a: ["}) == []


def value(text: str) -> Json:
    """The value of a text's one document."""
    (node,) = read_documents(text)
    return value_of(node)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("yes", "yes"),
        ("n", "n"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("'~'", "~"),
        ("!!str 5", "5"),
        ("5", 5),
        ("+5", 5),
        ("-0x10", -16),
        ("010", 8),
        ("0o17", 15),
        ("08", 8.0),
        ("0b101", 5),
        ("1_000", 1000),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 1.8446744073709552e19),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        (".inf", math.inf),
        ("1.2.3", "1.2.3"),
        ("2020-1-2", "2020-01-02T00:00:00Z"),
        ("2020-01-02 3:04:05.50", "2020-01-02T03:04:05.5Z"),
        ("2020-01-02T03:04:05+01:00", "2020-01-02T03:04:05+01:00"),
    ],
)
def test_template_yaml_scalars(written: str, expected: Json) -> None:
    found = value(f"k: {written}")["k"]
    assert found == expected
    assert type(found) is type(expected)


def test_aliases_and_merge_keys() -> None:
    assert value("a: &x {b: 1}\nc: {<<: *x, d: 2}\ne: [*x]") == {
        "a": {"b": 1},
        "c": {"b": 1, "d": 2},
        "e": [{"b": 1}],
    }


@from_table("text", "message")
def test_template_yaml_complaints(text: str, message: str) -> None:
    assert str(error_of(TemplateError, value, text)) == message


def test_aliases_cannot_grow_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(TemplateError, match="excessive aliasing"):
        value("\n".join(lines))


def test_depth_is_bounded() -> None:
    with pytest.raises(TemplateError, match="nested deeper"):
        value("a: " + "[" * 5000 + "]" * 5000)

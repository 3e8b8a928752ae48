"""Templates of GeneratingPolicy: what is written becomes, and what cannot be used."""

from typing import Any

import pytest

from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel_policies.generation import Template, TemplateError, placeholders
from chartkit.model import Json

SCOPE: dict[str, Any] = {"object": {"metadata": {"name": "web"}, "spec": {"n": [1, 2]}}}


def rendered(text: str, interpolate: bool = True) -> list[Json]:
    """The objects of a template."""
    return list(Template(text, interpolate, ENVIRONMENTS["gpol"]).render(SCOPE, OFFLINE))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"(( object.metadata.name ))"', "web"),
        ('"x-(( object.metadata.name ))-(( 1 + 1 ))"', "x-web-2"),
        ("(( object.spec ))", {"n": [1, 2]}),
        ("(( 1u ))", 1),
        ('"(( null ))"', None),
        ('"a (( 1.5 )) (( true )) (( 1e21 )) (( 2.0 ))"', "a 1.5 true 1e+21 2"),
        ("'\\((x)) y'", "((x)) y"),
        ("(( b'ab' ))", "YWI="),
        ("(( duration('1h') ))", "3600s"),
        ("\"x(( timestamp('2020-01-01T00:00:00Z') ))\"", "x2020-01-01T00:00:00Z"),
        ("(( optional.of(1) ))", 1),
        ('"(( \\"))\\" ))"', "))"),
        ("(( [1, 2].map(i, (i + 1)) ))", [2, 3]),
    ],
)
def test_generation_template_placeholders(written: str, value: Json) -> None:
    assert rendered(f"kind: A\nx: {written}") == [{"kind": "A", "x": value}]


def test_without_interpolation_nothing_is_replaced() -> None:
    assert rendered('a: "(( object ))"', interpolate=False) == [{"a": "(( object ))"}]


def test_a_whole_document_may_be_a_placeholder() -> None:
    assert rendered("(( object ))\n---\n~\n---\na: b") == [SCOPE["object"], {"a": "b"}]


_LOCATED = 'document 1: field "k": '


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(( 1 ))", "document 1: expected a mapping describing a resource, got int64"),
        (
            "k: (( object.nope ))",
            _LOCATED + 'failed to evaluate placeholder "object.nope": no such key: nope',
        ),
        (
            "k: [a, (( object.nope ))]",
            _LOCATED + 'item 1: failed to evaluate placeholder "object.nope": no such key: nope',
        ),
        (
            'k: "x(( object.spec ))"',
            _LOCATED + 'placeholder "object.spec" embedded in a string must evaluate to a scalar, '
            "got map[string]interface {}; use a whole-value placeholder for structured results",
        ),
        (
            "k: (( 18446744073709551615u ))",
            _LOCATED + 'failed to convert placeholder "18446744073709551615u" result: '
            "uint value 18446744073709551615 overflows the supported integer range",
        ),
        (
            "k: (( type(1) ))",
            _LOCATED + 'failed to convert placeholder "type(1)" result: '
            "type conversion not supported for 'type'",
        ),
    ],
)
def test_generation_template_failures(text: str, message: str) -> None:
    with pytest.raises(CelError) as caught:
        rendered(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "template must contain at least one YAML document"),
        ("~", "template must contain at least one YAML document"),
        ("- a", "line 1: document must be a mapping describing a resource"),
        ("(( 1 )) x", "line 1: document must be a mapping describing a resource"),
        ("kind: A\n---\n- x", "line 3: document must be a mapping describing a resource"),
        ('a: "(( ))"', "line 1: empty placeholder at offset 0"),
        (
            'a: "(( x"',
            "line 1: unterminated placeholder starting at offset 0: missing closing '))'",
        ),
        ('a: "(( x )"', "line 1: unbalanced parenthesis in placeholder starting at offset 0"),
        (
            'a: "(( \'x ))"',
            "line 1: unterminated string literal in placeholder starting at offset 0",
        ),
        (
            'k:\n  "(( x ))": v',
            "line 2: placeholders are not supported in mapping keys; use a whole-value placeholder "
            "on the parent field instead (e.g. `labels: (( variables.labels ))`)",
        ),
        (
            'x: &b {c: d}\nk:\n  <<: *b\n  z: "(( 1 ))"',
            "line 3: YAML merge keys are not supported in subtrees containing placeholders",
        ),
        ('? [a, b]\n: "(( 1 ))"', "line 1: only scalar mapping keys are supported"),
    ],
)
def test_what_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        rendered(text)
    assert str(caught.value) == message


def test_expressions_are_compiled_at_once() -> None:
    with pytest.raises(TemplateError, match=r"^line 2: invalid placeholder expression \"foo\(\)\""):
        rendered("a:\n  b: (( foo() ))")


def test_placeholders_are_listed() -> None:
    text = 'a: &x "(( b ))"\nc: [*x, "(( d )) (( e ))"]'
    assert sorted(placeholders({"interpolate": "cel", "value": text})) == ["b", "b", "d", "e"]
    assert placeholders({"value": text}) == []
    assert placeholders({"interpolate": "cel", "value": "a: ["}) == []

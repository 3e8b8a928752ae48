"""What makes no program, wherever it stands: keys that can be none, types that are not values."""

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, CelError, compile_expression


@pytest.mark.parametrize("name", ["vpol", "gpol"])
@pytest.mark.parametrize(
    ("key", "kind"), [("null", "types.Null"), ("b'a'", "types.Bytes"), ("int", "*types.Type")]
)
def test_a_key_that_is_none(name: str, key: str, kind: str) -> None:
    for text in (f"object[{key}]", f"object.?a[?{key}]", f"false ? object[{key}] : 1"):
        with pytest.raises(CelCompileError) as caught:
            compile_expression(text, ENVIRONMENTS[name])
        assert str(caught.value) == f"invalid qualifier type: {kind}"


def test_a_conversion_is_a_constant_where_constants_are_computed() -> None:
    text = "object[timestamp('2026-01-02T03:04:05Z')]"
    with pytest.raises(CelCompileError, match=r"invalid qualifier type: types\.Timestamp"):
        compile_expression(text, ENVIRONMENTS["vpol"])
    program = compile_expression(text, ENVIRONMENTS["gpol"])
    with pytest.raises(CelError, match=r"invalid qualifier type: types\.Timestamp"):
        program.evaluate({"object": {}})


def test_a_variable_is_no_constant() -> None:
    program = compile_expression("object[json]", ENVIRONMENTS["vpol"])
    with pytest.raises(CelError):
        program.evaluate({"object": {}})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("google.protobuf.Any", "google.protobuf.Any"),
        ("[int].exists(t, t == int)", "t"),
        ("type(object) == kubernetes.Namespace", "kubernetes.Namespace"),
    ],
)
def test_a_type_that_is_no_value(text: str, name: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        compile_expression(text, ENVIRONMENTS["vpol"])
    assert str(caught.value) == f"reference to undefined type: {name}"

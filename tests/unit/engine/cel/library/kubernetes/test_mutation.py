"""The types that mutations are written with."""

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, CelError, compile_expression
from chartkit.engine.cel.library.kubernetes.mutation import JSON_PATCH, OBJECT
from chartkit.engine.cel.types import struct
from chartkit.engine.cel.values import Struct, Value
from tests.data import from_table

MPOL = ENVIRONMENTS["mpol"]


def _value(text: str, **variables: Value) -> Value:
    return compile_expression(text, MPOL).evaluate(variables)


def test_every_name_below_object_is_a_type_of_its_own() -> None:
    made = _value("Object{spec: Object.spec{replicas: 1 + 2}}")
    assert made == Struct(OBJECT, {"spec": Struct(struct("Object.spec"), {"replicas": 3})})
    assert _value("Object{spec: Object.spec{replicas: 3}}.spec.replicas") == 3


def test_a_patch() -> None:
    made = _value("JSONPatch{op: 'add', path: '/a', value: {'b': 1}}")
    assert made == Struct(JSON_PATCH, {"op": "add", "path": "/a", "value": {"b": 1}})


@from_table("value", "shown")
def test_what_a_patch_does_from_where_is_text(value: Value, shown: str) -> None:
    for field in ("op", "path", "from"):
        with pytest.raises(CelError) as caught:
            _value(f"JSONPatch{{{field}: object}}", object=value)
        assert str(caught.value) == f"unexpected type {shown} for JSONPatchType '{field}' field"


def test_a_patchs_fields_have_types() -> None:
    with pytest.raises(CelCompileError, match="expected type of field 'op' is 'string'"):
        compile_expression("JSONPatch{op: 1}", MPOL)


def test_other_kinds_have_no_mutations() -> None:
    with pytest.raises(CelCompileError, match="undeclared reference to 'Object'"):
        compile_expression("Object{}", ENVIRONMENTS["vpol"])

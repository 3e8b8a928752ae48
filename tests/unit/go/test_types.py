"""Objects decoded into Go types: what is kept, and Go's words for what is wrong."""

from typing import Any

import pytest

from chartkit.errors import EvaluationError
from chartkit.go.types import GoTypes

TYPES = GoTypes(
    {
        "a/v1.Root": {
            "metadata": "v1.Meta",
            "spec": "a/v1.Spec",
            "labels": "map[string]string",
        },
        "v1.Meta": {"at": "Time", "raw": "Raw"},
        "a/v1.Spec": {
            "flag": "bool",
            "small": "int32",
            "big": "int64",
            "name": "v1.Name=string",
            "items": "[]a/v1.Item",
            "names": "[]v1.Name=string",
            "limits": "v1.Limits=map[string]Quantity",
            "port": "Inner Outer IntOrString",
            "again": "a/v1.Spec",
        },
        "a/v1.Item": {"flag": "bool"},
    }
)


def decode(spec: Any) -> Any:
    return TYPES.decode("a/v1.Root", {"spec": spec}).get("spec")


def test_known_fields_are_kept_and_nulls_dropped() -> None:
    spec = {"flag": True, "x": 1, "small": 1.0, "name": None, "again": {"big": 2**62, "y": 1}}
    assert decode(spec) == {"flag": True, "small": 1, "again": {"big": 2**62}}
    assert TYPES.decode("a/v1.Root", None) == {}


def test_names_fit_without_regard_to_case() -> None:
    assert decode({"FLAG": True, "Name": "a", "\u212aey": 1, "item\u017f": []}) == {
        "flag": True,
        "name": "a",
        "items": [],
    }


def test_null_elements_are_zero() -> None:
    assert decode({"items": [None], "names": [None], "limits": {"a": None}}) == {
        "items": [{}],
        "names": [""],
        "limits": {"a": None},
    }
    assert TYPES.decode("a/v1.Root", {"labels": {"a": None}}) == {"labels": {"a": ""}}


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("x", "string into Go struct field Root.spec of type v1.Spec"),
        ({"flag": "x"}, "string into Go struct field Spec.spec.flag of type bool"),
        ({"flag": 1}, "number into Go struct field Spec.spec.flag of type bool"),
        ({"small": 2**31}, "number 2147483648 into Go struct field Spec.spec.small of type int32"),
        ({"small": 1.5}, "number 1.5 into Go struct field Spec.spec.small of type int32"),
        ({"big": 10**30}, "number 1e+30 into Go struct field Spec.spec.big of type int64"),
        ({"small": True}, "bool into Go struct field Spec.spec.small of type int32"),
        ({"name": 1}, "number into Go struct field Spec.spec.name of type v1.Name"),
        ({"names": "x"}, "string into Go struct field Spec.spec.names of type []v1.Name"),
        ({"names": [1]}, "number into Go struct field Spec.spec.names of type v1.Name"),
        ({"items": {}}, "object into Go struct field Spec.spec.items of type []v1.Item"),
        ({"items": [[]]}, "array into Go struct field Spec.spec.items of type v1.Item"),
        (
            {"items": [{"flag": ""}]},
            "string into Go struct field Item.spec.items.flag of type bool",
        ),
        ({"limits": []}, "array into Go struct field Spec.spec.limits of type v1.Limits"),
        ({"port": {}}, "object into Go struct field Spec.spec.Inner.Outer.port of type int32"),
        ({"small": "b", "flag": 1}, "number into Go struct field Spec.spec.flag of type bool"),
    ],
)
def test_wrong_types(spec: Any, fault: str) -> None:
    with pytest.raises(EvaluationError) as error:
        decode(spec)
    assert error.value.message == f"json: cannot unmarshal {fault}"


def test_a_text_that_cannot_be_read_comes_before_wrong_types() -> None:
    with pytest.raises(EvaluationError, match="quantities must match the regular expression"):
        decode({"flag": 1, "limits": {"cpu": "x"}})
    with pytest.raises(EvaluationError, match='parsing time "x" as'):
        TYPES.decode("a/v1.Root", {"metadata": {"at": "x"}})
    with pytest.raises(EvaluationError, match=r"field Meta\.metadata\.at of type string"):
        TYPES.decode("a/v1.Root", {"metadata": {"at": 1}})


def test_an_object_that_is_none() -> None:
    with pytest.raises(EvaluationError) as error:
        TYPES.decode("a/v1.Root", "x")
    assert error.value.message == ("json: cannot unmarshal string into Go value of type v1.Root")


def test_types_what_comes_in_is_not_changed() -> None:
    spec = {"items": [{"flag": True, "x": 1}], "port": "http"}
    assert decode(spec) == {"items": [{"flag": True}], "port": "http"}
    assert spec == {"items": [{"flag": True, "x": 1}], "port": "http"}

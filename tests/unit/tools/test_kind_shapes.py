"""The table of shapes is made from schemas: what is kept and how it is written."""

from typing import Any

from tests.data import tables
from tools.kind_shapes import NEWEST, OLDEST, compact, history

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _kind(kind: str) -> list[dict[str, str]]:
    return [{"group": "", "version": "v1", "kind": kind}]


DEFINITIONS: dict[str, dict[str, Any]] = {
    "io.k8s.api.core.v1.Pod": {
        "properties": {
            "metadata": _ref(_META),
            "kind": {"type": ["string", "null"]},
            "amounts": {"type": ["object", "null"], "additionalProperties": _ref(_QUANTITY)},
            "parts": {"type": "array", "items": _ref("io.k8s.api.core.v1.Part")},
        },
        "required": ["parts"],
        "x-kubernetes-group-version-kind": _kind("Pod"),
    },
    "io.k8s.api.core.v1.PodList": {
        "properties": {"metadata": _ref("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")},
        "x-kubernetes-group-version-kind": _kind("PodList"),
    },
    "io.k8s.api.core.v1.Part": {
        "properties": {
            "part": _ref("io.k8s.api.core.v1.Part"),
            "data": {"type": "string", "format": "byte"},
            "size": {"type": ["null", "integer"], "format": "int32"},
            "ratio": {"type": "number", "format": "double"},
            "on": {"type": "boolean"},
            "any": {},
            "raw": {"type": ["object", "null"]},
            "words": {"type": "array", "items": {"type": "string"}},
        }
    },
    "io.k8s.api.core.v1.Unused": {"properties": {"a": {"type": "string"}}},
    _META: {"properties": {"name": {"type": "string"}, "at": _ref("io.k8s.Time")}},
    "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta": {"properties": {}},
    _QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.Time": {"type": "string", "format": "date-time"},
}


def test_the_table() -> None:
    assert compact(DEFINITIONS) == tables(__file__)["the_table"]


def test_kinds_and_fields_have_the_versions_that_they_came_and_went_with() -> None:
    old = {"kinds": {"v1/Pod": "Pod", "v1/Old": "Old"}, "types": {"Pod": {"string": "a! gone"}}}
    middle = {"kinds": {"v1/Pod": "Pod"}, "types": {"Pod": {"string": "a b"}}}
    new = {"kinds": {"v1/Pod": "Pod", "v1/New": "New"}, "types": {"Pod": {"string": "a b c"}}}
    assert history({OLDEST: old, 30: middle, NEWEST: new}) == {
        "since": {"kinds": {"v1/New": NEWEST}, "fields": {"Pod": {"30": "b", str(NEWEST): "c"}}},
        "until": {"kinds": {"v1/Old": OLDEST}, "fields": {"Pod": {str(OLDEST): "gone"}}},
    }

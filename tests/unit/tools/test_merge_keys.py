from typing import Any

from tests.data import tables
from tools.merge_keys import SOURCE, compact


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/definitions/{name}"}


DEFINITIONS: dict[str, dict[str, Any]] = {
    "io.k8s.api.core.v1.Pod": {
        "properties": {"spec": _ref("io.k8s.api.core.v1.Spec"), "any": _ref("io.k8s.api.Raw")},
        "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
    },
    "io.k8s.api.core.v1.Spec": {
        "properties": {
            "ports": {
                "type": "array",
                "items": _ref("io.k8s.api.core.v1.Port"),
                "x-kubernetes-patch-strategy": "merge,retainKeys",
                "x-kubernetes-patch-merge-key": "port",
                "x-kubernetes-list-map-keys": ["port", "protocol"],
            },
            "names": {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-patch-strategy": "merge",
            },
            "replaced": {"type": "array", "items": _ref("io.k8s.api.core.v1.Port")},
            "by": {"additionalProperties": _ref("io.k8s.api.core.v1.Spec")},
        }
    },
    "io.k8s.api.core.v1.Port": {"properties": {"port": {"type": "integer"}}},
    "io.k8s.api.Raw": {"type": "object"},
    "io.k8s.api.core.v1.Other": {"properties": {"port": _ref("io.k8s.api.core.v1.Port")}},
}


def test_only_what_leads_to_a_list_that_is_joined_is_kept() -> None:
    assert compact(DEFINITIONS) == {
        "source": SOURCE,
        "kinds": {"v1/Pod": "core.v1.Pod"},
        "types": tables(__file__)["only_what_leads_to_a_list_that_is_joined_is_kept"],
    }

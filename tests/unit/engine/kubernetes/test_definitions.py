"""The engine takes what the custom resource definitions take: both are made of one description."""

from collections.abc import Iterator
from typing import Any

import pytest

from chartkit.engine.cluster_policy.policy import read_policy
from chartkit.engine.kubernetes.definitions import definition_check, show_path
from chartkit.errors import CompileError
from chartkit.model import Body, Resource
from chartkit.schemas.compact import OPEN, flattened, type_library
from tests.data import from_table
from tests.errors import error_of

_KINDS = ("PolicyV1", "PolicyV2beta1", "PolicyException", "CleanupPolicy", "GlobalContextEntry")
_CHECKED = {
    *("$ref", "type", "properties", "required", "additionalProperties", "items", "enum"),
    *("maxLength", "minimum", "not", "oneOf", OPEN),
}
_UNCHECKED = {"description", "default", "format", "x-kubernetes-map-type"}
"""What changes no answer: there is no time and no bound of integers outside the status."""


def _keywords(schema: Any, seen: set[str]) -> Iterator[str]:
    flat = flattened(schema, type_library())
    name = flat.get("$ref")
    if name and name not in seen:
        seen.add(name)
        yield from _keywords(type_library()[name], seen)
    yield from flat
    for part in (*flat.get("properties", {}).values(), flat.get("items")):
        if part:
            yield from _keywords(part, seen)
    if "additionalProperties" in flat:
        yield from _keywords(flat["additionalProperties"], seen)


@pytest.mark.parametrize("kind", _KINDS)
def test_every_keyword_of_the_schemas_is_checked(kind: str) -> None:
    spec = type_library()[kind]["properties"]["spec"]
    assert set(_keywords(spec, set())) <= _CHECKED | _UNCHECKED


def _policy(rule: Body, version: str = "v1") -> Body:
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    return {
        "apiVersion": f"kyverno.io/{version}",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"rules": [{"name": "r", "match": match, **rule}]},
    }


def _loop(**fields: Any) -> Body:
    return {"validate": {"foreach": [{"list": "x", **fields}]}}


_ODD = {"all": [{"key": "a", "operator": "Odd", "value": "b"}]}
_OLD = {"all": [{"key": "a", "operator": "In", "value": "b"}]}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (_policy({"verifyImages": [{"requird": True}]}), "verifyImages[0].requird"),
        (_policy({"verifyImages": [{"type": "Sigstore"}]}), "verifyImages[0].type"),
        (_policy({"validate": {"cel": {"expresions": []}}}), "validate.cel.expresions"),
        (_policy({"imageExtractors": {"A": [{"name": "x"}]}}), "imageExtractors.A[0].path"),
        (
            _policy({"validate": {"manifests": {"attestors": [{"count": 0}]}}}),
            "validate.manifests.attestors[0].count",
        ),
        (_policy(_loop(preconditions=_ODD)), "validate.foreach[0].preconditions.all[0].operator"),
        (_policy({"preconditions": _OLD}, "v2beta1"), "preconditions.all[0].operator"),
        (_policy({"exclude": {"resources": {}}}, "v2beta1"), "exclude.resources"),
    ],
)
def test_what_the_definition_refuses(body: Body, place: str) -> None:
    error = error_of(CompileError, read_policy, Resource(body))
    assert error.message.startswith(f"spec.rules[0].{place}: ")


@pytest.mark.parametrize(
    "rule",
    [
        {"preconditions": [_ODD["all"][0]]},
        {"preconditions": _OLD},
        _loop(foreach=[{"list": "y", "preconditions": _ODD, "more": 1}]),
        {"mutate": {"foreach": [{"foreach": [{"order": "Odd"}]}]}},
    ],
)
def test_what_is_open_is_not_the_definitions_to_refuse(rule: Body) -> None:
    read_policy(Resource(_policy(rule)))


def test_what_is_open_has_types_all_the_same() -> None:
    nested = _loop(foreach=[{"list": "y", "foreach": [{"list": 1}]}])
    problems = definition_check("PolicyV1")(_policy(nested), ())
    assert [show_path(path) for path, _ in problems] == [
        "spec.rules[0].validate.foreach[0].foreach[0].foreach[0].list"
    ]


@from_table("metadata", "text")
def test_metadata_that_an_api_server_refuses(metadata: Body, text: str) -> None:
    body = {**_policy({"validate": {"deny": {}}}), "metadata": metadata}
    error = error_of(CompileError, read_policy, Resource(body))
    assert error.message.startswith(f"metadata.{text}")


def test_a_generated_name_is_one() -> None:
    body = _policy({"validate": {"deny": {}}})
    read_policy(Resource({**body, "metadata": {"generateName": "p-", "annotations": {"X/y": "é"}}}))

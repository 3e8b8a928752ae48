"""Custom resource definitions: upstream's names and versions, Kubernetes' rules, real policies."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from chartkit.documents.reader import read_file
from chartkit.model import Body, Json
from chartkit.schemas.compact import json_schema
from tests.conformance.definitions import build_judge, definitions, judge, kyverno_objects, policies
from tests.data import tables
from tests.engine_chart import CRD, objects
from tests.shared import shared

_TABLES = tables(__file__)

_MISSPELT = [
    ("spec", "validationFailureActions"),
    ("spec.rules.0", "validates"),
    ("spec.rules.0.validate", "mesage"),
    ("spec.rules.0.match.any.0.resources", "kind"),
    ("spec.rules.0.context.0", "configmap"),
    ("spec.rules.0.validate.foreach.0", "lst"),
]
_POLICY: Body = _TABLES["policy"]


def test_the_definitions_are_upstreams() -> None:
    facts = read_file(shared("reference/kyverno-chart-3.9.0/crds.json"))[0].body
    rendered = {name: body for (kind, name), body in objects().items() if kind == CRD}
    assert {_described(body)["name"]: _described(body) for body in rendered.values()} == {
        fact["name"]: fact for fact in facts
    }


def _described(body: Body) -> Body:
    """A definition in the words of the recorded facts."""
    spec = body["spec"]
    return {
        "name": body["metadata"]["name"],
        "group": spec["group"],
        "names": spec["names"],
        "scope": spec["scope"],
        "versions": [_version(version) for version in spec["versions"]],
    }


def _version(version: Body) -> Body:
    fields = version["schema"]["openAPIV3Schema"]["properties"].get("spec", {})
    return {
        "name": version["name"],
        "served": version["served"],
        "storage": version["storage"],
        "deprecated": version.get("deprecated", False),
        "subresources": sorted(version.get("subresources", {})),
        "specFields": sorted(fields.get("properties", {})),
        "printerColumns": version.get("additionalPrinterColumns", []),
    }


def test_the_chart_renders_the_definitions_of_the_schemas() -> None:
    for (kind, name), body in objects().items():
        if kind == CRD:
            assert body["spec"] == definitions()[name]["spec"], name


@pytest.mark.parametrize("folder", ["kyverno-cli", "policy-library"])
def test_policies_that_the_engine_accepts_are_accepted(folder: str) -> None:
    found = list(policies(shared(f"conformance/{folder}")))
    assert len(found) > 50
    refused = {
        file: error.message for file, body in found for error in _validator(body).iter_errors(body)
    }
    assert refused == {}


_CASES = ("match", "mutate", "patterns", "podsecurity", "generate", "variables", "cel-policies")


@pytest.mark.parametrize("name", _CASES)
def test_what_the_schemas_refuse_the_engine_did_not_load(name: str) -> None:
    file = shared(f"conformance/engine/{name}.jsonl")
    found = [
        (case, body)
        for case in map(json.loads, file.read_text("utf-8").splitlines())
        for body in kyverno_objects(case)
    ]
    assert found
    refused = [case for case, body in found if not _validator(body).is_valid(body)]
    assert [case["id"] for case in refused if case.get("expected")] == []


@pytest.mark.parametrize(("place", "field"), _MISSPELT)
def test_a_misspelt_field_is_refused(place: str, field: str) -> None:
    assert list(_validator(_POLICY).iter_errors(_POLICY)) == []
    body = _misspelt(place, field)
    messages = [error.message for error in _validator(body).iter_errors(body)]
    assert any(field in message for message in messages)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kubernetes' own validation, as a program."""
    return build_judge(tmp_path_factory.mktemp("judge"))


@pytest.mark.slow
def test_kubernetes_passes_them(program: Path) -> None:
    wrong = [_misspelt(place, field) for place, field in _MISSPELT]
    answer = judge(program, list(definitions().values()), [_POLICY, *wrong])
    assert {name: found for name, found in answer["definitions"].items() if found} == {}
    assert answer["objects"][0] == []
    for (place, field), found in zip(_MISSPELT, answer["objects"][1:], strict=True):
        assert any(field in problem for problem in found), place


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["kyverno-cli", "policy-library"])
def test_kubernetes_accepts_the_same_policies(folder: str, program: Path) -> None:
    found = list(policies(shared(f"conformance/{folder}")))
    answer = judge(program, list(definitions().values()), [body for _, body in found])
    refused = {
        file: problems
        for (file, _), problems in zip(found, answer["objects"], strict=True)
        if problems
    }
    assert refused == {}


@cache
def _validators() -> dict[tuple[str, str], Draft7Validator]:
    return {
        (f"{body['spec']['group']}/{version['name']}", body["spec"]["names"]["kind"]): (
            Draft7Validator(_strict(version["schema"]["openAPIV3Schema"]))
        )
        for body in definitions().values()
        for version in body["spec"]["versions"]
    }


def _strict(schema: Body) -> Body:
    strict = json_schema(schema)
    strict["properties"]["metadata"] = {"type": "object"}
    return strict


def _validator(body: Body) -> Draft7Validator:
    return _validators()[body["apiVersion"], body["kind"]]


def _misspelt(place: str, field: str) -> Body:
    body = copy.deepcopy(_POLICY)
    target: Json = body
    for step in place.split("."):
        target = target[int(step) if step.isdigit() else step]
    changed: dict[str, Any] = target
    changed[field] = {}
    return body


@pytest.mark.slow
def test_the_judge_refuses_a_schema_that_is_not_structural(program: Path) -> None:
    broken = copy.deepcopy(definitions()["policies.kyverno.io"])
    schema = broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["admission"].pop("type")
    assert judge(program, [broken], [])["definitions"]["policies.kyverno.io"]

"""chartkit.cli.schema: commands' JSON follows its schemas, which refuse what is not there."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from chartkit import SITE
from chartkit.cli.schema import OUTPUTS, output_schema, schemas
from chartkit.documents.reader import read_file
from chartkit.model import mapping_at
from chartkit.schemas import json_schema
from chartkit.testing import reader
from tests.data import beside
from tests.e2e.command import Done, chartkit
from tests.shared import ROOT
from tests.unit.cli.test_help import COMMANDS as ALL_COMMANDS
from tests.unit.report.samples import options, samples, written

_TEXTS = beside(__file__)

POLICY = ROOT / "profiles" / "policies" / "baseline" / "disallow-host-path"
LEGACY = _TEXTS["legacy"]
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {hostNetwork: true}\n"
COMMANDS = {
    "scan": ["scan", "pod.yaml", "-p", "legacy.yaml", "--timings"],
    "adopt": ["adopt", "legacy.yaml", "--kyverno", "1.18", "--kubernetes", "1.34", "--dry-run"],
    "values-lint": ["values", "lint", "values.yaml"],
    "policies-check": ["policies", "check", str(POLICY)],
    "policies-lint": ["policies", "lint", "legacy.yaml"],
    "policies-list": ["policies", "list"],
    "policies-search": ["policies", "search", "probes"],
    "policies-show": ["policies", "show", "disallow-host-path"],
    "policies-coverage": ["policies", "coverage", "--standard", "pss"],
    "plan": ["plan", "--from", "1.12/1.27", "--to", "1.18/1.34", "--eks"],
    "plan-rehearsal": [
        *("plan", "--from", "1.16/1.33", "--to", "1.20", "--rehearse", "legacy.yaml"),
        *("--rehearse", "pod.yaml"),
    ],
    "migrate-plan": ["migrate", "plan", "legacy.yaml"],
    "migrate-policies": ["migrate", "policies", "legacy.yaml", "--proof-seconds", "0.3"],
    "check-compat": ["check-compat", "--kyverno", "1.12", "--kubernetes", "1.34"],
    "estimate": ["estimate", "pod.yaml", "-p", "legacy.yaml"],
    "witness": ["witness", "--kind", "Pod", "-p", "legacy.yaml"],
    "preview": ["preview", "pod.yaml", "-p", "legacy.yaml"],
    "why": ["why", "pod.yaml", "-p", "legacy.yaml"],
    "report-merge": ["report", "merge", "prd=old.json", "new.json"],
    "report-diff": ["report", "diff", "old.json", "new.json"],
    "test": ["test", str(ROOT / "tests" / "cases" / "generation")],
    "exceptions-list": ["exceptions", "list", "exception.yaml"],
    "exceptions-check": [
        "exceptions",
        "check",
        "pod.yaml",
        "-p",
        "legacy.yaml",
        "--exceptions",
        "exception.yaml",
    ],
    "test-coverage": ["test", str(ROOT / "tests" / "cases" / "generation"), "--coverage"],
}


EXCEPTION = _TEXTS["exception"]
_CHECKED_ELSEWHERE = {"render", "diff", "values-migrate", "promote", "rescue"}


def check(name: str, body: Any) -> None:
    schema = output_schema(name)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator(schema).validate(body)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_output_follows_its_schema(name: str, tmp_path: Path) -> None:
    files = {"legacy.yaml": LEGACY, "pod.yaml": POD, "exception.yaml": EXCEPTION}
    for file, text in {**files, "values.yaml": "a: 1\n"}.items():
        (tmp_path / file).write_text(text)
    for number, file in enumerate(("old.json", "new.json")):
        (tmp_path / file).write_text(written("json", options(), samples()[number:]))
    done: Done = chartkit(tmp_path, *COMMANDS[name], "-o", "json")
    body = json.loads(done.out)
    check(name, body)
    assert body["schemaVersion"] == 1
    with pytest.raises(jsonschema.ValidationError):
        check(name, {**body, "schemaVersion": 2})
    with pytest.raises(jsonschema.ValidationError):
        check(name, {**body, "another": 1})


def test_results_follow_the_schema_of_scans() -> None:
    check("scan", json.loads(written("json", options(), samples())))


def test_every_schema_is_listed() -> None:
    assert set(OUTPUTS) < set(schemas())
    assert set(COMMANDS) | _CHECKED_ELSEWHERE == set(OUTPUTS)


def test_every_command_with_json_has_a_schema() -> None:
    """Commands are found by their option, so that a new one cannot be forgotten."""
    named = {
        "-".join(path.split()[1:])
        for path, command in ALL_COMMANDS.items()
        if any("-o" in each.opts and each.name == "outputs" for each in command.params)
    }
    assert named == set(OUTPUTS) - {"test-coverage", "plan-rehearsal", "values-migrate"}


def test_a_report_of_migrated_values_follows_its_schema(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("replicaCount: 3\nhostNetwork: true\n")
    done = chartkit(tmp_path, "values", "migrate", "old.yaml", "--report", "json", "--from", "2.5")
    check("values-migrate", json.loads(done.err))


def test_the_schema_of_cases_has_the_keys_of_their_reader() -> None:
    schema = json_schema.load("cases.schema.json")
    properties = schema["properties"]
    assert set(properties) == set(reader._FIELDS)
    result = properties["results"]["items"]["properties"]
    assert set(result) == set(reader._RESULT_FIELDS)
    assert set(result["resourceSpecs"]["items"]["properties"]) == set(reader._SPEC_FIELDS)


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "cases").glob("*/kyverno-test.yaml")))
def test_cases_follow_their_schema(path: Path) -> None:
    validator = jsonschema.Draft202012Validator(json_schema.load("cases.schema.json"))
    for document in read_file(path):
        validator.validate(document.body)
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**mapping_at(document.body), "polices": []})


@pytest.mark.parametrize("name", schemas())
def test_schemas_have_an_address(name: str, tmp_path: Path) -> None:
    body = json.loads(chartkit(tmp_path, "schema", name).out)
    assert body.get("type") == "object" or "$ref" in body
    assert body["$id"] == f"{SITE}schemas/{name}.schema.json"


def test_a_wrong_name_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "schema", "scann")
    assert (done.code, done.err) == (2, "there is no schema 'scann' (did you mean 'scan'?)\n")

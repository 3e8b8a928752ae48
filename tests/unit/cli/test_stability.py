"""What docs/reference/stability.md promises: no name of the interface goes without a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

import chartkit.api
from chartkit.cli import boundary
from chartkit.cli.reports.schema import schema_of
from chartkit.report.formats import FORMATS, GROUP
from chartkit.schemas import json_schema
from chartkit.schemas.outputs import OUTPUTS
from tests.conftest import Golden
from tests.shared import ROOT
from tests.unit.cli.test_help import COMMANDS

_CODES = (boundary.USAGE, boundary.BUG, boundary.INTERRUPTED, boundary.TERMINATED)


def _options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            yield parameter.make_metavar(click.Context(command))
        elif isinstance(parameter, click.Option) and not parameter.hidden:
            yield "|".join([*parameter.opts, *parameter.secondary_opts])


def _keys(schema: Mapping[str, Any], deep: int) -> Iterator[str]:
    """Yield the keys that a schema names, those of items and maps among them."""
    for part in (schema, schema.get("items"), schema.get("additionalProperties")):
        for key, below in part.get("properties", {}).items() if isinstance(part, dict) else ():
            yield key
            if deep and isinstance(below, dict):
                yield from (f"{key}.{each}" for each in _keys(below, deep - 1))


def _interface() -> Iterator[str]:
    for path, command in sorted(COMMANDS.items()):
        yield " ".join([path, *_options(command)])
    yield f"exit codes: 0 1 {' '.join(map(str, _CODES))}"
    yield f"formats: {' '.join(sorted(FORMATS))}"
    yield f"entry points: {GROUP}"
    yield f"chartkit.api: {' '.join(sorted(chartkit.api.__all__))}"
    project = json_schema.load("project.schema.json")
    environment = {"properties": {"ENVIRONMENT": project["$defs"]["environment"]}}
    yield f"chartkit.yaml: {' '.join(_keys(project, 0))}"
    yield f"chartkit.yaml environments.{' '.join(_keys(environment, 1))}"
    for name in sorted(OUTPUTS):
        yield f"report {name}: {' '.join(dict.fromkeys(_keys(schema_of(name), 1)))}"
    yield f"values of kyverno: {' '.join(sorted(_keys(schema_of('values'), 1)))}"


def test_the_interface_is_as_it_was(golden: Golden) -> None:
    """A name that goes must first be deprecated, as the page says; a new one is written with
    --update-golden."""
    golden("interface.txt", "".join(f"{line}\n" for line in _interface()))


def test_every_report_has_a_version() -> None:
    for name in OUTPUTS:
        schema = schema_of(name)
        assert "schemaVersion" in schema["required"], name
        assert schema["properties"]["schemaVersion"]["maximum"] == 1


def test_the_page_names_what_the_file_has() -> None:
    page = (ROOT / "docs" / "reference" / "stability.md").read_text("utf-8")
    for name in (GROUP, "schemaVersion", "chartkit.api", "tests/golden/interface.txt"):
        assert name in page
    for code in _CODES:
        assert f"| {code} |" in page

"""What docs/reference/stability.md promises: no name of the interface goes without a trace."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
import pytest

import chartkit.api
from chartkit.cli import boundary
from chartkit.cli.schema import OUTPUTS, schema_of
from chartkit.report.formats import FORMATS, GROUP
from chartkit.schemas import json_schema
from tests.conftest import GOLDEN
from tests.shared import ROOT
from tests.unit.cli.test_help import COMMANDS

_CODES = (boundary.USAGE, boundary.BUG, boundary.INTERRUPTED, boundary.TERMINATED)

_FILE = GOLDEN / "interface.txt"


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
        yield " ".join([f"{path}:", *_options(command)])
    yield f"exit codes: 0 1 {' '.join(map(str, _CODES))}"
    yield f"formats: {' '.join(sorted(FORMATS))}"
    yield f"entry points: {GROUP}"
    yield f"chartkit.api: {' '.join(sorted(chartkit.api.__all__))}"
    project = json_schema.load("project.schema.json")
    environment = {"properties": {"ENVIRONMENT": project["$defs"]["environment"]}}
    yield f"chartkit.yaml: {' '.join(_keys(project, 0))}"
    yield f"chartkit.yaml environments: {' '.join(_keys(environment, 1))}"
    for name in sorted(OUTPUTS):
        yield f"report {name}: {' '.join(dict.fromkeys(_keys(schema_of(name), 1)))}"
    yield f"values of kyverno: {' '.join(sorted(_keys(schema_of('values'), 1)))}"


def _names(lines: Iterable[str]) -> set[str]:
    """Return each name with what stands before the colon of its line."""
    found: set[str] = set()
    for line in lines:
        head, _, rest = line.partition(":")
        found.update(f"{head}: {word}" for word in ("", *rest.split()))
    return found


def test_no_name_of_the_interface_is_gone(request: pytest.FixtureRequest) -> None:
    """A name that goes must first be deprecated, as the page says; --update-golden, before a
    release, adds those that came."""
    lines = list(_interface())
    if request.config.getoption("--update-golden"):
        _FILE.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    known = _names(_FILE.read_text("utf-8").splitlines())
    assert len(known) > 1000
    assert sorted(known - _names(lines)) == []


def test_a_name_that_goes_is_found() -> None:
    before = _names(["chartkit scan: PATH… -p|--policies", "report scan: schemaVersion summary"])
    after = _names(["chartkit scan: PATH… --policies", "report scan: schemaVersion"])
    assert before - after == {"chartkit scan: -p|--policies", "report scan: summary"}


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

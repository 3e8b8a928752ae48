"""`chartkit schema`: the JSON Schemas of chartkit's JSON outputs and files; `chartkit completion`:
the script with which a shell completes commands and options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from chartkit.cli.options import Choice
from chartkit.cli.terminal import show_rows
from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.suggestions import suggestion

_FILES: Final = {
    "project": "chartkit.yaml",
    "profile": "a profile",
    "policy": "metadata.yaml of a policy in chartkit's own format",
    "standard": "a standard and the policies that cover its controls",
    "baseline": "a baseline of known violations",
    "cases": "kyverno-test.yaml, the cases that `chartkit test` runs",
    "facts": "facts about releases, which `chartkit facts update` takes",
    "matrix": "releases that `versions:` and --matrix add to those that chartkit knows",
}
_VALUES: Final = "values"
_OF_OPTIONS: Final = {
    "test-coverage": "chartkit test --coverage",
    "plan-rehearsal": "chartkit plan --rehearse PATH",
}
"""Commands that have a report of their own with an option."""
_SHELLS: Final[dict[str, type[ShellComplete]]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}
_OUTPUTS_FILE: Final = Path(__file__).with_name("outputs.yaml")
_DIALECT: Final = "http://json-schema.org/draft-07/schema#"
OUTPUTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "scan": "Scan",
        "adopt": "Adopt",
        "promote": "Promote",
        "render": "Render",
        "diff": "Diff",
        "values-lint": "ValuesLint",
        "policies-check": "PoliciesCheck",
        "policies-lint": "PoliciesCheck",
        "policies-show": "PoliciesShow",
        "policies-coverage": "PoliciesCoverage",
        "plan": "Plan",
        "plan-rehearsal": "PlanRehearsal",
        "rescue": "Rescue",
        "migrate-plan": "MigratePlan",
        "migrate-policies": "MigratePolicies",
        "values-migrate": "ValuesMigrate",
        "check-compat": "CheckCompat",
        "exceptions-list": "ExceptionsList",
        "exceptions-check": "ExceptionsCheck",
        "report-merge": "ReportMerge",
        "report-diff": "ReportDiff",
        "test": "TestRun",
        "test-coverage": "TestCoverage",
        "policies-list": "PoliciesList",
        "policies-search": "PoliciesList",
        "preview": "Preview",
        "why": "Why",
        "estimate": "Estimate",
        "witness": "Witnesses",
    }
)
"""The types of outputs by the names of their commands."""


@click.command()
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """Print the JSON Schema NAME: of the JSON output of a command, or of a file of chartkit's.

    Without NAME, lists all of them.
    """
    if name is None:
        show_rows(list(schemas().items()))
        return
    if name not in schemas():
        hint = suggestion(name, schemas()) or "`chartkit schema` lists them"
        raise InputError(f"there is no schema '{name}'", hint=hint)
    click.echo(json.dumps(schema_of(name), indent=2, ensure_ascii=False))


def schemas() -> dict[str, str]:
    """Return the names of all schemas, and what each one is about."""

    outputs = {name: f"the JSON output of `{_command(name)}`" for name in OUTPUTS}
    return {**dict(sorted(outputs.items())), **_FILES, _VALUES: "values of the chart kyverno"}


def _command(name: str) -> str:
    first, _, second = name.partition("-")
    if name in _OF_OPTIONS:
        return _OF_OPTIONS[name]
    return f"chartkit {name}" if name == "check-compat" else f"chartkit {first} {second}".rstrip()


def schema_of(name: str) -> dict[str, Any]:
    """Return one of these schemas, with its address in the documentation's site."""
    from chartkit import SITE
    from chartkit.schemas import json_schema

    if name == "project":
        from chartkit.charts.policies.chart import read_libraries
        from chartkit.library.profiles import project_schema
        from chartkit.project.project import FILE_NAME, read_project

        # The names of policies are those of the project in this folder, too.
        project = read_project(Path(FILE_NAME)) if Path(FILE_NAME).is_file() else None
        body: Any = project_schema(read_libraries(project).policies.values())
    elif name in _FILES:
        body = json_schema.load(f"{name}.schema.json")
    elif name == _VALUES:
        from chartkit.values.lint.files import engine_schema

        body = engine_schema()
    else:
        body = output_schema(name)
    address = f"{SITE}schemas/{name}.schema.json"
    return {"$schema": body["$schema"], "$id": address, **body}


@click.command()
@click.argument("shell", type=Choice(list(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and file names in SHELL.

    bash and zsh load it with `eval "$(chartkit completion bash)"` in ~/.bashrc or ~/.zshrc, fish
    with `chartkit completion fish | source`.
    """
    command = context.find_root().command
    click.echo(_SHELLS[shell](command, {}, "chartkit", "_CHARTKIT_COMPLETE").source())


def output_schema(name: str) -> Body:
    """Return the JSON Schema of a command's JSON output."""
    from chartkit.schemas.compact import json_schema, resolved

    types = _types()
    return {"$schema": _DIALECT, **json_schema(resolved(types[OUTPUTS[name]], types))}


@cache
def _types() -> Mapping[str, Body]:
    from chartkit.documents.reader import read_file
    from chartkit.schemas.compact import parse_types

    return parse_types(read_file(_OUTPUTS_FILE)[0].body)

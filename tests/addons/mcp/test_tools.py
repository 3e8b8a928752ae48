from __future__ import annotations

import re
from typing import Any

import click
import jsonschema
import pytest

from chartkit.addons.mcp.tools import tools
from chartkit.errors import InputError
from tests.data import from_table, tables

NAMES = {"query", "exclude", "env", "set", "select", "name"}
"""Parameters whose help is about files, and that name none."""
WRITE = {"write", "update", "record", "folder", "outputs", "update_baseline", "fix"}
OUTSIDE = {"cluster", "context", "asks_registries", "allowed_hosts", "hosts", "executor", "watch"}


def test_the_tools() -> None:
    names = "scan why fix witness lint preview test migrate search show explain"
    assert list(tools()) == names.split()


@pytest.mark.parametrize("name", tools())
def test_a_tool_says_what_it_does_and_takes(name: str) -> None:
    tool = tools()[name]
    assert len(tool.description) > 30
    assert not re.search(r"(?<!\w)--?\w|stdin", tool.description)
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    for parameter, schema in tool.input_schema["properties"].items():
        assert schema["description"], parameter
    assert set(tool.needs) <= set(tool.parameters)
    if tool.output_schema is not None:
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema["type"] == "object"


@pytest.mark.parametrize("name", tools())
def test_no_tool_writes_or_asks_others(name: str) -> None:
    taken = {parameter.name for parameter in tools()[name].parameters.values()}
    assert taken.isdisjoint(WRITE | OUTSIDE)
    assert "--fix" not in tools()[name].command or "--diff" in tools()[name].command


@pytest.mark.parametrize("name", tools())
def test_every_parameter_with_paths_is_known(name: str) -> None:
    tool = tools()[name]
    for parameter, declared in tool.parameters.items():
        text = f"{tool.input_schema['properties'][parameter]['description']} {declared.metavar}"
        names_files = re.search(r"\b([Ff]iles?|[Ff]olders?|charts?,|PATH|FILE)\b", text)
        if names_files and parameter not in NAMES:
            assert tool.holds_paths(parameter), parameter


def test_the_lists_of_tools_are_short() -> None:
    texts = [(tool.description, tool.input_schema) for tool in tools().values()]
    assert len(str(texts)) < 24_000


def test_a_command_line_has_options_first_and_values_that_are_no_options() -> None:
    given: dict[str, Any] = {
        "objects": ["--fix", "a"],
        "policies": "--update-baseline",
        "api_defaults": True,
        "audit_warn": False,
        "detailed": None,
    }
    tool = tools()["scan"]
    line = tool.arguments(tool.values(given))
    assert line[:1] == ["scan"]
    assert line[-3:] == ["--", "--fix", "a"]
    assert line[1:-3] == ["--policies=--update-baseline", "--api-defaults", "-o", "json"]
    context = click.Context(tool._command)
    tool._command.parse_args(context, line[1:])
    assert context.params["paths"] == ("--fix", "a")
    assert context.params["named_policies"] == ("--update-baseline",)
    assert not context.params["fix"]
    assert not context.params["audit_warn"]


def test_flags_that_are_on_can_be_off() -> None:
    tool = tools()["migrate"]
    line = tool.arguments(tool.values({"policies": "a.yaml", "prove": False, "proof_seconds": 2}))
    assert line == tables(__file__)["flags_that_are_on_can_be_off"]


@from_table("given", "message")
def test_what_is_wrong_with_parameters_is_said(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        tools()["scan"].values(given)
    assert str(caught.value).startswith(message)

"""The tools of `tools.yaml`: commands of chartkit with the parameters that agents may give.

Descriptions and the schemas of parameters and answers come from the command.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import click

from chartkit.cli.main import cli
from chartkit.cli.schema import output_schema
from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.model import Json
from chartkit.suggestions import suggestion

Schema = dict[str, Any]

_FILE: Final = Path(__file__).with_name("tools.yaml")
_PATHS: Final = re.compile(r"\b(PATH|FILE|FOLDER|DIR|OBJECT)\b")
_SENTENCE: Final = re.compile(r"(?<=[.])\s+")
_NO_TOOL: Final = re.compile(
    r"stdin|standard|(?<!\w)--?\w|\bExits|\bURL\b|Quote|argument|chartkit "
)
"""Words of sentences of help about what an agent cannot do."""
_TYPES: Final = {"boolean": "boolean", "integer range": "integer", "float range": "number"}


@dataclass(frozen=True)
class Tool:
    """A tool and its command.

    command: its words, and options that are always there; takes: the parameters that it offers, as
    click names them, each with the agents' name and `=` in front where that is another; about: what
    agents should know beside the command's help; output: the name of its JSON output, empty where
    its answer is text; needs: the parameters that must be given; help: what parameters are.
    """

    name: str
    title: str
    command: str
    takes: str
    about: str = ""
    output: str = ""
    needs: Sequence[str] = ()
    help: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _command(self) -> click.Command:
        group: click.Command = cli
        for name in self.command.partition(" --")[0].split():
            inner = isinstance(group, click.Group) and group.get_command(click.Context(group), name)
            assert inner
            group = inner
        return group

    @cached_property
    def parameters(self) -> Mapping[str, click.Parameter]:
        """The parameters of the command by the names that agents use."""
        own = {param.name: param for param in self._command.params}
        names = (pair.rpartition("=") for pair in self.takes.split())
        return {agents or name: own[name] for agents, _, name in names}

    @property
    def description(self) -> str:
        """The purpose of the tool, in its own words and the words of the command's help."""
        words = " ".join((self._command.help or "").split())
        sentences = (text for text in _SENTENCE.split(words) if not _NO_TOOL.search(text))
        return " ".join((self.about, *sentences)).strip()

    @property
    def input_schema(self) -> Schema:
        """The JSON Schema of the tool's parameters."""
        texts = {**declared()["parameters"], **self.help}
        own = self.parameters.items()
        properties = {name: _schema(parameter, texts.get(name)) for name, parameter in own}
        object_type = {"type": "object", "additionalProperties": False}
        return {**object_type, "properties": properties, "required": list(self.needs)}

    @property
    def output_schema(self) -> Schema | None:
        """The JSON Schema of the tool's answer, None where that is text: the JSON of the command,
        or what `query` chose of it, with notes."""
        if not self.output:
            return None
        notes = {"type": "array", "items": {"type": "string"}}
        whole = _open(output_schema(self.output))
        whole["properties"] = {**whole["properties"], "notes": notes}
        part = {
            "type": "object",
            "properties": {"queried": {}, "notes": notes},
            "required": ["queried"],
        }
        return {"type": "object", "anyOf": [whole, part]}

    def holds_paths(self, name: str) -> bool:
        """Report whether the values of a parameter name files."""
        parameter = self.parameters[name]
        is_path = isinstance(parameter.type, click.Path)
        return is_path or _PATHS.search(parameter.metavar or "") is not None

    def values(self, given: Mapping[str, Json]) -> dict[str, list[str]]:
        """Return the values of parameters as texts; raise InputError for what the command does not
        take."""
        for name in given.keys() - self.parameters.keys():
            hint = suggestion(name, self.parameters) or f"it has {', '.join(self.parameters)}"
            raise InputError(f"{self.name} has no parameter '{name}'", hint=hint)
        texts = {name: _texts(name, value) for name, value in given.items()}
        for name in self.needs:
            if not texts.get(name):
                raise InputError(f"{self.name} needs the parameter '{name}'")
        return texts

    def arguments(self, values: Mapping[str, list[str]]) -> list[str]:
        """Return the command line for values of parameters."""
        options, positional = self.command.split(), []
        for name, texts in values.items():
            parameter = self.parameters[name]
            if isinstance(parameter, click.Argument):
                positional += texts
            elif not getattr(parameter, "is_flag", False):
                option = max(parameter.opts, key=len)
                options += [f"{option}={text}" for text in texts]
            elif texts == ["true"]:
                options.append(parameter.opts[-1])
            else:
                options += parameter.secondary_opts[-1:]
        return [*options, *(("-o", "json") if self.output else ()), "--", *positional]


@cache
def declared() -> Mapping[str, Any]:
    """Return the content of `tools.yaml`."""
    body: Mapping[str, Any] = read_file(_FILE)[0].body
    return body


@cache
def tools() -> Mapping[str, Tool]:
    """Return the tools by their names."""
    return {name: Tool(name, **own) for name, own in declared()["tools"].items()}


def _schema(parameter: click.Parameter, text: str | None) -> Schema:
    """Return the JSON Schema of a parameter; text: what it is, None for the help of the command."""
    kind = parameter.type
    schema: Schema = {"type": _TYPES.get(kind.name, "string")}
    if isinstance(kind, click.Choice):
        schema["enum"] = list(kind.choices)
    if isinstance(parameter.default, str | bool) and parameter.default:
        schema["default"] = parameter.default
    if text is None and isinstance(parameter, click.Option):
        text = (parameter.help or "").replace("; repeatable", "")
        if "=" in (parameter.metavar or ""):
            text = f"{parameter.metavar}: {text}"
    if getattr(parameter, "multiple", False) or parameter.nargs != 1:
        schema = {"type": "array", "items": schema}
    return {**schema, "description": text}


def _open(schema: Any) -> Any:
    """Return a JSON Schema that takes more members: a later chartkit may add them."""
    if isinstance(schema, list):
        return [_open(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "$schema" and value is not False}
    return {key: _open(value) for key, value in kept.items()}


def _texts(name: str, value: Json) -> list[str]:
    """Return a value, or the values of a list, as texts; raise InputError."""
    if isinstance(value, list):
        return [text for item in value for text in _texts(name, item)]
    if isinstance(value, dict):
        raise InputError(f"{name} takes text, not an object", hint="write YAML or JSON as text")
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [] if value is None else [str(value)]

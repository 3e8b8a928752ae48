"""Options of a command: parsed into one frozen dataclass, and shown in sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar, get_type_hints

import click

from chartkit.suggestions import suggestion

T = TypeVar("T")
Option = Callable[[Any], Any]


class Choice(click.Choice[str]):
    """A choice of names whose error suggests the one that a mistyped one may stand for."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        message = super().get_invalid_choice_message(value, ctx)
        hint = suggestion(str(value), self.choices)
        return f"{message.rstrip('.')} ({hint})" if hint else message


class SectionedCommand(click.Command):
    """A command whose help shows its options in sections; sections: by their titles,
    options with spaces between them; those that are in none stand below `Options`."""

    def __init__(self, *given: Any, sections: Mapping[str, str], **named: Any) -> None:
        super().__init__(*given, **named)
        self._sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {name: title for title, names in self._sections.items() for name in names.split()}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in self._sections}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                title = next(filter(None, map(titles.get, parameter.opts)), "Options")
                rows.setdefault(title, []).append(record)
        for title, records in rows.items():
            with formatter.section(title):
                formatter.write_dl(records)


def takes(parsed: Callable[..., T], *options: Option) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that adds options to a command, which gets them as its first argument, or
    after those of decorators above.

    parsed: a dataclass with a field for each option; a field that is a dataclass itself takes the
    options named after that one's fields.
    """

    def decorate(command: Callable[..., Any]) -> Any:
        @wraps(command)
        def call(*before: Any, **given: Any) -> Any:
            return command(*before, build(parsed, given), **given)

        decorated: Any = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def build(parsed: Callable[..., T], given: dict[str, Any]) -> T:
    """Return a dataclass of the values of its fields, which are taken out of given."""
    types = get_type_hints(parsed)
    return parsed(
        **{
            name: build(types[name], given) if is_dataclass(types[name]) else given.pop(name)
            for name in (field.name for field in fields(parsed))  # type: ignore[arg-type]
        }
    )

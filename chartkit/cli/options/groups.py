"""Options of a command that are parsed into one frozen dataclass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")
Option = Callable[[Any], Any]


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

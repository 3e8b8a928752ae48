"""Options that are parsed into a dataclass: a field for each, and an option for each field."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest

from chartkit.cli.options import build
from chartkit.cli.scan import scan
from chartkit.cli.why import preview, why
from chartkit.scan.options import ScanOptions
from chartkit.scan.requests import RequestOptions

WHY = {
    *("outputs", "query", "policy", "name", "operation", "env", "path", "policies_from"),
    *("cluster", "context", "is_whole"),
}


def field_names(parsed: Any) -> Iterator[str]:
    types = get_type_hints(parsed)
    for field in fields(parsed):
        inner = types[field.name]
        yield from field_names(inner) if is_dataclass(inner) else [field.name]


@pytest.mark.parametrize(
    ("command", "parsed", "others"),
    [
        (scan, ScanOptions, {"env", "path", "watch", "fix", "diff"}),
        (preview, RequestOptions, {"outputs", "query", "show_secrets"}),
        (why, RequestOptions, WHY),
    ],
    ids=["scan", "preview", "why"],
)
def test_each_option_is_a_field(command: click.Command, parsed: type, others: set[str]) -> None:
    options = {each.name for each in command.params if each.expose_value} - others
    names = list(field_names(parsed))
    assert options == set(names)
    assert len(names) == len(options)


def test_fields_get_their_options_values() -> None:
    given: dict[str, Any] = dict.fromkeys(field_names(RequestOptions))
    given |= {"trusted_root": Path("root"), "output": "text"}
    options = build(RequestOptions, given)
    assert options.world.registry.trusted_root == Path("root")
    assert options.policies.policies == ("pss-restricted",)
    assert given == {"output": "text"}

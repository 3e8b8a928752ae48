"""The value of each part of an expression."""

from collections.abc import Iterator

import pytest

from chartkit.engine.cel import ENVIRONMENTS, compile_expression
from chartkit.engine.cel.explain import Part, explain
from chartkit.engine.cel.values import OptionalValue
from chartkit.model import pointer_of
from tests.data import from_table, tables

OBJECT = tables(__file__)["object"]


def lines(part: Part, indent: str = "") -> Iterator[str]:
    value = str(part.error) if part.error else part.value
    shown = {dict: "map", list: "list", OptionalValue: "none"}.get(value.__class__, str(value))
    pointer = "" if part.path is None else pointer_of(*part.path)
    yield f"{indent}{part.text} | {shown} | {pointer}".rstrip()
    for inner in part.parts:
        yield from lines(inner, f"{indent}  ")


def explained(source: str, env: str = "vpol") -> Part:
    return explain(compile_expression(source, ENVIRONMENTS[env]), {"object": OBJECT})


@from_table("source", "expected", named_by="source")
def test_parts_of_an_expression(source: str, expected: str) -> None:
    assert list(lines(explained(source))) == expected.splitlines()


@from_table("source", "text")
def test_offsets_are_of_the_first_character(source: str, text: str) -> None:
    parts = [explained(source)]
    for part in parts:
        parts += part.parts
    assert {part.text: part.offset for part in parts}[text] == source.index(text)


@pytest.mark.parametrize(
    "source",
    ["+".join(["object.spec.replicas"] * 200), "&&".join(["object.spec.replicas == 3"] * 500)],
)
def test_explanations_of_long_expressions_are_bounded(source: str) -> None:
    assert 2 < len(list(lines(explained(source)))) <= 201

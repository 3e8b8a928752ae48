"""Every variable, type, macro and function of every environment, against those of the real ones.

The table has a line a declaration: kind, name, overload id (of a macro: how many arguments), style,
signature with type parameters in the order of their letters, and the environments that have it
(`*`: all).
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from chartkit.engine.cel.checker.checked import format_type
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.types import TypeKind

TABLE: Final = Path(__file__).parent / "data" / "cel_signatures.tsv"
NAMES: Final = [name for name in ENVIRONMENTS if name != "standard"]

_WORD: Final = re.compile(r"[A-Za-z_@.0-9]+")


def _rows() -> Iterator[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def _wanted(name: str) -> set[tuple[str, ...]]:
    return {
        (row["kind"], row["name"], row["id"], row["style"], row["signature"])
        for row in _rows()
        if row["environments"] == "*" or name in row["environments"].split()
    }


def _declared(environment: Environment) -> Iterator[tuple[str, ...]]:
    for name, variable in environment.variables.items():
        if variable.type.kind is TypeKind.TYPE:
            yield "type", name, "", "", ""
        else:
            yield "variable", name, "", "", format_type(variable.type)
    for macro in environment.macros.values():
        count = "*" if macro.arguments is None else str(macro.arguments)
        yield "macro", macro.function, count, "receiver" if macro.receiver else "global", ""
    for function in environment.functions.values():
        for each in function.overloads:
            parameters = ", ".join(map(format_type, each.parameters))
            signature = _letters(f"({parameters}) -> {format_type(each.returns)}")
            style = "member" if each.member else "global"
            yield "function", each.function, each.id, style, signature


def _letters(signature: str) -> str:
    """The signature with its type parameters named A, B … in the order in which they come."""
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        word = match.group()
        if len(word) == 1 and word.isupper():
            return names.setdefault(word, "ABCDEFGH"[len(names)])
        return word

    return _WORD.sub(rename, signature)


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_has_what_the_real_one_has(name: str) -> None:
    declared = set(_declared(ENVIRONMENTS[name]))
    wanted = _wanted(name)
    assert sorted(wanted - declared) == [], "missing"
    assert sorted(declared - wanted) == [], "too much"


def test_the_table_names_every_environment() -> None:
    named = {name for row in _rows() for name in row["environments"].split()}
    assert named - {"*"} == set(NAMES)

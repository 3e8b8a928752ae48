"""CEL: nothing but typed errors, texts that come back, and the same values as another CEL."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given

from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, CelError, compile_expression
from chartkit.engine.cel.declarations import Options, Variable, environment
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel.syntax import unparse
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import DYN
from chartkit.engine.cel.values import Uint
from tests.data import from_table
from tests.draws import draws
from tests.property.cel_expressions import expressions, garbage, objects
from tests.unit.engine.cel.outlines import outline

VPOL = ENVIRONMENTS["vpol"]


def answer(source: str, body: dict[str, Any]) -> str:
    """The value as a text, or what is said where there is none: no other error comes out."""
    try:
        return repr(compile_expression(source, VPOL).evaluate({"object": body}))
    except (CelCompileError, CelError) as error:
        return str(error)


@given(garbage, objects)
@draws(200)
def test_any_text_has_a_value_or_a_typed_error(source: str, body: dict[str, Any]) -> None:
    assert answer(source, body)


@given(expressions(), objects)
@draws(100)
def test_an_expression_gives_the_same_twice(source: str, body: dict[str, Any]) -> None:
    before = repr(body)
    assert answer(source, body) == answer(source, body)
    assert repr(body) == before


@pytest.mark.slow
@given(expressions(depth=5))
@draws(150)
def test_text_of_a_tree_parses_to_the_tree(source: str) -> None:
    parsed = parse(source, VPOL)
    text = unparse(parsed.root, parsed.macro_calls)
    again = parse(text, VPOL)
    assert outline(again.root, places=False) == outline(parsed.root, places=False)
    assert unparse(again.root, again.macro_calls) == text


# The other CEL takes literals of mixed types and finds no errors before an expression is evaluated.
LENIENT = environment(
    "lenient",
    ENVIRONMENTS["standard"].libraries,
    Options(homogeneous=False, validate=False, fold=False),
).extend({"object": Variable(DYN)})


@dataclass(frozen=True, slots=True)
class Oracle:
    """cel-expr-python, the CEL of C++."""

    cel: Any
    environment: Any

    def value(self, source: str, body: dict[str, Any]) -> object:
        """The value; ERROR where there is none."""
        try:
            program = self.environment.compile(source)
            found = program.eval(data={"object": body})
        except RuntimeError:
            return ERROR
        return ERROR if found.type() == self.cel.Type.ERROR else plain(found.plain_value())


ERROR = "no value"


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    cel = pytest.importorskip("cel_expr_python.cel", reason="cel-expr-python is not installed")
    from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

    extensions = [
        ext_optional.ExtOptional(),
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_bindings.ExtBindings(),
    ]
    made = cel.NewEnv(variables={"object": cel.Type.DYN}, extensions=extensions)
    return Oracle(cel, made)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def plain(value: object) -> object:
    """A value of either CEL in a form that can be compared; text keeps 1 and 1.0 apart."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, Uint):
        return repr(int(value))
    if isinstance(value, Timestamp):
        return ("timestamp", value.nanoseconds // 1000)
    if isinstance(value, Duration):
        return ("duration", value.nanoseconds // 1000)
    if isinstance(value, datetime):
        return ("timestamp", (value - EPOCH) // timedelta(microseconds=1))
    if isinstance(value, timedelta):
        return ("duration", value // timedelta(microseconds=1))
    return repr(value)


def ours(source: str, body: dict[str, Any]) -> object:
    try:
        return plain(compile_expression(source, LENIENT).evaluate({"object": body}))
    except (CelCompileError, CelError):
        return ERROR


@pytest.mark.slow
@given(expressions(), objects)
@draws(150)
def test_gives_what_another_cel_gives(oracle: Oracle, source: str, body: dict[str, Any]) -> None:
    assert ours(source, body) == oracle.value(source, body)


@from_table("source")
def test_gives_what_another_cel_gives_for_what_is_seldom_made(oracle: Oracle, source: str) -> None:
    body = {"n": 2, "l": [2, 4], "m": {"a": 1, "b": 2}}
    assert ours(source, body) == oracle.value(source, body)

"""Programs of the standard library: values, errors, what absorbs them, what is folded."""

import pytest

from chartkit.engine.cel import CelCompileError, CelError, Environment, Program, compile_expression
from chartkit.engine.cel.declarations import Library, Options, Variable, environment
from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.library.standard.macros import MACROS
from chartkit.engine.cel.types import DYN
from tests.data import from_table
from tests.errors import error_of

LIBRARIES = (LIBRARY, Library("macros", macros=MACROS))
NAMES = {name: Variable(DYN) for name in ("object", "x", "a.b")}
FOLDING = environment("folding", LIBRARIES).extend(NAMES)
PLAIN = environment("plain", LIBRARIES, Options(fold=False, cost_limit=None)).extend(NAMES)
OBJECT = {"a": [1, 2, 3], "s": "text", "n": None, "m": {"k": {"deep": 1}}, "f": 1.5}


def program(source: str, env: Environment = FOLDING) -> Program:
    return compile_expression(source, env)


def value(source: str, **variables: object) -> object:
    return program(source).evaluate({"object": OBJECT, **variables})


def error(source: str, **variables: object) -> str:
    return str(error_of(CelError, value, source, **variables))


@from_table("source", "expected")
def test_program_value(source: str, expected: object) -> None:
    assert value(source) == expected


@from_table("source", "message")
def test_program_error(source: str, message: str) -> None:
    assert error(source) == message


def test_a_name_with_dots_is_one_variable() -> None:
    assert value("a.b + 1", **{"a.b": 1}) == 2


def test_a_leading_dot_passes_over_the_variables_of_macros() -> None:
    assert value("[1].map(x, x + .x)", x=10) == [11]


def test_conversions_of_constants_are_errors_of_the_program() -> None:
    for source in ("int('1.5')", "false && int('1.5') == 1", "object.a.map(x, int('y'))"):
        error = error_of(CelCompileError, program, source)
        assert str(error) == "type conversion error from 'string' to 'int'"
    assert program("false && int('1.5') == 1", PLAIN).evaluate({}) is False


def test_a_constant_pattern_is_an_error_of_the_program() -> None:
    with pytest.raises(CelCompileError, match="error parsing regexp: missing closing ]"):
        program("object.s.matches(dyn('['))")
    with pytest.raises(CelError, match="error parsing regexp: missing closing ]"):
        program("object.s.matches(dyn('['))", PLAIN).evaluate({"object": OBJECT})


def test_lists_of_macros_are_not_shared_between_evaluations() -> None:
    doubled = program("object.a.map(x, x * 2)")
    first = doubled.evaluate({"object": OBJECT})
    assert doubled.evaluate({"object": OBJECT}) == first == [2, 4, 6]


def test_maps_that_compute_their_values() -> None:
    class Computed(dict[str, object]):
        def __missing__(self, key: str) -> object:
            if key == "bad":
                raise CelError("cannot compute")
            if key == "none":
                raise KeyError(key)
            self[key] = key.upper()
            return self[key]

    found = program("object.text + object['other']").evaluate({"object": Computed()})
    assert found == "TEXTOTHER"
    assert program("has(object.text)").evaluate({"object": Computed()}) is True
    assert program("has(object.none)").evaluate({"object": Computed()}) is False
    with pytest.raises(CelError, match="cannot compute"):
        program("has(object.bad)").evaluate({"object": Computed()})

"""What the generated code looks like, and what never becomes a part of it."""

import keyword
import re
from dataclasses import dataclass

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelError, Program, compile_expression
from chartkit.engine.cel.declarations import (
    Environment,
    Library,
    Overload,
    Variable,
    environment,
    overload,
)
from chartkit.engine.cel.host import OFFLINE, Host
from chartkit.engine.cel.interpreter.constant_folding import fold
from chartkit.engine.cel.interpreter.program import generate
from chartkit.engine.cel.interpreter.runtime import NAMES
from chartkit.engine.cel.types import DYN
from chartkit.engine.cel_policies.scope import PolicyScope, Variables
from tests.data import from_table, tables
from tests.unit.engine.cel.program.generated_code import generated_code

ENVIRONMENT = ENVIRONMENTS["vpol"]


def _with(function: Overload) -> Environment:
    libraries = (*ENVIRONMENT.libraries, Library("own", overloads=(function,)))
    return environment("own", libraries, ENVIRONMENT.options)


OWN_WORDS = {*NAMES, *keyword.kwlist, "_run", "v", "m", "startswith", "endswith"}


def program(source: str) -> Program:
    return compile_expression(source, ENVIRONMENT)


def body(source: str) -> str:
    return generated_code(program(source)).partition("return ")[2].strip()


@from_table("source", "code")
def test_codegen_code(source: str, code: str) -> None:
    assert body(source).startswith(code)


@from_table("source")
def test_no_word_of_an_expression_is_in_its_code(source: str) -> None:
    environment = ENVIRONMENTS["mpol"]
    code = generated_code(compile_expression(source, environment))
    words = set(re.findall(r"[^\W\d]\w*", code))
    assert words
    assert {word for word in words - OWN_WORDS if not re.fullmatch(r"[ak]\d+", word)} == set()


def test_the_code_sees_no_builtins() -> None:
    made = program("object.a")
    generated = generate(made.checked, ENVIRONMENT, fold(made.checked, ENVIRONMENT), 10**6)
    assert generated is not None
    with pytest.raises(NameError):
        eval("open", generated.load().__globals__)  # noqa: S307 - what the code could ask for


def test_deep_expressions_are_left_to_the_closures() -> None:
    nested = "object" + "".join(f".map(x{depth}, x{depth})[0]" for depth in range(12))
    assert generated_code(program(nested))
    deep = "string(" * 60 + "object.a" + ")" * 60
    assert generated_code(program(deep)) == ""
    assert program(deep).evaluate({"object": {"a": True}}) == "true"
    long = " && ".join(["object.a"] * 300)
    assert program(long).evaluate({"object": {"a": True}}) is True


def test_what_asks_the_world_is_asked_once() -> None:
    asked: list[int] = []

    @overload("ask_int: ask(int) -> dyn", hosted=True)
    def ask(_host: Host, value: int) -> object:
        asked.append(value)
        return [value]

    asking = compile_expression("ask(1)[0] + ask(2)[5]", _with(ask))
    with pytest.raises(CelError, match="index out of bounds: 5"):
        asking.evaluate({}, OFFLINE)
    assert asked == [1, 2]


def test_a_chain_of_failing_variables_is_computed_once() -> None:
    @dataclass
    class Counting:
        count: int = 0

    counting = Counting()

    @overload("fails: fails() -> dyn")
    def fails() -> object:
        counting.count += 1
        raise CelError("it fails")

    environment = _with(fails).extend({"variables": Variable(DYN)})
    sources = {"v0": "fails()"} | {f"v{i}": f"variables.v{i - 1}.x" for i in range(1, 15)}
    programs = {name: compile_expression(text, environment) for name, text in sources.items()}
    scope = PolicyScope({})
    scope["variables"] = variables = Variables(programs, scope, OFFLINE)
    with pytest.raises(CelError, match="it fails"):
        variables["v14"]
    # Once by the generated code of v0, once by its closures.
    assert counting.count == 2


def test_variables_that_nest_too_deep_are_an_error() -> None:
    environment = ENVIRONMENT.extend({"variables": Variable(DYN)})
    sources = {"v0": "1"} | {f"v{i}": f"variables.v{i - 1} + 1" for i in range(1, 600)}
    programs = {name: compile_expression(text, environment) for name, text in sources.items()}
    scope = PolicyScope({})
    scope["variables"] = variables = Variables(programs, scope, OFFLINE)
    with pytest.raises(CelError, match="recursion limit exceeded"):
        variables["v599"]


def test_values_that_python_takes_for_others() -> None:
    cases = tables(__file__)["cases"]
    bound = {"object": {"one": 1, "yes": True, "float": 1.0, "text": "ab", "numbers": [1, 2]}}
    for source, expected in cases.items():
        assert program(source).evaluate(bound) is expected, source
    for source in ("object.text[0]", "object.numbers[-1]", "object.yes + 1 == 2"):
        with pytest.raises(CelError):
            program(source).evaluate(bound)

"""Declarations of overloads as one text."""

import pytest

from chartkit.engine.cel.checker.checked import format_type
from chartkit.engine.cel.declarations import macro, overload
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.explain import Example, example_of
from chartkit.engine.cel.notation import parse_signature
from chartkit.engine.cel.types import (
    INT,
    LIST_STRING,
    STRING,
    TIMESTAMP,
    K,
    V,
    list_of,
    map_of,
    optional_of,
    type_of_type,
)


@pytest.mark.parametrize(
    ("text", "function", "parameters", "returns", "member"),
    [
        ("f: f() -> int", "f", (), INT, False),
        ("f: math.@max(int, int) -> int", "math.@max", (INT, INT), INT, False),
        ("f: _?._(map(K, V), K) -> V", "_?._", (map_of(K, V), K), V, False),
        ("f: string.at(int) -> string", "at", (STRING, INT), STRING, True),
        ("f: timestamp.at(string) -> int", "at", (TIMESTAMP, STRING), INT, True),
        ("f: list(string).join() -> string", "join", (LIST_STRING,), STRING, True),
        (
            "f: optional_type(list(V)).or(map(K, list(V)), type(V)) -> list(map(K, V))",
            "or",
            (optional_of(list_of(V)), map_of(K, list_of(V)), type_of_type(V)),
            list_of(map_of(K, V)),
            True,
        ),
    ],
)
def test_a_signature_is_read(
    text: str, function: str, parameters: object, returns: object, member: bool
) -> None:
    parsed = parse_signature(text)
    assert (parsed.id, parsed.function, parsed.member) == ("f", function, member)
    assert parsed.parameters == parameters
    assert parsed.returns == returns


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_overload_is_read_from_its_signature(name: str) -> None:
    for function in ENVIRONMENTS[name].functions.values():
        for each in function.overloads:
            receiver = f"{format_type(each.parameters[0])}." if each.member else ""
            arguments = ", ".join(map(format_type, each.parameters[each.member :]))
            parsed = parse_signature(
                f"{each.id}: {receiver}{each.function}({arguments}) -> {format_type(each.returns)}"
            )
            assert (parsed.id, parsed.function) == (each.id, each.function)
            assert (parsed.parameters, parsed.returns) == (each.parameters, each.returns)
            assert parsed.member is each.member


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(int) -> int", "not a signature: f(int) -> int"),
        ("f: f(int)", "not a signature: f: f(int)"),
        ("f: f(number) -> int", "not a declared type: number"),
        ("f: f(list(number)) -> int", "not a declared type: number"),
        ("f: f(set(int)) -> int", "not a declared type: set(int)"),
    ],
)
def test_a_wrong_signature_is_refused_where_it_is_declared(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message.replace('(', '[(]').replace(')', '[)]')}$"):
        overload(text)


def test_an_example_says_a_value_or_an_error() -> None:
    assert example_of("f('a//b')  // true") == Example("f('a//b')", "true")
    assert example_of("f('')  // error: no: a") == Example("f('')", "no: a", error=True)


@pytest.mark.parametrize(
    ("usage", "function", "receiver", "arguments"),
    [
        ("has(field)", "has", False, 1),
        ("items.all(i, x, condition)", "all", True, 3),
        ("value.orValue(other)", "orValue", True, 1),
    ],
)
def test_a_macro_is_read_from_its_usage(
    usage: str, function: str, receiver: bool, arguments: int
) -> None:
    declared = macro(usage, lambda _make, _target, _args: None)
    assert (declared.function, declared.receiver, declared.arguments) == (
        function,
        receiver,
        arguments,
    )

"""How CEL is shown and declared: its page, functions, signatures, notation, names of types."""

import doctest
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cel import CelCompileError, CelError, compile_expression, library
from chartkit.engine.cel.checker.checked import format_type
from chartkit.engine.cel.declarations import Environment, macro, overload
from chartkit.engine.cel.environments import ENVIRONMENTS, declaring
from chartkit.engine.cel.explain import Example, example_of, listing, sections
from chartkit.engine.cel.notation import notation, parse_signature
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import (
    INT,
    LIST_STRING,
    STRING,
    TIMESTAMP,
    K,
    V,
    list_of,
    map_of,
    opaque,
    optional_of,
    type_of_type,
)
from chartkit.engine.cel.values import NONE, OptionalValue, Struct, Uint, Value, equal, type_of
from tests.cel_page import MARK, PAGE, libraries, reference, written_examples
from tests.data import from_table
from tests.unit.engine.cel.example_host import VARIABLES, ExampleHost

DECLARED = [
    (names[0], example)
    for library, names in libraries().values()
    for section in sections([library])
    for entry in section.entries
    for example in entry.examples
]

WITHOUT_EXAMPLE = ("getExt", "hasExt")
"""They take messages of protobuf, of which no environment has one."""


def _value(environment: Environment, text: str) -> Value:
    program = compile_expression(text, declaring(environment, VARIABLES))
    return program.evaluate(VARIABLES, ExampleHost())


@pytest.mark.parametrize(
    ("name", "example"), DECLARED, ids=lambda each: getattr(each, "expression", each)
)
def test_a_functions_example_comes_to_what_it_says(name: str, example: Example) -> None:
    environment = ENVIRONMENTS[name]
    if example.error:
        with pytest.raises((CelError, CelCompileError)) as caught:
            _value(environment, example.expression)
        assert example.expected in str(caught.value)
        return
    got = notation(_value(environment, example.expression))
    assert got == notation(_value(environment, example.expected))


@pytest.mark.parametrize(("expression", "wanted"), list(written_examples()))
def test_an_example_of_the_page_comes_to_what_it_says(expression: str, wanted: str) -> None:
    environment = ENVIRONMENTS["vpol"]
    kind, sign, message = wanted.partition(": ")
    if sign and kind == "compile":
        with pytest.raises(CelCompileError) as complaint:
            compile_expression(expression, environment)
        assert message in str(complaint.value)
    elif sign and kind == "error":
        with pytest.raises(CelError) as failure:
            compile_expression(expression, environment).evaluate({})
        assert str(failure.value) == message
    else:
        assert notation(compile_expression(expression, environment).evaluate({})) == wanted


def test_the_use_from_python_is_as_the_page_says() -> None:
    done = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert done.attempted > 0
    assert done.failed == 0


def test_every_function_has_its_meaning_and_an_example() -> None:
    entries = [
        entry
        for library, _ in libraries().values()
        for section in sections([library])
        for entry in section.entries
        if entry.name not in WITHOUT_EXAMPLE
    ]
    assert [entry.name for entry in entries if not entry.doc or not entry.examples] == []


def test_every_text_belongs_to_a_function() -> None:
    declared = {
        each.documented or each.name: {
            *(macro.usage for macro in each.macros),
            *(overload.id for overload in each.overloads),
        }
        for each, _ in libraries().values()
    }
    folder = Path(library.__file__).parent
    documented = [parse_yaml(file.read_text()) for file in folder.glob("*/functions.yaml")]
    assert len(documented) == 4
    for sections_of_file in documented:
        for name, section in sections_of_file.items():
            assert set(section["functions"]) <= declared[name]


def test_the_page_has_the_reference_as_it_is(request: pytest.FixtureRequest) -> None:
    written, mark, generated = PAGE.read_text("utf-8").partition(MARK)
    assert mark
    if request.config.getoption("--update-golden"):
        PAGE.write_text(written + MARK + "\n" + reference(), "utf-8")
        return
    assert generated == "\n" + reference()


def _signatures(name: str) -> set[str]:
    return {
        signature
        for section in sections(ENVIRONMENTS[name].libraries)
        for entry in section.entries
        for signature in entry.signatures
    }


def test_operators_functions_members_and_macros() -> None:
    shown = _signatures("vpol")
    assert {
        "int + int -> int",
        "A in list(A) -> bool",
        "size(string) -> int",
        "timestamp.getHours(string) -> int",
        "optional_type(V).hasValue() -> bool",
        "has(field)",
        "items.map(x, condition, result)",
        "math.greatest(…)",
    } <= shown


def test_every_macro_is_shown_as_it_is_written() -> None:
    for name, environment in ENVIRONMENTS.items():
        shown = _signatures(name)
        for each in environment.macros.values():
            assert any(f"{each.function}(" in text and "->" not in text for text in shown)


def test_what_only_macros_call_is_left_out() -> None:
    assert not [text for text in _signatures("vpol") if "@" in text or text.startswith("__")]


def test_a_listing_has_each_functions_meaning_and_an_example() -> None:
    lines = listing(ENVIRONMENTS["k8s"]).splitlines()
    place = lines.index("isQuantity(string) -> bool")
    assert lines[place + 1].startswith("    ")
    assert lines[place + 2].strip().startswith("isQuantity(")


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


@from_table("text", "message")
def test_a_wrong_signature_is_refused_where_it_is_declared(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message.replace('(', '[(]').replace(')', '[)]')}$"):
        overload(text)


def test_an_example_says_a_value_or_an_error() -> None:
    assert example_of("f('a//b')  // true") == Example("f('a//b')", "true")
    assert example_of("f('')  // error: no: a") == Example("f('')", "no: a", error=True)


@from_table("usage", "function", "receiver", "arguments")
def test_a_macro_is_read_from_its_usage(
    usage: str, function: str, receiver: bool, arguments: int
) -> None:
    declared = macro(usage, lambda _make, _target, _args: None)
    assert (declared.function, declared.receiver, declared.arguments) == (
        function,
        receiver,
        arguments,
    )


SCALARS: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.integers(0, 2**64 - 1).map(Uint),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.binary(max_size=8),
    st.integers(-(10**18), 10**18).map(Duration),
    st.integers(0, 10**18).map(Timestamp),
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
        inner.map(lambda value: OptionalValue(True, value)),
        st.just(NONE),
    ),
    max_leaves=6,
)


@given(VALUES, st.booleans())
def test_the_expression_gives_the_value(value: Value, lines: bool) -> None:
    # In gpol the members of a literal need not have one type.
    program = compile_expression(notation(value, lines=lines), ENVIRONMENTS["gpol"])
    back = program.evaluate({})
    assert type_of(back) == type_of(value)
    assert equal(back, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, 'double("NaN")'),
        (-math.inf, 'double("-Infinity")'),
        (b'\x00"a', r'b"\x00\x22a"'),
        (INT, "int"),
        (Struct(opaque("Object"), {"a": [1]}), "Object{a: [1]}"),
        ({1: True, "b": {}}, '{1: true, "b": {}}'),
    ],
)
def test_what_is_written(value: Value, text: str) -> None:
    assert notation(value) == text


def test_notation_lines() -> None:
    assert notation({"a": [1, 2], "b": []}, lines=True) == (
        '{\n  "a": [\n    1,\n    2\n  ],\n  "b": []\n}'
    )


def test_named_values_are_what_makes_them() -> None:
    text = '[dyn(quantity("1Gi")), dyn(ip("10.0.0.1")), dyn(image("nginx:1.27"))]'
    value = compile_expression(text, ENVIRONMENTS["vpol"]).evaluate({})
    assert notation(value) == text.replace("dyn(", "").replace("))", ")")


_ACCOUNT = "dyn(user.parseServiceAccount('system:serviceaccount:a:b'))"


@from_table("expression", "message")
def test_what_does_not_compile(expression: str, message: str) -> None:
    with pytest.raises(CelCompileError, match=message):
        compile_expression(expression, ENVIRONMENTS["mpol"])


@from_table("expression", "message")
def test_what_has_no_value(expression: str, message: str) -> None:
    program = compile_expression(expression, ENVIRONMENTS["mpol"])
    with pytest.raises(CelError, match=message):
        program.evaluate({})


def test_a_variable_may_be_called_as_a_type() -> None:
    program = compile_expression("[1, 2].map(duration, duration + 1)", ENVIRONMENTS["mpol"])
    assert program.evaluate({}) == [2, 3]


def test_an_environment_imports_what_it_needs_alone() -> None:
    code = (
        "import sys; from chartkit.engine.cel.environments import ENVIRONMENTS; "
        "ENVIRONMENTS['standard']; "
        "print(*[name for name in sys.modules if name.startswith('chartkit.engine.cel.library.k')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_command_line_starts_without_cel() -> None:
    code = "import sys, chartkit.cli.eval; print('chartkit.engine.cel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_an_environment_is_made_once() -> None:
    assert ENVIRONMENTS["k8s"] is ENVIRONMENTS["k8s"]
    assert "k8s" in ENVIRONMENTS
    assert "Object" not in ENVIRONMENTS
    assert len(ENVIRONMENTS) == len(list(ENVIRONMENTS))


def test_names_that_an_environment_has_not() -> None:
    environment = declaring(ENVIRONMENTS["k8s"], ["limit", "request"])
    assert compile_expression("limit + 1", environment).evaluate({"limit": 1}) == 2
    with pytest.raises(CelCompileError, match="undefined field 'nope'"):
        compile_expression("request.nope", environment)
    assert declaring(ENVIRONMENTS["k8s"], ["object"]) is ENVIRONMENTS["k8s"]


@pytest.mark.parametrize("name", ["vpol", "dpol", "ivpol"])
def test_a_policys_variables_are_known_once_they_are_given(name: str) -> None:
    with pytest.raises(CelCompileError, match="undefined field 'a'"):
        compile_expression("variables.a", ENVIRONMENTS[name])
    environment = declaring(ENVIRONMENTS[name], ["variables"])
    assert compile_expression("variables.a", environment).evaluate({"variables": {"a": 1}}) == 1

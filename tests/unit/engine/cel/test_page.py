"""`docs/reference/cel.md` against the language: every example, and the reference of functions."""

import doctest
from pathlib import Path

import pytest

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cel import CelCompileError, CelError, compile_expression, library
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS, declaring
from chartkit.engine.cel.explain import Example, sections
from chartkit.engine.cel.notation import notation
from chartkit.engine.cel.values import Value
from tests.cel_page import MARK, PAGE, libraries, reference, written_examples
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

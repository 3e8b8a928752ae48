"""Expressions made to hang, to burst or to break out: they end soon, with a typed error."""

import ast
import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, CelError, compile_expression
from chartkit.engine.cel.errors import CostLimitExceeded
from chartkit.engine.cel.values import Value
from tests.data import from_table
from tests.errors import error_of
from tests.unit.engine.cel.program.generated_code import generated_code

VPOL = ENVIRONMENTS["vpol"]
OBJECT: Mapping[str, Value] = {"l": list(range(10_000)), "s": "a" * 100_000}
DOUBLINGS = 60


def evaluate(source: str) -> Value:
    return compile_expression(source, VPOL).evaluate({"object": OBJECT})


def doubled(first: str, step: str, last: str = "x60.size()") -> str:
    """A value that grows at every step: `$` stands for the value before it."""
    names = [f"x{i}" for i in range(DOUBLINGS + 1)]
    steps = [first, *(step.replace("$", name) for name in names)]
    opened = "".join(f"cel.bind({n}, {v}, " for n, v in zip(names, steps, strict=False))
    return opened + last + ")" * len(names)


@pytest.mark.parametrize(
    "source",
    [
        "lists.range(999).all(x, lists.range(999).all(y, lists.range(999).all(z, x + y + z >= 0)))",
        "object.l.all(a, object.l.exists(b, object.l.exists_one(c, a + b == c)))",
        "object.l.map(a, object.l.map(b, object.l.map(c, a)))",
        "object.l.map(a, object.l.filter(b, b > a)).size()",
        "object.l.transformMap(i, v, object.l.transformMap(j, w, v + w))",
        "object.l.sortBy(x, object.l.sortBy(y, -y)[x])",
        "object.l.all(x, object.s.upperAscii() != '')",
        "object.l.all(x, object.s.indexOf('ab') < 0)",
        "object.l.all(x, object.s.replace('a', 'b') != '')",
        "object.l.all(x, object.s.findAll('a*').size() >= 0)",
        f"object.s.matches('{'(a|b)*' * 200}')",
        "object.s.split('').map(x, object.s.split(''))",
        "[object.l.map(a, object.l)].flatten(3)",
        "regex.replace(object.s, '', object.s)",
        "object.l.map(x, [x]).distinct().size()",
        "object.l.all(x, !([x] in object.l))",
        "object.l.all(x, object.l == object.l)",
        "object.l.all(x, (object.l + object.l).size() > 0)",
        "object.l.all(x, md5(object.s) != '')",
        "object.l.all(x, int(object.s) > 0 || true)",
        "object.l.all(x, random('[a-z]{100}') != '')",
        "object.l.all(x, 'a'.matches(string(x) + r'\\pL{1,100}') || true)",
        "object.s.matches('(a?){500}a{500}b')",
        "object.s.findAll('a.*b|a').size() > 0",
        "regex.replace(object.s, 'a.*b|a', 'c') != ''",
    ],
)
def test_too_much_work_is_stopped(source: str) -> None:
    with pytest.raises(CostLimitExceeded, match="actual cost limit exceeded"):
        evaluate(source)


@pytest.mark.parametrize(
    "source",
    [
        doubled("'abcdefghij'", "$ + $"),
        doubled("b'abcdefghij'", "$ + $"),
        doubled("object.l", "$ + $"),
        doubled("'aaaaaaaaaa'", "'%s%s'.format([$, $])"),
        doubled("'aaaaaaaaaa'", "$.replace('a', $)"),
        doubled("'aaaaaaaaaa'", "$.replace('', $)"),
        doubled("'aaaaaaaaaa'", "[$, $, $].join($)"),
        doubled("'aaaaaaaaaa'", "base64.encode(bytes($))"),
        doubled('\'"""\'', "strings.quote($)"),
        doubled('\'"""\'', "json.marshal($)"),
        doubled("[1]", "[$, $]", "'%s'.format([x60])"),
        doubled("[1]", "[$, $]", "json.marshal(x60)"),
        "lists.range(9223372036854775807).size()",
        "lists.range(100000000)",
        "'%.999999999f'.format([1.5])",
        "quantity('1e999999999').asInteger()",
        "quantity('9' + object.s)",
        "semver(object.s)",
        "timestamp(object.s)",
        "duration(object.s)",
        "url(object.s)",
        "random('(((a{1000}){1000}){1000})')",
        "random('[a-z]{100000000}')",
        "json.unmarshal('1e999999999')",
        f"json.unmarshal('{'[' * 20_000}')",
        f"json.unmarshal('{'9' * 5000}')",
        "1" + " * 9223372036854775807" * 10,
        "math.bitShiftLeft(1, -9223372036854775808)",
    ],
)
def test_growing_values_and_outsized_arguments_are_errors(source: str) -> None:
    with pytest.raises(CelError):
        evaluate(source)


def test_a_list_woven_of_itself_is_no_more_than_its_threads() -> None:
    assert evaluate(doubled("[1]", "[$, $]", "x60.size()")) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        f"int('{'9' * 5000}')",
        f"double('{'9' * 5000}')",
        "object.s.matches('((a{100}){100}){100}')",
        "object.s.matches('a{1000}{1000}{1000}')",
        "'%.99999999999999999999f'.format([1.5])",
        "(" * 100_001,
        "[" * 20_000,
        "-" * 20_000,
        "a." * 20_000 + "a",
        "1+" * 20_000 + "1",
        "object" + ".optMap(a, a)" * 100,
        "x.all(a, " * 5000,
        "'\\" * 40_000,
        '"""' * 33_333,
        "#" * 100_000,
        "9" * 90_000,
        "f(" + "1," * 5_000,
        " || ".join(f"'a'.matches(r'\\pL{{{each},100}}')" for each in range(60)),
        " || ".join(f"'a'.find(r'\\pL{{{each},99}}') == ''" for each in range(60)),
    ],
)
def test_outsized_texts_do_not_compile(source: str) -> None:
    assert len(str(error_of(CelCompileError, compile_expression, source, VPOL))) < 3_000_000


def nested(opening: str, closing: str, depth: int) -> str:
    return opening * depth + "1" + closing * depth


@pytest.mark.parametrize("depth", [50, 100, 150, 200, 249])
@from_table("opening", "closing")
def test_deep_nesting_has_a_value_or_does_not_compile(
    opening: str, closing: str, depth: int
) -> None:
    try:
        evaluate(nested(opening, closing, depth))
    except (CelCompileError, CelError) as error:
        assert str(error)  # noqa: PT017 - either is right; no other error is


@pytest.mark.parametrize("macro", ["map", "filter", "all", "exists_one", "transformMap"])
@pytest.mark.parametrize("depth", [14, 15, 16, 21, 30])
def test_deeply_nested_macros_do_not_crash_the_interpreter(macro: str, depth: int) -> None:
    variables, condition = ("i, v", "v") if macro == "transformMap" else ("x", "1 == ")
    value = {"map": "", "transformMap": ""}.get(macro, condition)
    source = nested(f"[1].{macro}({variables}, {value}", ")", depth)
    with suppress(CelCompileError, CelError):
        evaluate(source)


def from_a_deep_stack(source: str, variables: Mapping[str, Value], frames: int) -> Value:
    if frames:
        return from_a_deep_stack(source, variables, frames - 1)
    return compile_expression(source, VPOL).evaluate(variables)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [40, 80, 120])
def test_a_stack_that_is_nearly_full(depth: int) -> None:
    free = sys.getrecursionlimit() - len(inspect.stack(0)) - 40
    for source in (nested("[", "]", depth), nested("[1].map(x, ", ")", depth), "1" + "+1" * depth):
        for frames in range(0, free, 7):
            with suppress(CelCompileError, CelError):
                from_a_deep_stack(source, {}, frames)


@from_table("source")
def test_deep_values_are_a_typed_error(source: str) -> None:
    deep: list[dict[str, Value]] = [{}, {}]
    for _ in range(2000):
        deep = [{"x": value} for value in deep]
    with pytest.raises(CelError):
        from_a_deep_stack(source, {"object": deep[0], "oldObject": deep[1]}, 0)


@pytest.mark.parametrize("name", ["__import__", "open", "eval", "globals", "_run", "k0", "v", "m"])
def test_pythons_names_are_not_there(name: str) -> None:
    with pytest.raises(CelCompileError, match="undeclared reference"):
        compile_expression(f"{name}('os')", VPOL)
    with pytest.raises(CelCompileError, match="undeclared reference"):
        compile_expression(name, VPOL)


@from_table("source")
def test_pythons_attributes_are_not_there(source: str) -> None:
    with pytest.raises(CelError):
        evaluate(source)


@pytest.mark.parametrize(
    "name", ["class", "lambda", "None", "True", "def", "__builtins__", "_run", "k0", "a1", "m", "v"]
)
def test_variables_may_have_names_of_python(name: str) -> None:
    assert evaluate(f"[1, 2].map({name}, {name} + 1)") == [2, 3]
    assert evaluate(f"[[1]].map({name}, {name}.map(x, {name}.size() + x))") == [[2]]
    assert evaluate(f"cel.bind({name}, 3, [1].all(x, {name} == 3))") is True


TEXTS = [
    "'",
    '"',
    "\\",
    "'''",
    '"""',
    "\n",
    "\r\n",
    "\0",
    "{0}",
    "{x!r}",
    "%s",
    "#",
    "é😀",
    "\u2028",
    "'); import os; ('",
    '"\nimport os\n"',
    "__class__",
    "\\N{DIGIT ONE}",
]


def quoted(text: str) -> str:
    """A literal in which every character is an escape."""
    return "'" + "".join(f"\\U{ord(char):08x}" for char in text) + "'"


@pytest.mark.parametrize("text", TEXTS, ids=[ascii(text) for text in TEXTS])
def test_texts_stay_texts(text: str) -> None:
    literal = quoted(text)
    assert evaluate(literal) == text
    assert evaluate(f"dyn({{{literal}: {literal}}})[{literal}]") == text
    assert evaluate(f"[{literal}].map(x, x + {literal})") == [text + text]
    assert evaluate(f"bytes({literal})") == text.encode()
    with pytest.raises(CelError, match="no such key"):
        evaluate(f"object[{literal}]")


def test_generated_code_holds_no_text_of_the_author() -> None:
    program = compile_expression(
        "object.secret_field.map(secret_name, secret_name + 'secret text' + string(4711))"
        " == ['secret'] || object['secret_key'] in {'secret_key': 4711}",
        VPOL,
    )
    source = generated_code(program)
    assert "secret" not in source
    assert "4711" not in source
    nodes = list(ast.walk(ast.parse(source)))
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert not any(name.startswith("_") for name in named)

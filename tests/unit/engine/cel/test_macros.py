"""What macros become, and what they do not take."""

import pytest

from chartkit.engine.cel.ast import Call, Comprehension, Literal
from chartkit.engine.cel.declarations import Library, environment
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.library import standard
from chartkit.engine.cel.library.extensions import bindings, lists, maths, optionals, two_variable
from chartkit.engine.cel.library.kyverno import or_value
from chartkit.engine.cel.parser.entry import parse
from tests.data import from_table
from tests.errors import error_of
from tests.unit.engine.cel.outlines import outline

FAMILIES = (standard, two_variable, optionals, bindings, lists, maths)
LIBRARIES = (*(each.LIBRARY for each in FAMILIES), bindings.PROTOS_LIBRARY)
MACROS = environment("macros", LIBRARIES)


@from_table("source", "tree", named_by="source")
def test_macros_expansion(source: str, tree: str) -> None:
    found = outline(parse(source, MACROS).root, places=False)
    assert found.replace("@result", "$").replace("@__sortBy_input__", "%") == tree


UNSORTABLE = (
    "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
)
REFUSALS = [
    ("has(a)", "invalid argument to has() macro", 4),
    ("has(a[0])", "invalid argument to has() macro", 5),
    ("a.all(1, x)", "argument must be a simple name", 6),
    ("a.exists(x.y, x)", "argument must be a simple name", 10),
    ("a.exists_one([x], x)", "argument must be a simple name", 13),
    ("a.map(1, x)", "argument is not an identifier", 6),
    ("a.map(x(), y, z)", "argument is not an identifier", 7),
    ("a.filter('x', y)", "argument is not an identifier", 9),
    ("a.all(__result__, x)", "iteration variable overwrites accumulator variable", 6),
    ("a.filter(__result__, x)", "iteration variable overwrites accumulator variable", 9),
    ("a.all(1, x, x)", "argument must be a simple name", 6),
    ("a.exists(i, i, x)", "duplicate variable name: i", 12),
    ("a.all(__result__, x, x)", "iteration variable overwrites accumulator variable", 6),
    ("a.transformList(x, __result__, x)", "iteration variable overwrites accumulator variable", 19),
    ("cel.bind(1, a, x)", "cel.bind() variable names must be simple identifiers", 9),
    ("a.optMap(1, x)", "optMap() variable name must be a simple identifier", 9),
    ("a.optFlatMap(x.y, x)", "optFlatMap() variable name must be a simple identifier", 14),
    ("a.sortBy(1, x)", "argument is not an identifier", 9),
    ("1.sortBy(x, x)", UNSORTABLE, 0),
    ("math.greatest()", "math.greatest() requires at least one argument", 0),
    ("math.least()", "math.least() requires at least one argument", 0),
    ("math.greatest('a')", "math.greatest() invalid single argument value", 14),
    ("math.greatest([])", "math.greatest() invalid single argument value", 14),
    ("math.least(['a'])", "math.least() invalid single argument value", 11),
    ("math.least(1, 'a')", "math.least() simple literal arguments must be numeric", 14),
    ("math.greatest(1, 2, null)", "math.greatest() simple literal arguments must be numeric", 20),
    ("proto.getExt(m, a)", "invalid extension field", 16),
    ("proto.hasExt(m, a.b().c)", "invalid extension field", 21),
]


@pytest.mark.parametrize(
    ("source", "message", "offset"), REFUSALS, ids=[each[0] for each in REFUSALS]
)
def test_macros_refusal(source: str, message: str, offset: int) -> None:
    error = error_of(CelCompileError, parse, source, MACROS)
    issue = error.issues[0]
    assert (issue.message, issue.offset) == (message, offset)


@pytest.mark.parametrize(
    "source", ["all(x, x)", "a.all(x)", "a.has(b)", ".has(a.b)", "bind(a, 1, a)"]
)
def test_other_shapes_are_calls(source: str) -> None:
    parsed = parse(source, MACROS)
    assert isinstance(parsed.root, Call)
    assert not parsed.macro_calls


def test_macro_call_is_kept() -> None:
    parsed = parse("a.map(x, has(x.y))", MACROS)
    root = parsed.root
    assert isinstance(root, Comprehension)
    written = parsed.macro_calls[root.id]
    assert (written.function, len(written.args)) == ("map", 2)
    assert {call.function for call in parsed.macro_calls.values()} == {"map", "has"}


def test_expansion_stands_at_the_parenthesis() -> None:
    root = parse("a.all(x, x.b)", MACROS).root
    assert isinstance(root, Comprehension)
    assert root.offset == root.loop_step.offset == root.result.offset == 5
    assert root.iter_range.offset == 0


def test_what_an_expansion_needs_twice_has_ids_of_its_own() -> None:
    root = parse("f([1, {2: 3}, a.b{c: x.map(y, y)}]).optMap(v, v)", MACROS).root
    assert isinstance(root, Call)
    first, second = root.args[0], root.args[1]
    assert isinstance(first, Call)
    assert isinstance(second, Call)
    bound = second.args[0]
    assert isinstance(bound, Comprehension)
    value = bound.accu_init
    assert isinstance(value, Call)
    assert first.target is not None
    assert value.target is not None
    assert outline(first.target, places=False) == outline(value.target, places=False)
    assert first.target.id != value.target.id


@pytest.mark.slow
def test_expansions_that_double_are_limited() -> None:
    error = error_of(CelCompileError, parse, "x" + ".optMap(a, a)" * 100, MACROS)
    message = error.issues[0].message
    assert message == "expression count exceeds limit of 100000 while expanding macro 'optMap'"


def test_or_value_takes_any_value() -> None:
    compatible = environment("compatible", (Library("orValue", macros=or_value.LIBRARY.macros),))
    root = parse("a.b.orValue(1)", compatible).root
    assert outline(root, places=False) == "__orValueCompat__(select(a, b), 1)"
    plain = parse("a.orValue(1, 2)", compatible).root
    assert isinstance(plain, Call)
    assert isinstance(plain.args[0], Literal)

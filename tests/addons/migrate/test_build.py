"""Expressions built in Python."""

import pytest

from chartkit.addons.migrate.expressions import build as cel
from chartkit.engine.cel import ENVIRONMENTS
from chartkit.engine.cel.syntax import Expr, format_expression, read
from chartkit.model import Json

VPOL = ENVIRONMENTS["vpol"]
A, B, C = (cel.ident(name) for name in "abc")
OBJECT = cel.ident("object")
_A_B = cel.or_value(cel.optional_field(A, "b"), None)
_GIVEN = cel.not_equal(cel.or_value(cel.optional_field(A, "b"), ""), "")
_OR_X = cel.conditional(_GIVEN, cel.path("a", "b"), "x")
_FILTERED = cel.macro(A, "filter", "c", cel.path("c", "d"))


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (cel.path("object", "metadata", "namespace"), "object.metadata.namespace"),
        (cel.path("object", "spec", 0, "my-key"), "object.spec[0]['my-key']"),
        (cel.field(OBJECT, "in"), "object['in']"),
        (cel.optional_field("object", "spec", "a.b", 0), "object.?spec[?'a.b'][?0]"),
        (cel.or_value(cel.optional_field(A, "b"), [1, "x"]), "a.?b.orValue([1, 'x'])"),
        (cel.index(A, B), "a[b]"),
        (cel.variable("images"), "variables.images"),
        (cel.has(OBJECT, "spec"), "has(object.spec)"),
        (cel.has(OBJECT, "my-key"), "'my-key' in object"),
        (cel.macro(A, "all", "c", cel.equal(C, 1)), "a.all(c, c == 1)"),
        (cel.bind("x", A, cel.path("x", "y")), "cel.bind(x, a, x.y)"),
        (cel.call("size", A), "size(a)"),
        (cel.method("a", "startsWith", B), "'a'.startsWith(b)"),
        (cel.contains(["a", "b"], A), "a in ['a', 'b']"),
        (cel.not_equal(A, None), "a != null"),
        (cel.compare("<", cel.compare("+", A, 1), 2.5), "a + 1 < 2.5"),
        (cel.conditional(A, "x", {"k": True}), "a ? 'x' : {'k': true}"),
        (cel.concat("x", "y ", A, " z", "!"), "'xy ' + a + ' z!'"),
        (cel.concat(), "''"),
        (cel.all_of([A, cel.all_of([B, C]), cel.any_of([A, B])]), "a && b && c && (a || b)"),
        (cel.all_of([]), "true"),
        (cel.any_of([]), "false"),
        (cel.any_of([A]), "a"),
        (cel.list_of([A, 1]), "[a, 1]"),
        (cel.map_of({"k": A}), "{'k': a}"),
        (cel.struct("Object.spec", {"x": A}), "Object.spec{x: a}"),
        (cel.literal(float("-inf")), "double('-Infinity')"),
        (cel.negate(cel.equal(A, 1)), "a != 1"),
        (cel.negate(cel.not_equal(A, 1)), "a == 1"),
        (cel.negate(cel.negate(A)), "a"),
        (cel.negate(True), "false"),
        (cel.negate(cel.has(A, "b")), "!has(a.b)"),
        (cel.negate(cel.contains(A, B)), "!(b in a)"),
        (cel.negate(cel.compare("<", A, B)), "!(a < b)"),
        (cel.negate(cel.compare("<", A, 1)), "!(a < 1)"),
        (cel.negate(cel.compare("<", A, "x")), "a >= 'x'"),
        (cel.negate(cel.compare(">", cel.call("size", A), 1)), "size(a) <= 1"),
        (cel.negate(cel.compare(">=", cel.call("duration", "1h"), A)), "duration('1h') < a"),
        (cel.negate(cel.all_of([cel.equal(A, 1), cel.negate(B)])), "a != 1 || b"),
        (cel.negate(cel.any_of([cel.equal(A, 1), B])), "!(a == 1 || b)"),
        (cel.equal(_A_B, "x"), "a.?b.orValue('') == 'x'"),
        (cel.equal(_A_B, ""), "a.?b.orValue(null) == ''"),
        (cel.equal(_A_B, False), "a.?b.orValue(true) == false"),
        (cel.not_equal(_A_B, 0), "a.?b.orValue(null) != 0"),
        (cel.contains(["x", ""], _A_B), "a.?b.orValue(null) in ['x', '']"),
        (cel.equal(_OR_X, "x"), "a.?b.orValue('') in ['', 'x']"),
        (cel.not_equal(_OR_X, "y"), "a.?b.orValue('') != 'y'"),
        (cel.contains(["y", "", "z"], _OR_X), "a.?b.orValue('') in ['y', 'z']"),
        (cel.macro(A, "exists", "c", cel.equal(C, "x")), "'x' in a"),
        (cel.macro(A, "exists", "c", cel.equal(B, "x")), "a.exists(c, b == 'x')"),
        (cel.compare(">=", cel.method(_FILTERED, "size"), 1), "a.exists(c, c.d)"),
        (cel.equal(cel.method(_FILTERED, "size"), 0), "!a.exists(c, c.d)"),
        (cel.compare(">", cel.method(_FILTERED, "size"), 1), "a.filter(c, c.d).size() > 1"),
        (cel.negate(cel.macro(A, "exists", "c", cel.equal(C, 1))), "a.all(c, c != 1)"),
        (cel.negate(cel.macro(A, "all", "c", cel.not_equal(C, "x"))), "'x' in a"),
        (cel.negate(cel.macro(A, "all", "c", cel.has(C, "d"))), "!a.all(c, has(c.d))"),
    ],
)
def test_build_text(expr: Expr, text: str) -> None:
    assert format_expression(expr) == text
    assert format_expression(read(text, VPOL)) == text


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, ["\ud800"], {"k": 2**64}])
def test_values_that_cel_has_not(value: Json) -> None:
    with pytest.raises(cel.NoLiteralError):
        cel.literal(value)


@pytest.mark.parametrize("name", ["namespace", "in", "my-key", ""])
def test_names_that_no_variable_has(name: str) -> None:
    with pytest.raises(cel.NoLiteralError):
        cel.ident(name)

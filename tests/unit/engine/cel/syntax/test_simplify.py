"""What is removed from expressions, and what is not."""

from __future__ import annotations

from collections import defaultdict

import pytest

from chartkit.engine.cel import ENVIRONMENTS, CelError, compile_expression
from chartkit.engine.cel.syntax import format_expression, read, simplify
from chartkit.engine.cel.syntax.simplify import BOOLEAN, EFFECTS

VPOL = ENVIRONMENTS["vpol"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("!true", "false"),
        ("!(!has(a.b))", "has(a.b)"),
        ("!(!a)", "!(!a)"),
        ("!(object.a == 1)", "object.a != 1"),
        ("!(object.a != 1)", "object.a == 1"),
        ("!('a' == variables.a)", "'a' != variables.a"),
        ("!(variables.a == 'a')", "!(variables.a == 'a')"),
        ("!(quantity(object.a) == b)", "!(quantity(object.a) == b)"),
        ("!(object.a < 1)", "!(object.a < 1)"),
        ("object.l.all(c, !(c.x == 1))", "object.l.all(c, c.x != 1)"),
        ("object.l.map(x, x.y).all(c, !(c == 1))", "object.l.map(x, x.y).all(c, c != 1)"),
        (
            "object.l.map(x, quantity(x)).all(c, !(c == 1))",
            "object.l.map(x, quantity(x)).all(c, !(c == 1))",
        ),
        ("[quantity('1')].all(object, !(object == 1))",) * 2,
        ("cel.bind(x, quantity('1'), !(x == 1))",) * 2,
        ("cel.bind(x, object.a, !(x == 1))", "cel.bind(x, object.a, x != 1)"),
        ("true && a && b", "a && b"),
        ("true && a", "true && a"),
        ("true && a && true", "true && a"),
        ("true && a == 1", "a == 1"),
        ("a || false || b", "a || b"),
        ("false && a", "false"),
        ("a || true", "true"),
        ("true || http.Get('x') == 1", "true || http.Get('x') == 1"),
        ("a && (b && c) && (d && a)", "a && b && c && d"),
        ("a || b || a", "a || b"),
        ("a && a", "a && a"),
        ("has(a.b) && has(a.b)", "has(a.b)"),
        ("random() == 'a' && random() == 'a'", "random() == 'a' && random() == 'a'"),
        ("has(a.b) ? true : false", "has(a.b)"),
        ("has(a.b) ? false : true", "!has(a.b)"),
        ("a ? true : false", "a ? true : false"),
        ("object.a == 1 ? false : true", "object.a != 1"),
        ("true ? a > 1 : false", "a > 1"),
        ("true ? 1 : dyn('a')", "true ? 1 : dyn('a')"),
        ("has(a.b) == true", "has(a.b)"),
        ("false == has(a.b)", "!has(a.b)"),
        ("a == true", "a == true"),
        ("(has(a.b) != false) ? !(!(b > 1)) : false", "has(a.b) ? b > 1 : false"),
        ("// why\ntrue && has(a.b)", "// why\nhas(a.b)"),
        ("a &&\n// why\ntrue && b", "a &&\n// why\ntrue &&\nb"),
    ],
)
def test_simplify_text(source: str, text: str) -> None:
    simple = simplify(read(source, VPOL))
    assert format_expression(simple) == text
    assert simplify(simple) == simple


def test_functions_that_are_bools_are_so_in_every_environment() -> None:
    returned: defaultdict[str, set[str]] = defaultdict(set)
    for environment in ENVIRONMENTS.values():
        for function in environment.functions.values():
            name = function.name.rpartition(".")[2]
            returned[name].update(str(each.returns) for each in function.overloads)
    assert {name for name in BOOLEAN if returned[name] != {"bool"}} == set()


def test_functions_with_effects_are_known() -> None:
    hosted = {
        each.function.rpartition(".")[2]
        for environment in ENVIRONMENTS.values()
        for function in environment.functions.values()
        for each in function.overloads
        if each.hosted
    }
    assert hosted == EFFECTS


def test_a_refused_comparison_is_the_reason_for_the_rule_of_plain_values() -> None:
    refused = compile_expression("!(dyn(quantity('1')) == dyn(1))", VPOL)
    with pytest.raises(CelError):
        refused.evaluate({})
    assert compile_expression("dyn(quantity('1')) != dyn(1)", VPOL).evaluate({}) is True

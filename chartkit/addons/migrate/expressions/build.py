"""Functions that build expressions as an author writes them.

    from chartkit.addons.migrate.expressions import build as cel

    pod = cel.path("object", "spec")
    cel.macro(cel.field(pod, "containers"), "all", "c", cel.has(cel.ident("c"), "resources"))

Plain values of Python (JSON's) are accepted wherever an expression is: they become literals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache, partial, reduce
from typing import Final, TypeAlias

from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.parser.parser import RESERVED
from chartkit.engine.cel.syntax import read, tree
from chartkit.engine.cel.syntax.tree import Expr, is_field_name
from chartkit.engine.cel.values import INT_MAX, INT_MIN, Scalar
from chartkit.model import Json

Operand: TypeAlias = Expr | Json
"""An expression, or a value, written as its literal."""

TRUE: Final = tree.Literal(True)
FALSE: Final = tree.Literal(False)
NULL: Final = tree.Literal(None)

_OPPOSITE: Final = {"==": "!=", "!=": "=="}
_COMPLEMENT: Final = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class NoLiteralError(ValueError):
    """A value that no expression of CEL can be, such as a number of more than 64 bits."""


def literal(value: Operand | Scalar) -> Expr:
    """Return a plain value as an expression; an expression is itself. Raise NoLiteralError."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, list):
        return tree.ListLiteral(tuple(map(literal, value)))
    if isinstance(value, dict):
        entries = (tree.MapEntry(tree.Literal(key), literal(item)) for key, item in value.items())
        return tree.MapLiteral(tuple(entries))
    if isinstance(value, float) and not math.isfinite(value):
        return call("double", str(value).replace("inf", "Infinity").replace("nan", "NaN"))
    if type(value) is int and not INT_MIN <= value <= INT_MAX:
        raise NoLiteralError(f"{value} does not fit into an int of CEL")
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        raise NoLiteralError("half of a surrogate pair is not a character of CEL")
    return tree.Literal(value)


def ident(name: str) -> tree.Ident:
    """Return a variable; raise NoLiteralError for a name that no variable can have."""
    if name in RESERVED or not is_field_name(name):
        raise NoLiteralError(f"'{name}' is not a name of a variable of CEL")
    return tree.Ident(name)


def variable(name: str) -> Expr:
    """Return a policy's variable: `variables.name`."""
    return field(tree.Ident("variables"), name)


def filled(template: str, **given: Operand) -> Expr:
    """Return an expression as it is written, with others in place of its variables."""
    values = {name: literal(value) for name, value in given.items()}

    def put(part: Expr) -> Expr:
        if isinstance(part, tree.Ident):
            return values.get(part.name, part)
        return tree.transform(part, put)

    return put(_read(template))


def nothing() -> Expr:
    """Return what is an error: the value of nothing."""
    return filled("optional.none().value()")


@cache
def _read(template: str) -> Expr:
    return read(template, ENVIRONMENTS["vpol"])


def field(target: Expr, key: str) -> Expr:
    """Return `target.key`, or `target['key']` where the key is not a name of a field.

    Reserved words such as `namespace` are names of fields: `object.metadata.namespace`. Only
    `in`, `true`, `false` and `null` are not. Of Kubernetes' typed objects (the schemas of
    definitions) reserved words are escaped (`__namespace__`); an admission policy's `object` is
    not typed.
    """
    return tree.Select(target, key) if is_field_name(key) else tree.Index(target, tree.Literal(key))


def index(target: Expr, key: Operand) -> Expr:
    """Return `target[key]`."""
    return tree.Index(target, literal(key))


def step(target: Expr, key: str | int | Expr, *, optional: bool = False) -> Expr:
    """Return the member of a map by a text, or of a list by a number; either may be computed.

    Of a map that is written out it is the value that stands there.
    """
    if isinstance(target, tree.MapLiteral):
        for entry in target.entries:
            if entry.key == literal(key):
                return entry.value
    if isinstance(key, str) and is_field_name(key):
        return tree.Select(target, key, optional)
    return tree.Index(target, literal(key), optional)


def path(root: str | Expr, *keys: str | int | Expr) -> Expr:
    """Return `root.a['my-key'][0]`."""
    return reduce(step, keys, ident(root) if isinstance(root, str) else root)


def optional_field(target: str | Expr, *keys: str | int | Expr) -> Expr:
    """Return `target.?a[?'my-key'][?0]`, an optional value."""
    of_key = partial(step, optional=True)
    return reduce(of_key, keys, ident(target) if isinstance(target, str) else target)


def settled(optional: Expr) -> Expr:
    """Return a path with optional steps as it is read where they are all there: `target.a.b`."""
    match optional:
        case tree.Select(operand, key):
            return tree.Select(settled(operand), key)
        case tree.Index(operand, key):
            return tree.Index(settled(operand), key)
    return optional


def or_value(optional: Expr, default: Operand) -> Expr:
    """Return `optional.orValue(default)`."""
    return method(optional, "orValue", default)


def has(target: Expr, key: str) -> Expr:
    """Return `has(target.key)`, or `'key' in target` where the key is not a name of a field.

    The target must be a map: of a list, `in` asks for an element.
    """
    if is_field_name(key):
        return tree.Call("has", None, (tree.Select(target, key),))
    return contains(target, key)


def call(function: str, *args: Operand) -> Expr:
    """Return `function(args)`."""
    return tree.Call(function, None, tuple(map(literal, args)))


def method(target: Operand, function: str, *args: Operand) -> Expr:
    """Return `target.function(args)`, a macro among others."""
    return tree.Call(function, literal(target), tuple(map(literal, args)))


def macro(target: Operand, function: str, variable: str, *bodies: Operand) -> Expr:
    """Return `target.function(variable, bodies)`: `all`, `exists`, `filter`, `map` and so on.

    An `exists` that looks for one text is an `in`.
    """
    match function, bodies:
        case "exists", (tree.Binary("==", tree.Ident(name), tree.Literal(str()) as text),):
            if name == variable:
                return contains(target, text)
    return tree.Call(function, literal(target), (ident(variable), *map(literal, bodies)))


def bind(variable: str, value: Operand, body: Operand) -> Expr:
    """Return `cel.bind(variable, value, body)`."""
    return macro(tree.Ident("cel"), "bind", variable, value, body)


def compare(operator: str, left: Operand, right: Operand) -> Expr:
    """Return `left operator right`, of any operator but `&&` and `||`.

    CEL compares no two values of types that are known to differ: of these, one is `dyn`.
    """
    first, second = literal(left), literal(right)
    shorter = _shorter(operator, first, second)
    if shorter is not None:
        return shorter
    if operator in ("==", "!="):
        others = {_class_of(second)}
    elif operator == "in" and isinstance(second, tree.ListLiteral):
        others = set(map(_class_of, second.elements))
    else:
        others = set()
    if _class_of(first) and any(others - {_class_of(first)}):
        first = call("dyn", first)
    return tree.Binary(operator, first, second)


_SOME: Final = (">0", ">=1", "!=0")
_NONE: Final = ("<=0", "<1", "==0")


def _shorter(operator: str, first: Expr, second: Expr) -> Expr | None:
    """Return a comparison as an author says it without the operator, or with another default; None
    where it stays as it is."""
    match operator, first, second:
        case "==" | "!=", tree.Binary("==" | "!=" | "in"), tree.Literal(bool() as value):
            return first if (operator == "==") is value else negate(first)
        case _, tree.Call("size", tree.Call() as listed, ()), tree.Literal(int() as count):
            some, test = _has_element(listed), f"{operator}{count}"
            if some is not None and test in (*_SOME, *_NONE):
                return some if test in _SOME else negate(some)
        case "==" | "!=" | "in", tree.Call("orValue", asked, (tree.Literal(None),)), _:
            default = _unlike(second)
            return (
                None
                if default is None
                else compare(operator, method(asked, "orValue", default), second)
            )
        case "==" | "!=" | "in", tree.Conditional(_, _, tree.Literal(str() as default)), _:
            text, texts = _text_or_empty(first), _texts(second)
            if text is not None and texts is not None:
                texts = ["", *texts] if default in texts else [item for item in texts if item]
                found = contains(texts, text) if len(texts) != 1 else equal(text, texts[0])
                return negate(found) if operator == "!=" else found
    return None


def _text_or_empty(expr: Expr) -> Expr | None:
    """Return `a.?b.orValue('')` of a text with another in place of an empty one:
    `a.?b.orValue('') != '' ? a.b : 'x'`; None for another expression."""
    match expr:
        case tree.Conditional(tree.Binary("!=", tree.Call("orValue", asked) as text, empty), then):
            is_empty = text.args == (empty,) == (tree.Literal(""),)
            return text if is_empty and asked is not None and then == settled(asked) else None
    return None


def _texts(expr: Expr) -> list[str] | None:
    """Return the texts of a literal or a list of literals; None for another expression."""
    values = expr.elements if isinstance(expr, tree.ListLiteral) else (expr,)
    texts = [value.value for value in values if isinstance(value, tree.Literal)]
    strings = [text for text in texts if isinstance(text, str)]
    return strings if len(strings) == len(values) else None


def _has_element(listed: Expr) -> Expr | None:
    """Report whether a list has an element, of one that is filtered; None for another."""
    match listed:
        case tree.Call("filter", target, (tree.Ident(name), test)):
            return macro(target, "exists", name, test)
        case tree.Call("flatten", tree.Call("map", target, (tree.Ident(name), inner)), ()):
            some = _has_element(inner)
            return None if some is None else macro(target, "exists", name, some)
        case tree.Call("map", tree.Call() as target, (_, _)):
            return _has_element(target)
    return None


def _unlike(value: Expr) -> Json:
    """Return a default that equals none of the values that another is compared with: the empty
    value of their type, null where they have it."""
    values = value.elements if isinstance(value, tree.ListLiteral) else (value,)
    given = [item.value for item in values if isinstance(item, tree.Literal)]
    kinds = set(map(type, given))
    if len(given) < len(values) or len(kinds) != 1 or None in given:
        return None
    if given[0] is False:
        return None if True in given else True
    empty: Json = kinds.pop()()
    return None if empty in given else empty


_CLASSES: Final = {
    **dict.fromkeys(("map", "filter", "flatten", "split"), "list"),
    **dict.fromkeys(("exists", "all", "has", "matches", "contains", "startsWith"), "bool"),
    "size": "int",
    "string": "string",
}
"""By function: the class of what it returns."""
_TESTS: Final = frozenset(("==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "!"))


def _class_of(expression: Expr) -> str:
    """Return the class of values that an expression has by its form; empty where it may be any."""
    match expression:
        case tree.Literal(None):
            return ""
        case tree.Literal(str()):
            return "string"
        case tree.Literal(value):
            return type(value).__name__
        case tree.ListLiteral():
            return "list"
        case tree.MapLiteral():
            return "map"
        case tree.Call(function):
            return _CLASSES.get(function, "")
        case tree.Binary("+", left, right):
            return _class_of(left) or _class_of(right)
        case tree.Binary(operator) | tree.Chain(operator) | tree.Unary(operator):
            return "bool" if operator in _TESTS else ""
    return ""


def equal(left: Operand, right: Operand) -> Expr:
    """Return `left == right`."""
    return compare("==", left, right)


def not_equal(left: Operand, right: Operand) -> Expr:
    """Return `left != right`."""
    return compare("!=", left, right)


def contains(collection: Operand, member: Operand) -> Expr:
    """Return `member in collection`."""
    return compare("in", member, collection)


def concat(*parts: Operand) -> Expr:
    """Return the parts joined with `+`; texts next to each other become one."""
    terms: list[Expr] = []
    for part in map(literal, parts):
        match terms[-1] if terms else None, part:
            case tree.Literal(str() as before), tree.Literal(str() as text):
                terms[-1] = tree.Literal(before + text)
            case _:
                terms.append(part)
    joined, *rest = terms or [tree.Literal("")]
    for term in rest:
        joined = tree.Binary("+", joined, term)
    return joined


def undyned(expr: Expr) -> Expr:
    """Return an expression without the `dyn` that lists of several types need."""
    match expr:
        case tree.Call("dyn", None, (inner,)):
            return inner
    return expr


def _is_text(expr: Expr) -> bool:
    return isinstance(expr, tree.Literal) and isinstance(expr.value, str)


def conditional(condition: Operand, then: Operand, otherwise: Operand) -> Expr:
    """Return `condition ? then : otherwise`."""
    return tree.Conditional(literal(condition), literal(then), literal(otherwise))


def list_of(elements: Iterable[Operand]) -> Expr:
    """Return `[elements]`."""
    return tree.ListLiteral(tuple(map(literal, elements)))


def map_of(entries: Mapping[str, Operand]) -> Expr:
    """Return `{key: value}`."""
    return tree.MapLiteral(
        tuple(tree.MapEntry(tree.Literal(key), literal(e)) for key, e in entries.items())
    )


def struct(name: str, fields: Mapping[str, Operand]) -> Expr:
    """Return `Name{field: value}`, such as `Object.spec{…}` and `JSONPatch{…}`."""
    return tree.StructLiteral(
        name, tuple(tree.FieldEntry(key, literal(e)) for key, e in fields.items())
    )


def all_of(terms: Iterable[Operand]) -> Expr:
    """Return the terms joined with `&&`, flat; true for none."""
    return _joined("&&", terms, TRUE)


def any_of(terms: Iterable[Operand]) -> Expr:
    """Return the terms joined with `||`, flat; false for none."""
    return _joined("||", terms, FALSE)


def _joined(operator: str, terms: Iterable[Operand], empty: Expr) -> Expr:
    flat: list[Expr] = []
    for term in map(literal, terms):
        nested = isinstance(term, tree.Chain) and term.operator == operator
        flat += term.terms if nested and isinstance(term, tree.Chain) else (term,)
    if len(flat) < 2:
        return flat[0] if flat else empty
    return tree.Chain(operator, tuple(flat))


def negate(condition: Operand) -> Expr:
    """Return `!condition`, written without the `!` where that says the same.

    The condition must be a bool or an error. `==` and `!=` change places, a literal becomes the
    other, a `!` goes away; a chain of which every term takes it so becomes the other chain. `<`
    and its kin change only where an operand is a text, a duration or a timestamp, or a size or
    a field of the request is compared with a whole number: another double could be NaN, of
    which neither `<` nor `>=` holds.
    Operands of `==` are values of JSON: a quantity or a URL compared with another type is an
    error, which `!=` hides.
    """
    expr = literal(condition)
    return _opposite(expr) or tree.Unary("!", expr)


def _opposite(expr: Expr) -> Expr | None:
    """Return the negation of an expression if it needs no `!` before it."""
    match expr:
        case tree.Literal(bool() as value):
            return tree.Literal(not value)
        case tree.Unary("!", operand):
            return operand
        case tree.Call("exists" | "all" as loop, target, (variable, body)):
            opposite = _opposite(body)
            other = "all" if loop == "exists" else "exists"
            if opposite is None or not isinstance(variable, tree.Ident):
                return None
            return macro(target, other, variable.name, opposite)
        case tree.Binary(operator, left, right) if operator in _OPPOSITE:
            return tree.Binary(_OPPOSITE[operator], left, right)
        case tree.Binary(operator, left, right) if operator in _COMPLEMENT and _is_total(
            left, right
        ):
            return tree.Binary(_COMPLEMENT[operator], left, right)
        case tree.Chain(operator, terms):
            opposites = [_opposite(term) for term in terms]
            if None in opposites:
                return None
            join = any_of if operator == "&&" else all_of
            return join(opposite for opposite in opposites if opposite is not None)
        case tree.Conditional(condition, then, otherwise) if _is_bool(then, otherwise):
            return conditional(condition, negate(then), negate(otherwise))
        case tree.Conditional(condition, then, otherwise):
            first, second = _opposite(then), _opposite(otherwise)
            if first is None or second is None:
                return None
            return conditional(condition, first, second)
        case _:
            return None


def _is_bool(*branches: Expr) -> bool:
    return any(isinstance(part, tree.Literal) and isinstance(part.value, bool) for part in branches)


def _is_total(left: Expr, right: Expr) -> bool:
    """Report whether exactly one of `<` and `>=` holds of two operands that compare."""
    if any(_is_text(side) or _is_call(side, "duration", "timestamp") for side in (left, right)):
        return True
    if any(map(_is_of_request, (left, right))):
        return any(map(_is_whole, (left, right)))
    return all(_is_call(side, "size") or _is_whole(side) for side in (left, right))


def _is_of_request(expr: Expr) -> bool:
    """Report whether an expression is a field of the request: JSON has no NaN."""
    if isinstance(expr, tree.Call) and expr.function == "orValue" and expr.target is not None:
        expr = expr.target
    while isinstance(expr, tree.Select | tree.Index):
        expr = expr.operand
    return isinstance(expr, tree.Ident) and expr.name in ("object", "oldObject")


def _is_call(expr: Expr, *functions: str) -> bool:
    return isinstance(expr, tree.Call) and expr.function in functions


def _is_whole(expr: Expr) -> bool:
    return isinstance(expr, tree.Literal) and type(expr.value) is int

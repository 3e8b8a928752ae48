"""Simplification: rules that remove what adds nothing; each keeps every value and every error.

- `!true`, `!(!x)`; `!(x == y)` and `!(x != y)` where x is no value of Kubernetes' own types, whose
  comparison with another type is an error that `!=` hides
- `true && x`, `x && x`, `false && x` and their kin of `||`; chains within chains of one operator
- `x ? true : false`, `x ? false : true`; a constant condition between bools
- `x == true`, `x != true`, `x == false`, `x != false`

A rule that leaves one operand holds only where that is a bool or an error, as its form shows:
`true && x` refuses a text, x does not. `&&` and `||` absorb errors, give the first one otherwise,
and are associative in that. What calls a service or is commented stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.engine.cel.syntax import tree
from chartkit.engine.cel.syntax.tree import Expr

DOCUMENTS: Final = frozenset({"object", "oldObject", "request", "namespaceObject", "params"})
"""Variables that hold documents: values of JSON, none of Kubernetes' own types."""

BOOLEAN: Final = frozenset(
    (
        *("startsWith", "endsWith", "contains", "matches", "hasValue", "isSorted", "isImage"),
        *("isQuantity", "isInteger", "isGreaterThan", "isLessThan", "isSemver", "isURL", "isIP"),
        *("isCIDR", "containsIP", "containsCIDR"),
    )
)
"""Functions of which every overload gives a bool."""

EFFECTS: Final = frozenset(
    (
        *("apply", "extractPayload", "get", "getImageData", "getMetadata", "list", "now", "post"),
        *("random", "toGVR", "verifyAttestationSignatures", "verifyImageSignatures"),
        *("Apply", "Get", "GetMetadata", "List", "Post", "ToGVR"),
    )
)
"""Functions that ask the world, or give another value each time."""

PLAIN: Final = frozenset(
    (
        *("size", "string", "int", "double", "lowerAscii", "upperAscii", "trim", "replace"),
        *("substring", "charAt", "indexOf", "lastIndexOf", "split", "join", "format", "find"),
        *("findAll", "duration", "timestamp"),
    )
)
"""Functions that give texts, numbers and times."""

_QUANTIFIERS: Final = frozenset({"all", "exists", "exists_one", "existsOne"})
_RELATIONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_OPPOSITE: Final = {"==": "!=", "!=": "=="}
_Names = frozenset[str]


def simplify(expr: Expr) -> Expr:
    """Return an expression of the same value, or the same error, without what adds nothing."""
    return _simplified(expr, DOCUMENTS)


def _simplified(expr: Expr, plain: _Names) -> Expr:
    """Simplify the parts, then the whole; plain: the variables that hold documents."""
    scopes = iter(_scopes(expr, plain))
    made = tree.transform(expr, lambda part: _simplified(part, next(scopes)))
    match made:
        case tree.Unary("!", operand):
            return _negated(operand, plain) or made
        case tree.Binary(operator, left, right) if operator in _OPPOSITE:
            return _compared(operator, left, right, plain) or made
        case tree.Chain():
            return _joined(made)
        case tree.Conditional():
            return _chosen(made, plain) or made
        case _:
            return made


def _scopes(expr: Expr, plain: _Names) -> Iterator[_Names]:
    """Yield the variables that hold documents, for each part of an expression."""
    inside = plain
    if isinstance(expr, tree.Call) and expr.target is not None:
        yield plain
        if expr.function == "bind":
            yield from (plain, plain)
        inside = _inside(expr, plain)
    while True:
        yield inside


def _inside(call: tree.Call, plain: _Names) -> _Names:
    """Return the variables that hold documents in a macro's last arguments."""
    variables = map(tree.bare, call.args[: tree.variables_of(call)])
    names = {variable.name for variable in variables if isinstance(variable, tree.Ident)}
    source = call.args[1] if call.function == "bind" and names else call.target
    return plain | names if source and _is_plain(source, plain) else plain - names


def _negated(operand: Expr, plain: _Names) -> Expr | None:
    match operand:
        case tree.Literal(bool() as value):
            return tree.Literal(not value)
        case tree.Unary("!", inner) if _is_boolean(inner):
            return inner
        case tree.Binary(operator, left, right) if operator in _OPPOSITE and _is_plain(left, plain):
            return tree.Binary(_OPPOSITE[operator], left, right)
        case _:
            return None


def _compared(operator: str, left: Expr, right: Expr, plain: _Names) -> Expr | None:
    """Return a comparison of a bool with a constant as the bool itself or its negation."""
    for one, other in ((left, right), (right, left)):
        if isinstance(other, tree.Literal) and isinstance(other.value, bool) and _is_boolean(one):
            same = other.value == (operator == "==")
            return one if same else _negated(one, plain) or tree.Unary("!", one)
    return None


def _joined(expr: tree.Chain) -> Expr:
    operator = expr.operator
    terms: list[Expr] = []
    for term in _flat(expr):
        if not (term in terms and _may_go(term)):
            terms.append(term)
    decisive, neutral = tree.Literal(operator == "||"), tree.Literal(operator == "&&")
    if decisive in terms and all(map(_may_go, terms)):
        return decisive
    kept = [term for term in terms if term != neutral]
    if not kept:
        return neutral
    if len(kept) == 1 and not _is_boolean(kept[0]):
        # The constant has the other term refused where it is no bool.
        return tree.chain(operator, (neutral, kept[0])) if neutral in terms else expr
    return tree.chain(operator, kept)


def _flat(expr: tree.Chain) -> Sequence[Expr]:
    terms: list[Expr] = []
    for term in expr.terms:
        nested = isinstance(term, tree.Chain) and term.operator == expr.operator
        terms += _flat(term) if nested and isinstance(term, tree.Chain) else (term,)
    return terms


def _chosen(expr: tree.Conditional, plain: _Names) -> Expr | None:
    condition, branches = expr.condition, (expr.then, expr.otherwise)
    if isinstance(condition, tree.Literal) and isinstance(condition.value, bool):
        taken, other = branches if condition.value else branches[::-1]
        return taken if all(map(_is_boolean, branches)) and _may_go(other) else None
    if not _is_boolean(condition):
        return None
    if branches == (tree.Literal(True), tree.Literal(False)):
        return condition
    if branches == (tree.Literal(False), tree.Literal(True)):
        return _negated(condition, plain) or tree.Unary("!", condition)
    return None


def _may_go(expr: Expr) -> bool:
    """Return whether nobody misses an expression: it has no comments and calls no service."""
    if isinstance(expr, tree.Commented) or (
        isinstance(expr, tree.Call) and expr.function in EFFECTS
    ):
        return False
    return all(map(_may_go, tree.children(expr)))


def _is_boolean(expr: Expr) -> bool:
    """Return whether an expression is a bool or an error, by its form."""
    match expr:
        case tree.Literal():
            return isinstance(expr.value, bool)
        case tree.Unary():
            return expr.operator == "!"
        case tree.Binary():
            return expr.operator in _RELATIONS
        case tree.Chain():
            return True
        case tree.Conditional():
            return _is_boolean(expr.then) and _is_boolean(expr.otherwise)
        case tree.Commented():
            return _is_boolean(expr.expr)
        case tree.Call("has", None):
            return True
        case tree.Call():
            loops = expr.function in _QUANTIFIERS and tree.variables_of(expr) > 0
            return loops or (expr.function in BOOLEAN and expr.target is not None)
        case _:
            return False


def _is_plain(expr: Expr, plain: _Names) -> bool:
    """Return whether an expression has no value of Kubernetes' own types in it, by its form."""
    if _is_boolean(expr):
        return True
    match expr:
        case tree.Literal():
            return True
        case tree.Ident():
            return expr.name in plain
        case tree.Select() | tree.Index():
            return _is_plain(expr.operand, plain)
        case (
            tree.Binary()
            | tree.Unary()
            | tree.ListLiteral()
            | tree.MapLiteral()
            | tree.Conditional()
        ):
            return all(_is_plain(part, plain) for part in tree.children(expr))
        case tree.Call("filter", target) if target is not None:
            return _is_plain(target, plain)
        case tree.Call("map" | "orValue", target, (*_, last)) if target is not None:
            return _is_plain(target, plain) and _is_plain(last, _inside(expr, plain))
        case tree.Call():
            return expr.function in PLAIN
        case _:
            return False

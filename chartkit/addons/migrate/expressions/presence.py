"""Presence and absence of fields as tests in CEL, and wildcards in their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import (
    Binary,
    Call,
    Chain,
    Conditional,
    Ident,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    Unary,
    chain,
    children,
    transform,
)
from chartkit.engine.scalars.wildcard import SPECIAL_CHARACTERS, has_wildcard, regular_expression
from chartkit.model import FieldPath

Known: TypeAlias = frozenset[FieldPath]
"""The paths that are there: the name of a variable and the steps from there."""
NOTHING: Final[Known] = frozenset()
_EMPTY: Final = (ListLiteral(()), MapLiteral(()))


def path_of(expr: Expr) -> FieldPath | None:
    """Return the steps of a path from a variable, however they are written; None for another
    expression."""
    steps: list[str | int] = []
    while True:
        match expr:
            case Select(operand, field):
                steps.append(field)
                expr = operand
            case Index(operand, Literal(str() | int() as key)):
                steps.append(key)
                expr = operand
            case Ident(name):
                return (name, *reversed(steps))
            case _:
                return None


_SAFE: Final = frozenset(
    (
        *("contains", "endsWith", "flatten", "has", "hasValue", "join", "lowerAscii", "orValue"),
        *("replace", "size", "split", "startsWith", "upperAscii"),
    )
)
"""Functions that are not errors of values of the right type."""
_LOOPS: Final = frozenset(("all", "exists", "filter", "map"))
TOTAL: Final = _SAFE | _LOOPS


def where_read(expression: Expr, object_: Place) -> Expr | None:
    """Report whether all that an expression reads of an object is there; None where it may fail for
    another reason."""
    if not _is_safe(expression):
        return None
    paths = dict.fromkeys(absent_reads(expression, object_))
    reads = (cel.optional_field(str(path[0]), *path[1:]) for path in paths)
    return cel.all_of(cel.method(read, "hasValue") for read in reads)


def _is_safe(expr: Expr) -> bool:
    match expr:
        case Ident(name):
            return name in ("object", "oldObject", "request")
        case Call(function) if function not in _SAFE:
            return False
        case Literal() | ListLiteral() | Select() | Index() | Call() | Binary("==" | "!=" | "+"):
            return all(map(_is_safe, children(expr)))
    return False


def cannot_fail(expr: Expr, there: Known = NOTHING) -> bool:
    """Report whether a path, or what is made of optional fields alone, has a value in any case;
    there: paths that have one."""
    return path_of(expr) is not None or _is_careful(expr, there)


def _is_careful(expr: Expr, there: Known) -> bool:
    """there: the variables of loops, whose plain fields are required, and paths that are there."""
    match expr:
        case Ident(name):
            return (name,) in there
        case Select() | Index():
            path = path_of(expr)
            is_there = path is not None and (path in there or path[:1] in there)
            return is_there or any(step.optional for step in _steps(expr))
        case Call(function, target, (Ident(variable), body)) if function in _LOOPS and target:
            return _is_careful(target, there) and _is_careful(body, there | {(variable,)})
        case Conditional(test, then, otherwise):
            return (
                _is_careful(test, there)
                and _is_careful(then, there | present_if(test))
                and _is_careful(otherwise, there | present_if(test, holds=False))
            )
        case Call(function) if function not in _SAFE:
            return False
        case Literal() | ListLiteral() | MapLiteral() | Call() | Chain() | Unary("!"):
            return all(_is_careful(child, there) for child in children(expr))
        case Binary("==" | "!=" | "in" | "+"):
            return all(_is_careful(child, there) for child in children(expr))
    return False


def where_there(expr: Expr) -> Expr:
    """Return an optional field with a default as it is read where the field is there."""
    match expr:
        case Call("orValue", Call() | Select() | Index() as asked, _) if path_of(asked) is not None:
            return cel.settled(asked)
    return expr


def without_sizes(tests: Iterable[Expr]) -> list[Expr]:
    """Return tests that hold together without those for the size of a list in which another one
    looks for an element."""
    kept = list(tests)
    for test in tuple(kept):
        match test:
            case Binary(">", Call("size", Call("orValue") as listed), Literal(0)):
                same = (listed, where_there(listed))
                looking = [test for test in kept if _looked_in(test) in same]
                if looking:
                    kept.remove(test)
                kept = [_looking_in(test, listed) if test in looking else test for test in kept]
    return kept


def _looked_in(test: Expr) -> Expr | None:
    match test:
        case Call("exists", target, (_, _)) | Binary("in", _, target):
            return target
    return None


def _looking_in(test: Expr, listed: Expr) -> Expr:
    if isinstance(test, Call):
        return replace(test, target=listed)
    return replace(test, right=listed) if isinstance(test, Binary) else test


def present_if(test: Expr, *, holds: bool = True) -> Known:
    """Return the paths that are there if a test holds, or does not."""
    match test:
        case Unary("!", operand):
            return present_if(operand, holds=not holds)
        case Chain(operator, terms):
            paths = [present_if(term, holds=holds) for term in terms]
            every = (operator == "&&") == holds
            return _with_holders(NOTHING.union(*paths) if every else paths[0].intersection(*paths))
        case Call("has", None, (asked,)) | Call("hasValue", Call() | Select() | Index() as asked):
            return _paths(asked) if holds else NOTHING
        case Call("orValue", asked, (Literal(False),)) if asked is not None:
            return _paths(asked) if holds else NOTHING
        case Binary("==" | "!=" as sign, left, right):
            return _of_equality(left, right, same=(sign == "==") == holds)
        case Binary(">" | "!=", Call("size", Call("orValue", asked, (empty,))), Literal(0)):
            return _paths(asked) if holds and empty in _EMPTY else NOTHING
        case Binary("<=", Call("size", Call("orValue", asked, (empty,))), Literal(0)):
            return _paths(asked) if not holds and empty in _EMPTY else NOTHING
        case Call("exists" | "all" as loop, target, (_, _)) if target is not None:
            return _paths(_or_nothing(target)) if holds == (loop == "exists") else NOTHING
        case Binary("in", wanted, Call("orValue", asked, (empty,))) if wanted not in _EMPTY:
            return _paths(asked) if holds and empty in _EMPTY else NOTHING
        case Binary("in", Call("orValue", asked, (default,)), ListLiteral(elements)):
            # Whether a value that is in a list, or not, cannot be the default.
            listed = default in elements or Call("dyn", None, (default,)) in elements
            is_constant = all(isinstance(item, Literal) for item in (default, *elements))
            tells = is_constant and not listed if holds else listed
            return _paths(asked) if tells else NOTHING
    return NOTHING


def _or_nothing(expr: Expr) -> Expr | None:
    """Return the optional that an expression gives the value of, or else something empty."""
    match expr:
        case Call("orValue", asked, (empty,)) if empty in _EMPTY:
            return asked
        case Conditional(Binary("==", Call("orValue", asked, _), Literal(None)), empty, _):
            return asked if empty in _EMPTY else None
    return None


def asking_once(expr: Expr) -> Expr:
    """Return a test without the parts which ask whether something is there that another part asks
    for, too: `has(a.b) && a.?b.orValue([]).exists(…)`."""
    made: Expr = transform(expr, asking_once)
    match made:
        case Chain(operator, terms):
            both = operator == "&&"
            kept = [
                term
                for term in terms
                if not any(
                    _asks_for(other, _asked(term, holds=both), holds=both)
                    for other in terms
                    if _asked(other, holds=both) is None
                )
            ]
            return chain(operator, kept)
    return made


def _asks_for(test: Expr, path: FieldPath | None, *, holds: bool) -> bool:
    """Report whether a test shows that a path is there, and is not an error if it is not."""
    return path in present_if(test, holds=holds) and not (path and _requires(test, path))


def _requires(expr: Expr, path: FieldPath) -> bool:
    """Report whether an expression is an error where a path is not there."""
    match expr:
        case Call("has", None, (Select(operand, _),)):
            return _requires(operand, path)
        case Call(loop, target, (_, _)) if loop in _LOOPS and target is not None:
            if path in _paths(_or_nothing(target)):
                # Of an empty list, nothing is asked.
                return _requires(target, path)
        case Select(operand, _, optional=False) | Index(operand, _, optional=False):
            if path_of(expr) == path and not _is_optional(operand):
                return True
    return any(_requires(part, path) for part in children(expr))


def _is_optional(expr: Expr) -> bool:
    match expr:
        case Select(operand, _, optional) | Index(operand, _, optional):
            return optional or _is_optional(operand)
    return False


def _asked(test: Expr, *, holds: bool) -> FieldPath | None:
    """Return the path of a test that does nothing but ask whether it is there, or is not."""
    match test:
        case Unary("!", operand) if not holds:
            return _asked(operand, holds=True)
        case Call("has", None, (asked,)) | Call("hasValue", Call() | Select() | Index() as asked):
            return path_of(asked) if holds else None
    return None


def empty_if(test: Expr) -> Known:
    """Return the paths of lists that are empty, or are not there, if a test holds."""
    match test:
        case Chain("&&", terms):
            return NOTHING.union(*map(empty_if, terms))
        case Binary("==" | "<=", Call("size", Chain() | Binary() | Call() as lists), Literal(0)):
            return frozenset(path for summand in _summands(lists) if (path := path_of(summand)))
    return NOTHING


def _summands(lists: Expr) -> list[Expr]:
    match lists:
        case Binary("+", left, right):
            return [*_summands(left), *_summands(right)]
        case Call("orValue", Call() | Select() | Index() as asked, (ListLiteral(()),)):
            return [asked]
    return [lists]


def _of_equality(left: Expr, right: Expr, *, same: bool) -> Known:
    for value, other in ((left, right), (right, left)):
        match value:
            case Call("orValue", Call() | Select() | Index() as asked, (default,)):
                if not same and default == other:
                    return _paths(asked)
                if same and isinstance(other, Literal) and isinstance(default, Literal):
                    return _paths(asked) if default != other else NOTHING
            case Call("size", Call("orValue", Call() | Select() | Index() as asked, (empty,))):
                if not same and other == Literal(0) and empty in _EMPTY:
                    return _paths(asked)
    return NOTHING


def _paths(asked: Expr | None) -> Known:
    path = None if asked is None else path_of(asked)
    return NOTHING if path is None else _with_holders([path])


def _with_holders(paths: Iterable[FieldPath]) -> Known:
    """Return paths, and the paths of the objects around them."""
    return frozenset(path[:end] for path in paths for end in range(2, len(path) + 1))


_SETTLED: Final = frozenset(("object", "metadata", name) for name in ("name", "namespace"))
"""Fields that a conversion reads plainly only where they are there."""


def reads_absent(expression: Expr, object_: Place) -> str:
    """Return the path of a field that an expression reads and that may be absent; empty for none.

    A field that the same expression asks for as an optional, too, is one that it is careful about.
    """
    path = next(absent_reads(expression, object_), ())
    return ".".join(map(str, path))


def absent_reads(expression: Expr, object_: Place) -> Iterator[FieldPath]:
    """Yield the paths of fields of an object, or of the old one, that an expression reads and that
    may be absent."""
    reads = list(_reads(expression))
    careful = {path for path, is_optional in reads if is_optional} | _SETTLED
    for path, is_optional in reads:
        if is_optional or path in careful or path[0] not in ("object", "oldObject"):
            continue
        place = object_
        for step in path[1:]:
            place = place.at(step) if isinstance(step, int) else place.child(step)
        if path[0] == "oldObject" or place.is_optional:
            yield path


def sure_reads(expression: Expr, object_: Place) -> Known:
    """Return the paths of an object's fields that an expression reads and that are always there."""
    paths = {path for path, is_optional in _reads(expression) if not is_optional}
    absent = set(absent_reads(expression, object_))
    return frozenset(path for path in paths - absent if path[0] == "object")


def _reads(expr: Expr) -> Iterator[tuple[FieldPath, bool]]:
    """Yield the fields that are read, and whether as optionals."""
    path = _path(expr)
    if path is not None:
        is_optional = any(step.optional for step in _steps(expr))
        yield path, is_optional
        return
    if isinstance(expr, Call) and expr.function == "has" and expr.target is None:
        (asked,) = expr.args
        path = _path(asked)
        if path is not None:
            yield path, True
            return
    for part in children(expr):
        yield from _reads(part)


def _steps(expr: Expr) -> Iterator[Select | Index]:
    while isinstance(expr, Select | Index):
        yield expr
        expr = expr.operand


def _path(expr: Expr) -> FieldPath | None:
    """Return the steps of a path below a variable, None for another expression."""
    path = path_of(expr)
    return path if path is not None and len(path) > 1 else None


_ANY: Final = "*"


def fits(text: Expr, pattern: str) -> Expr:
    """Report whether a text fits a pattern; text: evaluated once."""
    if not has_wildcard(pattern):
        return cel.equal(text, pattern)
    inner = pattern.strip(_ANY)
    if not inner:
        return cel.TRUE
    if inner == "?" and pattern != "?":
        return cel.not_equal(text, "")
    if has_wildcard(inner):
        return cel.method(text, "matches", regular_expression(pattern))
    begins, ends = pattern.endswith(_ANY), pattern.startswith(_ANY)
    function = "contains" if begins and ends else "startsWith" if begins else "endsWith"
    return cel.method(text, function, inner)


def fits_any(text: Expr, patterns: Iterable[str]) -> Expr:
    """Report whether a text fits one of several patterns."""
    patterns = list(dict.fromkeys(patterns))
    literals = [pattern for pattern in patterns if not has_wildcard(pattern)]
    tests = [fits(text, pattern) for pattern in patterns if has_wildcard(pattern)]
    if len(literals) == 1:
        tests.insert(0, cel.equal(text, literals[0]))
    elif literals:
        tests.insert(0, cel.contains(cel.list_of(literals), text))
    return cel.TRUE if cel.TRUE in tests else cel.any_of(tests)


def fits_value(text: Expr, pattern: Expr) -> Expr:
    """Report whether a text fits a pattern that is computed, of which only the literal parts have
    wildcards."""
    parts = _summands(pattern)
    match parts[0], parts[-1]:
        case Literal(str() as start), Literal(str() as end):
            ends, begins = start.startswith(_ANY), end.endswith(_ANY)
        case Literal(str() as start), _:
            ends, begins = start.startswith(_ANY), False
        case _, Literal(str() as end):
            ends, begins = False, end.endswith(_ANY)
        case _:
            return cel.equal(text, pattern)
    if ends:
        parts[0] = Literal(start.lstrip(_ANY))
    if begins:
        parts[-1] = Literal(end.rstrip(_ANY))
    if any(isinstance(part, Literal) and has_wildcard(str(part.value)) for part in parts):
        return fits_any_value(text, pattern)
    if not (begins or ends):
        return cel.equal(text, pattern)
    function = "contains" if begins and ends else "startsWith" if begins else "endsWith"
    return cel.method(text, function, cel.concat(*(part for part in parts if part != Literal(""))))


def fits_any_value(text: Expr, pattern: Expr) -> Expr:
    """Report whether a text fits a pattern that may have wildcards, which is known only then."""
    escaped = cel.call("regex.replace", pattern, SPECIAL_CHARACTERS, r"\\\1")
    written = cel.method(cel.method(escaped, "replace", "?", "."), "replace", _ANY, ".*")
    return cel.method(text, "matches", cel.concat("(?s)^", written, "$"))

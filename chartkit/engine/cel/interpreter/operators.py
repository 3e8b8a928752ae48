"""The code of functions and operators: Python's own where it does the same, else a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Final

from chartkit.engine.cel.ast import INDEXING, Call, Expr, Literal, Select
from chartkit.engine.cel.interpreter.dispatch import UNIT_WHEN_OPEN, Dispatch, dispatch_for
from chartkit.engine.cel.interpreter.fragments import Code, Scope, Unsupported, Writer
from chartkit.engine.cel.interpreter.frame import CALL_WORK
from chartkit.engine.cel.interpreter.runtime import (
    LONG,
    LONG_LIST,
    LONG_TEXT,
    Fields,
    Meter,
    Undecided,
    charge,
    small,
)
from chartkit.engine.cel.library.searching import searched
from chartkit.engine.cel.types import TypeKind
from chartkit.engine.cel.values import OPTIONAL_TYPE, KeyedMap, OptionalValue, Value
from chartkit.go.regexp import compile_regex

Arguments = tuple[Expr, ...]
Emit = Callable[[Writer, Call, Arguments, Scope], Code | None]

SELECTION: Final = 2
"""The most work of a selection: the first one on a value that is not a variable costs one more."""

_EXACT_INT = 2**53
_KINDS: Final[dict[TypeKind, type]] = {
    TypeKind.BOOL: bool,
    TypeKind.INT: int,
    TypeKind.STRING: str,
    TypeKind.DOUBLE: float,
    TypeKind.LIST: list,
}


# Selections.


def presence(writer: Writer, expr: Select, scope: Scope) -> Code:
    """`has(operand.field)`."""
    writer.weight += SELECTION
    path = optional_path(writer, expr.operand, scope)
    if path is not None:
        return Code(path.more(expr.field).call(writer, "_has_path"), bool)
    operand = writer.visit(expr.operand, scope)
    return Code(f"_has({operand.text}, {writer.constant(expr.field)})", bool)


@dataclass(frozen=True, slots=True)
class OptionalPath:
    """A value and the fields that are selected from it, the first of them with `.?`."""

    base: Code
    fields: Fields

    def more(self, field: str | int) -> OptionalPath:
        """The path to a field of what this one finds."""
        return OptionalPath(self.base, (*self.fields, field))

    def call(self, writer: Writer, function: str, *more: str) -> str:
        """A call of one of the functions that follow such paths."""
        return f"{function}({', '.join((self.base.text, writer.constant(self.fields), *more))})"

    def code(self, writer: Writer) -> Code:
        """The optional value at its end."""
        return Code(self.call(writer, "_path"))


def optional_path(writer: Writer, expr: Expr, scope: Scope) -> OptionalPath | None:
    """An expression as a path; None if nothing in it is optional."""
    type_ = writer.checked.types.get(expr.id)
    # What is selected from an optional is optional for the checker; only `[?…]` may be of any type.
    if not isinstance(expr, Call) and (type_ is None or type_.name != OPTIONAL_TYPE.name):
        return None
    if isinstance(expr, Select) and not expr.test_only and expr.id not in writer.checked.names:
        inner = optional_path(writer, expr.operand, scope)
        field: str | int = expr.field
    elif isinstance(expr, Call) and expr.function in INDEXING:
        key = expr.args[1]
        value = writer.folded.constants.get(key.id)
        if value is None and isinstance(key, Literal):
            value = key.value
        literal = value if value.__class__ in (str, int) else None
        if literal is None:
            return None
        field = literal
        inner = optional_path(writer, expr.args[0], scope)
        if inner is None and expr.function != "_[_]":
            inner = OptionalPath(writer.visit(expr.args[0], scope), ())
    else:
        return None
    if inner is None:
        return None
    writer.weight += SELECTION
    return inner.more(field)


def _optional_select(writer: Writer, expr: Call, _args: Arguments, scope: Scope) -> Code | None:
    path = optional_path(writer, expr, scope)
    if path is None:
        raise Unsupported
    return path.code(writer)


def _index(writer: Writer, expr: Call, args: Arguments, scope: Scope) -> Code | None:
    path = optional_path(writer, expr, scope)
    if path is not None:
        return path.code(writer)
    operand, key = writer.visit(args[0], scope), writer.visit(args[1], scope)
    writer.weight += SELECTION
    if isinstance(key.constant, str):
        return Code(f"{operand.text}[{key.text}]", document=operand.document)
    function = "_index"
    if key.kind is int and key.is_constant and key.constant >= 0:  # type: ignore[operator]
        function = "_at"
    return Code(f"{function}({operand.text}, {key.text})", document=operand.document)


# Conditions.


def _junction(operator: str) -> Emit:
    def emit(writer: Writer, expr: Call, _args: Arguments, scope: Scope) -> Code:
        terms = (writer.visit(term, scope).condition for term in _terms(expr, expr.function))
        return Code(f"({f' {operator} '.join(terms)})", bool)

    return emit


def _terms(expr: Expr, function: str) -> list[Expr]:
    terms: list[Expr] = []
    waiting = [expr]
    while waiting:
        term = waiting.pop()
        if isinstance(term, Call) and term.function == function:
            waiting += reversed(term.args)
        else:
            terms.append(term)
    return terms


def _not(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
    writer.weight += 1
    return Code(f"(not {writer.visit(args[0], scope).condition})", bool)


def _conditional(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
    condition, yes, no = (writer.visit(part, scope) for part in args)
    kind = yes.kind if yes.kind is no.kind else None
    text = f"({yes.text} if {condition.condition} else {no.text})"
    return Code(text, kind, document=yes.document and no.document)


# Comparisons.


def _equality(negated: bool) -> Emit:
    def emit(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
        left, right = (writer.visit(side, scope) for side in args)
        if left.is_constant and left.constant.__class__ not in _COMPOSED:
            left, right = right, left
        constant = right.constant
        is_plain = left.document or left.kind is bool
        if constant is None or (is_plain and constant.__class__ is bool):
            writer.weight += 1
            text = f"({left.text} is {constant!r})"
        elif isinstance(constant, str):
            writer.weight += ceil(len(constant) / 10) + 1
            if left.document or left.kind is str:
                text = f"({left.text} == {right.text})"
            else:
                text = f"_is({left.text}, {right.text})"
        else:
            writer.weight += LONG_LIST
            # Of 0 and 1 Python would say that they are false and true.
            large = constant.__class__ is int and 1 < abs(constant) < _EXACT_INT
            if (large and left.document) or left.kind is right.kind is int:
                text = f"({left.text} == {right.text})"
            else:
                text = f"_eq({left.text}, {right.text})"
        return Code(f"(not {text})" if negated else text, bool)

    return emit


_COMPOSED = frozenset({list, dict, KeyedMap, OptionalValue})
"""The operators whose cost depends on the side of a comparison."""


def _ordering(operator: str, function: str) -> Emit:
    def emit(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
        left, right = (writer.visit(side, scope) for side in args)
        if left.kind is right.kind is int:
            writer.weight += 1
            return Code(f"({left.text} {operator} {right.text})", bool)
        writer.weight += ceil(LONG / 10)
        return Code(f"{function}({left.text}, {right.text})", bool)

    return emit


def _in(writer: Writer, expr: Call, args: Arguments, scope: Scope) -> Code:
    value = writer.visit(args[0], scope)
    if expr.id in writer.folded.memberships:
        members = writer.folded.constants[args[1].id]
        assert isinstance(members, list)
        if all(member.__class__ is str for member in members):
            return Code(f"({value.text} in {writer.constant(frozenset(members))})", bool)
    writer.weight += LONG_LIST
    return Code(f"_in({value.text}, {writer.visit(args[1], scope).text})", bool)


# Texts, sizes, sums.


def _size(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
    writer.weight += 1
    return Code(f"_len({writer.visit(args[0], scope).text})", int)


def _edge(method: str) -> Emit:
    def emit(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code | None:
        edge = writer.folded.constants.get(args[1].id)
        if not isinstance(edge, str):
            return None
        writer.weight += ceil(len(edge) / 10)
        # The code as the target of a method call; a number needs parentheses before the dot.
        code = writer.visit(args[0], scope)
        text = f"({code.text})" if code.kind is int else code.text
        return Code(f"{text}.{method}({writer.constant(edge)})", bool)

    return emit


def _contains(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
    text, part = (writer.visit(arg, scope) for arg in args)
    length = len(part.constant) if isinstance(part.constant, str) else 100
    writer.weight += ceil(LONG_TEXT / 10) * ceil(length / 10)
    return Code(f"_contains({text.text}, {part.text})", bool)


def _matches(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code | None:
    pattern = writer.folded.constants.get(args[1].id)
    if not isinstance(pattern, str) or not writer.environment.options.fold:
        return None
    work = CALL_WORK + searched(compile_regex(pattern), LONG_TEXT)
    writer.weight += max(work, (LONG_TEXT // 10 + 1) * ceil(len(pattern) / 4))
    run = writer.constant(matcher(pattern))
    return Code(f"{run}({writer.visit(args[0], scope).text})", bool)


def _sum(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
    left, right = (writer.visit(side, scope) for side in args)
    writer.weight += ceil(LONG_TEXT / 10)
    kind = left.kind if left.kind is right.kind else None
    return Code(f"_plus({left.text}, {right.text})", kind)


def _dyn(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
    writer.weight += 1
    return writer.visit(args[0], scope)


# Optional values.


def _or_value(writer: Writer, expr: Call, args: Arguments, scope: Scope) -> Code | None:
    if args[1].id not in writer.folded.constants:
        return None
    ids = writer.checked.overloads.get(expr.id, ())
    may_mean = len(ids) != 1 or ids[0] == "optional_orValue_value"
    if not may_mean:
        return None
    path = optional_path(writer, args[0], scope)
    if path is None:
        return None
    default = writer.visit(args[1], scope)
    text = path.call(writer, "_path_or", default.text)
    return Code(text, document=path.base.document and default.document)


def _compatible_or_value(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
    writer.weight += 1
    path = optional_path(writer, args[0], scope)
    default = writer.visit(args[1], scope)
    if path is not None:
        text = path.call(writer, "_path_or", default.text)
        return Code(text, document=path.base.document and default.document)
    return Code(f"_value_or({writer.visit(args[0], scope).text}, {default.text})")


def _has_value(writer: Writer, _expr: Call, args: Arguments, scope: Scope) -> Code:
    writer.weight += 1
    path = optional_path(writer, args[0], scope)
    if path is not None:
        return Code(path.call(writer, "_has_path"), bool)
    return Code(f"_has_value({writer.visit(args[0], scope).text})", bool)


# Everything else.


def dispatched(
    writer: Writer, expr: Call, function: str, arguments: Arguments, scope: Scope
) -> Code:
    """A call of the overload that takes the arguments; raises `Unsupported` for lazy ones."""
    declared = writer.environment.functions[function].overloads
    ids = writer.checked.overloads.get(expr.id, ())
    if function in _LAZY or any(overload.hosted for overload in declared):
        # What asks the world outside must not be asked twice.
        raise Unsupported
    dispatch = dispatch_for(writer.environment, function, ids).bound(arguments)
    args = [writer.visit(argument, scope).text for argument in arguments]
    writer.weight += 1
    unit = len(ids) != 1 and function in UNIT_WHEN_OPEN
    metered = any(overload.work or (overload.cost and not unit) for overload in declared)
    run = metered_caller(dispatch) if metered else caller(dispatch)
    if writer.loops and arguments:
        writer.weight += CALL_WORK
        run = bounded(run)
    name = writer.constant(run)
    if metered:
        args.insert(0, writer.meter())
    kinds = {_KINDS.get(overload.returns.kind) for overload in declared if overload.id in ids}
    return Code(f"{name}({', '.join(args)})", kinds.pop() if len(kinds) == 1 else None)


def caller(dispatch: Dispatch) -> Callable[..., Value]:
    """A call that costs 1."""
    find = dispatch.find

    def run(*args: Value) -> Value:
        return find(args).implementation(*args)

    return run


def metered_caller(dispatch: Dispatch) -> Callable[..., Value]:
    """A call whose cost or work its overload declares."""
    find = dispatch.find

    def run(meter: Meter, *args: Value) -> Value:
        overload = find(args)
        result = overload.implementation(*args)
        charge(meter, 1 if overload.cost is None else overload.cost(args, result))
        if overload.work is not None:
            charge(meter, overload.work(args, result))
        return result

    return run


def bounded(run: Callable[..., Value]) -> Callable[..., Value]:
    """A call within a macro: its arguments and result must be small, because it runs many times."""

    def run_bounded(*args: Value) -> Value:
        for arg in args:
            if arg.__class__ in _SIZED:
                small(arg)
        result = run(*args)
        if result.__class__ in _SIZED and len(result) > LONG_TEXT:
            raise Undecided
        return result

    return run_bounded


def matcher(pattern: str) -> Callable[[Value], bool]:
    """`text.matches(pattern)` for a pattern that the author wrote; raises `RegexError`."""
    matches = compile_regex(pattern).matches

    def run(text: Value) -> bool:
        if text.__class__ is str and len(text) <= LONG_TEXT:
            return matches(text)
        raise Undecided

    return run


_SIZED: Final = frozenset({list, dict, str, bytes})
_LAZY = frozenset({"@not_strictly_false", "or", "_[?_]", "_?._"})

EMITTERS: Final[dict[tuple[str, int], Emit]] = {
    ("_&&_", 2): _junction("and"),
    ("_||_", 2): _junction("or"),
    ("!_", 1): _not,
    ("_?_:_", 3): _conditional,
    ("_==_", 2): _equality(False),
    ("_!=_", 2): _equality(True),
    ("_<_", 2): _ordering("<", "_lt"),
    ("_<=_", 2): _ordering("<=", "_le"),
    ("_>_", 2): _ordering(">", "_gt"),
    ("_>=_", 2): _ordering(">=", "_ge"),
    ("@in", 2): _in,
    ("_[_]", 2): _index,
    ("_[?_]", 2): _optional_select,
    ("_?._", 2): _optional_select,
    ("_+_", 2): _sum,
    ("size", 1): _size,
    ("startsWith", 2): _edge("startswith"),
    ("endsWith", 2): _edge("endswith"),
    ("contains", 2): _contains,
    ("matches", 2): _matches,
    ("dyn", 1): _dyn,
    ("orValue", 2): _or_value,
    ("__orValueCompat__", 2): _compatible_or_value,
    ("hasValue", 1): _has_value,
}

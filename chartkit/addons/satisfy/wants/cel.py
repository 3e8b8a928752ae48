"""Expressions of CEL as formulas, by their structure.

A field that is not there is an error in CEL, which no validation survives: a test of a field holds,
or does not hold, only where the field is there or has a default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from chartkit.addons.satisfy.formula import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Place,
    Some,
    Source,
    Unknown,
    all_of,
    any_of,
    every,
    opposite,
)
from chartkit.addons.satisfy.values import MISSING, Test, absent, filled_in, one_of, present
from chartkit.addons.satisfy.wants.cel_terms import (
    Constant,
    FieldTerm,
    ListTerm,
    Part,
    Term,
    comparison_test,
    of_function,
    relates,
    settled_test,
)
from chartkit.addons.satisfy.wants.comparisons import (
    FLIPPED,
    OPPOSITES,
    NotReadError,
    function_test,
    of_part,
    relation_words,
)
from chartkit.addons.satisfy.wants.pattern import fresh
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelCompileError, CelError
from chartkit.engine.cel.syntax.reading import read
from chartkit.engine.cel.syntax.tree import (
    Binary,
    Call,
    Chain,
    Conditional,
    Expr,
    Ident,
    Index,
    ListLiteral,
    Literal,
    Select,
    Unary,
    bare,
)
from chartkit.errors import ChartkitError
from chartkit.model import Json

_MAPS: Final = frozenset(
    ("labels", "annotations", "matchLabels", "nodeSelector", "data", "limits", "requests")
)
_EQUALITY: Final = ("==", "!=")
_PASSED_ON: Final = frozenset(("dyn", "string", "int", "double"))
_TEXTS: Final = {"startsWith": "starts_with", "endsWith": "ends_with", "contains": "contains"}
_QUANTITIES: Final = {"isLessThan": "<", "isGreaterThan": ">"}
_MOST_VARIABLES: Final = 20


def cel_formula(text: str, variables: Mapping[str, str], source: Source) -> Formula:
    """Return the formula of a true expression; variables: the policy's own expressions."""
    try:
        return _Translation(source, variables).truth(_parsed(text), True)
    except (NotReadError, CelError, CelCompileError, RecursionError):
        return Unknown(text)


@lru_cache(maxsize=2048)
def _parsed(text: str) -> Expr:
    return bare(read(text, ENVIRONMENTS["vpol"]))


@dataclass(frozen=True, slots=True)
class _Translation:
    source: Source
    variables: Mapping[str, str]
    bound: Mapping[str, Term] = field(default_factory=dict)
    depth: int = 0

    def with_name(self, name: str, term: Term) -> _Translation:
        return replace(self, bound={**self.bound, name: term})

    def _atom(self, place: Place, test: Test) -> Formula:
        return Atom(place, test, self.source)

    def truth(self, expr: Expr, wanted: bool) -> Formula:
        """Return the formula of a true or false expression; Unknown where it is not understood."""
        try:
            return self._truth(bare(expr), wanted)
        except (NotReadError, CelError, CelCompileError, ChartkitError):
            return Unknown("an expression")

    def _truth(self, expr: Expr, wanted: bool) -> Formula:
        match expr:
            case Literal():
                return TRUE if expr.value is wanted else FALSE
            case Chain():
                joined = all_of if (expr.operator == "&&") is wanted else any_of
                return joined(*(self.truth(term, wanted) for term in expr.terms))
            case Unary() if expr.operator == "!":
                return self.truth(expr.operand, not wanted)
            case Conditional():
                condition = expr.condition
                then = all_of(self.truth(condition, True), self.truth(expr.then, wanted))
                other = all_of(self.truth(condition, False), self.truth(expr.otherwise, wanted))
                return any_of(then, other)
            case Binary() if expr.operator == "in":
                return self._membership(expr, wanted)
            case Binary() if expr.operator in FLIPPED:
                operator = expr.operator if wanted else OPPOSITES[expr.operator]
                compared = bare(expr.left)
                if isinstance(compared, Call) and compared.function == "compareTo":
                    target, args = compared.target, compared.args
                    if self.term(expr.right) != Constant(0) or target is None or len(args) != 1:
                        raise NotReadError
                    return self._sizes(target, operator, args[0])
                return self._against(self.term(expr.left), operator, self.term(expr.right))
            case Call():
                return self._call(expr, wanted)
            case Select() | Index() | Ident():
                if (inner := self._variable(expr)) is not None:
                    return inner[0].truth(inner[1], wanted)
                return self._compared(self.term(expr), "==", wanted)
            case _:
                raise NotReadError

    def _variable(self, expr: Expr) -> tuple[_Translation, Expr] | None:
        """Return the definition of one of the policy's variables, with what translates it."""
        if isinstance(expr, Select) and expr.operand == Ident("variables"):
            text = self.variables.get(expr.field)
            if text is None or self.depth > _MOST_VARIABLES:
                raise NotReadError
            return replace(self, bound={}, depth=self.depth + 1), _parsed(text)
        return None

    def term(self, expr: Expr) -> Term:
        """Return the value of an expression. Raises NotReadError."""
        expr = bare(expr)
        match expr:
            case Literal():
                return Constant(expr.value)
            case Unary() | ListLiteral():
                # A negative number, or a list of constants.
                parts = expr.elements if isinstance(expr, ListLiteral) else (expr.operand,)
                terms = [self.term(part) for part in parts]
                values = [term.value for term in terms if isinstance(term, Constant)]
                if len(values) < len(terms) or (isinstance(expr, Unary) and expr.operator != "-"):
                    raise NotReadError
                return Constant(values if isinstance(expr, ListLiteral) else -values[0])
            case Ident():
                if expr.name == "object":
                    return FieldTerm(Place())
                if expr.name in self.bound:
                    return self.bound[expr.name]
                raise NotReadError
            case Select():
                if (inner := self._variable(expr)) is not None:
                    return inner[0].term(inner[1])
                if expr == Select(Ident("request"), "namespace"):
                    return FieldTerm(Place("request", ("metadata", "namespace")))
                return self._child(self.term(expr.operand), expr.field)
            case Index():
                key = self.term(expr.key)
                if not isinstance(key, Constant) or isinstance(key.value, bool | float):
                    raise NotReadError
                return self._child(self.term(expr.operand), key.value)
            case Binary() if expr.operator == "+":
                return self._sum(expr)
            case Conditional():
                return self._guarded(expr)
            case Call():
                return self._called(expr)
            case _:
                raise NotReadError

    def _guarded(self, expr: Conditional) -> Term:
        """Return `field == null ? default : field`, `[]` in place of the default, or the registry
        of an image: `image.matches(…) ? image.split("/")[0] : "docker.io"`."""
        condition = bare(expr.condition)
        first = bare(expr.then)
        if isinstance(first, Index) and bare(expr.otherwise) == Literal("docker.io"):
            split = bare(first.operand)
            if isinstance(split, Call) and split.function == "split" and split.target is not None:
                image = self.term(split.target)
                if isinstance(image, FieldTerm) and not image.function:
                    return replace(image, function="registry")
        if not isinstance(condition, Binary) or condition.operator != "==":
            raise NotReadError
        if bare(condition.right) != Literal(None):
            raise NotReadError
        asked, field, default = map(self.term, (condition.left, expr.otherwise, expr.then))
        if not isinstance(asked, FieldTerm) or not isinstance(default, Constant):
            raise NotReadError
        if not isinstance(field, FieldTerm) or asked.place != field.place or field.function:
            raise NotReadError
        return replace(field, default=default.value)

    def _child(self, term: Term, name: str | int) -> Term:
        if not isinstance(term, FieldTerm) or term.function:
            raise NotReadError
        if term.default is not MISSING and term.default not in (None, {}, []):
            raise NotReadError
        return FieldTerm(term.place.child(name if isinstance(name, str) else int(name)))

    def _sum(self, expr: Binary) -> Term:
        parts: list[Part] = []
        for side in (expr.left, expr.right):
            term = self.term(side)
            if isinstance(term, Constant) and term.value == []:
                continue
            parts += self._listed(term).parts
        return ListTerm(tuple(parts))

    def _listed(self, term: Term) -> ListTerm:
        if isinstance(term, ListTerm):
            return term
        if isinstance(term, FieldTerm) and not term.function:
            return ListTerm((Part(term.place),))
        raise NotReadError

    def _called(self, expr: Call) -> Term:
        name, target, args = expr.function, expr.target, expr.args
        if name == "ofNonZeroValue" and target == Ident("optional"):
            return self.term(args[0])
        if target is None:
            if name in _PASSED_ON and len(args) == 1:
                return self.term(args[0])
            if name in ("size", "quantity") and len(args) == 1:
                return of_function(self.term(args[0]), name)
            raise NotReadError
        if name == "orValue" and len(args) == 1:
            default = args[0]
            term = self.term(target)
            if not isinstance(bare(default), ListLiteral | Literal):
                # Such as {}: what is below is not there either.
                return term
            value = self.term(default)
            if not isinstance(value, Constant):
                raise NotReadError
            return replace(term, default=value.value) if isinstance(term, FieldTerm) else term
        if name == "size" and not args:
            return of_function(self.term(target), name)
        if name == "value" and not args:
            return self.term(target)
        if name in ("filter", "map") and len(args) == 2:
            return self._filtered(expr, target)
        raise NotReadError

    def _filtered(self, expr: Call, target: Expr) -> Term:
        name = bare(expr.args[0])
        if not isinstance(name, Ident):
            raise NotReadError
        body = expr.args[1]
        listed = self._listed(self.term(target))
        return ListTerm(
            tuple(self._narrowed(part, name.name, body, expr.function) for part in listed.parts)
        )

    def _narrowed(self, part: Part, name: str, body: Expr, function: str) -> Part:
        if function == "map":
            return replace(
                part, element=lambda place: self.with_name(name, part.element(place)).term(body)
            )

        def condition(place: Place) -> Formula:
            inner = self.with_name(name, part.element(place))
            return all_of(part.condition(place), inner.truth(body, True))

        return replace(part, condition=condition)

    def _sizes(self, left: Expr, operator: str, right: Expr) -> Formula:
        first, other = self.term(left), self.term(right)
        if not isinstance(first, FieldTerm) and not isinstance(other, FieldTerm):
            raise NotReadError
        return self._against(first, operator, other)

    def _against(self, left: Term, operator: str, other: Term) -> Formula:
        """Return the formula of a relation between two values, of which one is constant."""
        if isinstance(left, Constant) and not isinstance(other, Constant):
            left, other, operator = other, left, FLIPPED[operator]
        if not isinstance(other, Constant):
            raise NotReadError
        return self._compared(left, operator, other.value)

    def _compared(self, term: Term, operator: str, value: Json) -> Formula:
        match term:
            case FieldTerm(function="", default=None) if value is None and operator in _EQUALITY:
                return self._atom(term.place, absent() if operator == "==" else present())
            case Constant():
                return TRUE if relates(term.value, operator, value) else FALSE
            case FieldTerm(function="registry") if operator in _EQUALITY:
                atom = self._atom(term.place, of_part(one_of((value,)), "registry"))
                return atom if operator == "==" else opposite(atom)
            case FieldTerm(function="registry"):
                raise NotReadError
            case FieldTerm(function="size"):
                return self._sized(ListTerm((Part(term.place),)), operator, value, term.place)
            case FieldTerm():
                return self._atom(term.place, comparison_test(term, operator, value))
            case ListTerm() if term.parts and isinstance(value, int):
                return self._sized(term, operator, value, None)
            case _:
                raise NotReadError

    def _sized(self, listed: ListTerm, operator: str, value: Json, place: Place | None) -> Formula:
        def holds(count: int) -> bool:
            return relates(count, operator, value)

        some = any_of(*(self._some(part, self._present) for part in listed.parts))
        if place is not None:
            some = any_of(some, self._atom(place, filled_in()))
        if not holds(0) and holds(1) and holds(1000):
            return some
        if holds(0) and not holds(1) and not holds(1000):
            return opposite(some)
        if place is None:
            raise NotReadError
        wants = f"a length of {relation_words(operator, value)}"
        test = Test(wants, lambda value: isinstance(value, list | dict | str) and holds(len(value)))
        return self._atom(place, test)

    def _present(self, place: Place) -> Formula:
        return self._atom(place, present())

    def _every(self, part: Part, body: Callable[[Place], Formula]) -> Formula:
        variable = fresh()
        place = Place(variable)
        condition = part.condition(place)
        wants = body(place)
        if condition is TRUE:
            return every(variable, part.listed, wants)
        return every(variable, part.listed, any_of(opposite(condition), wants))

    def _some(self, part: Part, body: Callable[[Place], Formula]) -> Formula:
        variable = fresh()
        place = Place(variable)
        return Some(variable, part.listed, all_of(part.condition(place), body(place)))

    def _membership(self, expr: Binary, wanted: bool) -> Formula:
        left, other = self.term(expr.left), self.term(expr.right)
        if isinstance(other, Constant) and isinstance(other.value, list):
            if isinstance(left, Constant):
                return TRUE if (left.value in other.value) is wanted else FALSE
            if isinstance(left, FieldTerm) and not left.function:
                return self._atom(left.place, settled_test(one_of(other.value), left, wanted))
        if isinstance(left, Constant) and isinstance(other, FieldTerm) and not other.function:
            if other.place.steps[-1:] and other.place.steps[-1] in _MAPS:
                test = present() if wanted else absent()
                return self._atom(other.place.child(str(left.value)), test)
            return self._contains(ListTerm((Part(other.place),)), left.value, wanted)
        if isinstance(left, Constant) and isinstance(other, ListTerm):
            return self._contains(other, left.value, wanted)
        raise NotReadError

    def _contains(self, listed: ListTerm, value: Json, wanted: bool) -> Formula:
        operator = "==" if wanted else "!="

        def body(part: Part) -> Callable[[Place], Formula]:
            return lambda place: self._compared(part.element(place), operator, value)

        if wanted:
            return any_of(*(self._some(part, body(part)) for part in listed.parts))
        return all_of(*(self._every(part, body(part)) for part in listed.parts))

    def _call(self, expr: Call, wanted: bool) -> Formula:
        name, target, args = expr.function, expr.target, expr.args
        if name == ("has" if target is None else "hasValue"):
            term = self.term(target or args[0])
            if isinstance(term, FieldTerm):
                return self._atom(term.place, present() if wanted else absent())
        elif target is None:
            raise NotReadError
        elif name in ("all", "exists") and len(args) == 2:
            return self._quantified(expr, target, wanted)
        elif name == "orValue":
            return self._compared(self.term(expr), "==", wanted)
        elif name in _QUANTITIES and len(args) == 1:
            operator = _QUANTITIES[name] if wanted else OPPOSITES[_QUANTITIES[name]]
            return self._sizes(target, operator, args[0])
        elif name in (*_TEXTS, "matches") and len(args) == 1:
            subject, argument = self.term(target), self.term(expr.args[0])
            if isinstance(subject, ListTerm) or not isinstance(argument, Constant):
                raise NotReadError
            test = function_test(_TEXTS.get(expr.function, expr.function), str(argument.value))
            if isinstance(subject, Constant):
                return TRUE if test.holds(subject.value) is wanted else FALSE
            if subject.function == "registry":
                atom = self._atom(subject.place, of_part(test, "registry"))
                return atom if wanted else opposite(atom)
            if subject.function:
                raise NotReadError
            return self._atom(subject.place, settled_test(test, subject, wanted))
        raise NotReadError

    def _quantified(self, expr: Call, target: Expr, wanted: bool) -> Formula:
        name, body = bare(expr.args[0]), expr.args[1]
        if not isinstance(name, Ident):
            raise NotReadError
        variable = name.name
        term = self.term(target)
        if isinstance(term, Constant) and isinstance(term.value, list):
            inner = [self.with_name(variable, Constant(value)) for value in term.value]
            truths = [inside.truth(body, wanted) for inside in inner]
            is_all = (expr.function == "all") is wanted
            return all_of(*truths) if is_all else any_of(*truths)

        def of(part: Part) -> Callable[[Place], Formula]:
            return lambda place: self.with_name(variable, part.element(place)).truth(body, wanted)

        parts = self._listed(term).parts
        if (expr.function == "all") is wanted:
            return all_of(*(self._every(part, of(part)) for part in parts))
        return any_of(*(self._some(part, of(part)) for part in parts))

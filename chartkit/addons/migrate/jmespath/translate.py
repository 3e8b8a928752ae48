"""JMESPath trees as terms, node by node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import IMAGE_PARTS, KIND_IN_SCANS, SERVICE_ACCOUNTS
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    ANY_MAP,
    IMAGE_REFERENCE,
    TEXT,
    TIME,
    UNKNOWN,
    not_extended,
)
from chartkit.addons.migrate.expressions.presence import path_of, present_if
from chartkit.addons.migrate.expressions.verdict import conjunction, in_turn
from chartkit.addons.migrate.jmespath import projections
from chartkit.addons.migrate.jmespath.call import as_json, called, is_embedded, joined, json_literal
from chartkit.addons.migrate.jmespath.comparisons import chosen, compared, first_truthy, for_each
from chartkit.addons.migrate.jmespath.lists import (
    Images,
    element_at,
    list_of_terms,
    part_of,
    sliced,
)
from chartkit.addons.migrate.jmespath.terms import (
    Choice,
    Constant,
    Members,
    Names,
    Stream,
    Term,
    Value,
    computed,
    expression_of,
    falsy,
    is_truthy,
    type_of,
)
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.context.context import names_images
from chartkit.engine.jmespath.compiler import keeps_null
from chartkit.engine.jmespath.expression import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse

_NULL: Final = Constant(None)
_OBJECT: Final = ("request", "object")
_OF_ADMISSION: Final = {
    ("request", field) for field in ("dryRun", "kind", "requestKind", "requestResource", "resource")
}
"""Fields of a request that a background scan has in CEL alone."""
_WORDS: Final = ("null", "true", "false")
_QUOTED: Final = '"object"'
_ACCOUNT: Final = frozenset(("serviceAccountName", "serviceAccountNamespace"))
_SIGNS: Final = {"EQ": "==", "NE": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


class Translator:
    """Translates expressions that see the same names."""

    def __init__(self, names: Names, *, strict: bool = True, decides: bool | None = None) -> None:
        """strict: whether a field that is not there is an error: not within projections; decides:
        whether an error here is one of the whole expression, as it is of what is strict."""
        self.names = names
        self._strict = strict
        self.decides = strict if decides is None else decides

    def left(self, node: Node, current: Term | None, *, decides: bool = False) -> Term:
        """Return what a node gives where what is missing is null; decides: whether an error here
        is one of the whole expression if it is one of this."""
        lenient = Translator(self.names, strict=False, decides=decides and self.decides)
        return lenient.node(node, current if current is None else self.lenient(current))

    def text(self, query: str, current: Term | None = None) -> Term:
        """Return what an expression gives; current: the value of `@`, None at the root.

        Raises `NotConvertible`.
        """
        try:
            tree = parse(query)
        except JMESPathError as error:
            raise NotConvertible(f"the expression '{query}' is malformed: {error}") from None
        if _QUOTED in query:
            return Translator(self._not_extended(query)).node(tree, current)
        if names_images(query) and "images" in self.names.others:
            self.names.note(IMAGE_PARTS)
        return self.node(tree, current)

    def _not_extended(self, query: str) -> Names:
        """Return the names of an expression that names the object as Kyverno does not look for it
        where it extends rules to controllers: there it is the controller."""
        whole = self.names.objects.get(_OBJECT)
        others = query.replace(f"request.{_QUOTED}", "")
        if not isinstance(whole, Value) or _QUOTED in others or "request.object" in others:
            raise NotConvertible('request."object" next to request.object')
        return self.names.with_object(replace(whole, place=not_extended(whole.place)))

    def node(self, node: Node, current: Term | None) -> Term:
        """Return what a node gives; current: the value of `@`, None at the root."""
        if isinstance(current, Choice):
            return for_each(current, lambda term: self.node(node, term))
        if node.kind not in _HANDLERS:
            raise NotConvertible(f"an expression with {node.kind.name.lower().replace('_', ' ')}")
        return _HANDLERS[node.kind](self, node, current)

    def _field(self, node: Node, current: Term | None) -> Term:
        if node.value in _WORDS and not self._strict:
            # Without backticks they are names of fields, which nothing has.
            return _NULL
        if current is None:
            return self._root((node.value,))
        return self.member(current, node.value)

    def _root(self, path: tuple[str, ...]) -> Term:
        if path in _OF_ADMISSION:
            self.names.note(KIND_IN_SCANS)
        if path in self.names.objects:
            term = self.names.objects[path]
            return term if self._strict else self.lenient(term)
        if any(object_path[: len(path)] == path for object_path in self.names.objects):
            return Constant(_Unfinished(path))
        if len(path) == 1 and path[0] in self.names.others:
            if path[0] in _ACCOUNT:
                self.names.note(SERVICE_ACCOUNTS)
            return self.names.others[path[0]]
        if len(path) == 1 and self.names.rest is not None:
            return self.member(self.names.rest, path[0])
        if path == ("",) and not self._strict:
            return _NULL
        raise NotConvertible(f"the variable {'.'.join(path)} has no form in CEL")

    def member(self, term: Term, key: str) -> Term:
        """Return a field of a term."""
        if is_embedded(key):
            return self._entry(term, joined(key, self.names))
        match term:
            case Choice():
                return for_each(term, lambda either: self.member(either, key))
            case Constant(_Unfinished(path)):
                return self._root((*path, key))
            case Constant(Members() as members):
                return chosen(members.given, members.terms.get(key, Constant(None)), _NULL)
            case Constant(Images()):
                raise NotConvertible("the image of a container that is named")
            case Constant(dict() as value):
                return Constant(value.get(key))
            case Constant():
                return Constant(None)
            case Value(place, strict) if place.type == IMAGE_REFERENCE:
                return Value(part_of(place, key), strict)
            case Value(place, strict):
                place = place.taken_for(ANY_MAP)
                if place.type in (TEXT, "int", "bool", "double") and not self._strict:
                    return _NULL
                if not place.is_map:
                    raise NotConvertible(f"the field {key} of a value that is not an object")
                child = place.child(key)
                if child.is_optional and path_of(child.value) in self.names.known:
                    child = replace(child, root=child.value, optional=())
                strict = strict or not place.is_optional
                if self._strict and not strict and child.optional[len(place.optional) :]:
                    # Of null it is null, and of an object without the field an error.
                    given = place.is_present()
                    return Value(replace(child.settled(), given=given), strict=False, fails=True)
                return Value(child, strict and self._strict)
            case Stream():
                raise NotConvertible(f"the field {key} of a list")

    def _entry(self, term: Term, key: Expr) -> Term:
        """Return the entry of a map by a key that is computed."""
        if isinstance(term, Constant) and isinstance(term.value, Images):
            return term.value.of_container(key, self.names.others.get("element"))
        if isinstance(term, Constant) and isinstance(term.value, dict):
            types = {type_of(Constant(value)) for value in term.value.values()}
            inner = types.pop() if len(types) == 1 else UNKNOWN
            term = computed(expression_of(term), f"{{}}{inner}")
        if not isinstance(term, Value):
            raise NotConvertible("a key with a variable, of a value that is not an object")
        place = term.place.taken_for(ANY_MAP)
        if not place.type.startswith("{}"):
            raise NotConvertible("a key with a variable, of a value that is not a map")
        return Value(place.entry(key), term.strict)

    def _subexpression(self, node: Node, current: Term | None) -> Term:
        left, right = node.children
        term = self.node(left, current)
        if isinstance(term, Constant) and isinstance(term.value, _Unfinished):
            if right.kind is not Kind.FIELD:
                raise NotConvertible("the request as a whole")
            return self._root((*term.value.path, right.value))
        if not isinstance(term, Value) or not term.place.is_optional or keeps_null(right):
            is_field = right.kind is Kind.FIELD and not isinstance(term, Choice)
            return self.member(term, right.value) if is_field else self.node(right, term)
        # Where nothing is there, a function is not asked.
        field = self.node(right, Value(term.place.settled()))
        if term.strict:
            return field
        present = term.place.is_present()
        match field:
            case Value(place):
                given = conjunction(present, place.given)
                return Value(replace(place, given=given), strict=False)
            case Stream():
                # What a loop runs over is empty where nothing is there, and no error.
                return self.left(right, term)
            case Constant() | Choice():
                raise NotConvertible("a constant in place of what may be absent")

    def _index_expression(self, node: Node, current: Term | None) -> Term:
        left, right = node.children
        return self.node(right, self.node(left, current))

    def _index(self, node: Node, current: Term | None) -> Term:
        return element_at(_NULL if current is None else current, node.value)

    def _slice(self, node: Node, current: Term | None) -> Term:
        return sliced(_NULL if current is None else current, *node.value)

    def _current(self, _node: Node, current: Term | None) -> Term:
        if current is None:
            raise NotConvertible("an @ that is in no query of a value, and so the whole context")
        return current

    def _identity(self, _node: Node, current: Term | None) -> Term:
        # Projections ask it for a list, which the whole context is not: `a || []` is null.
        return _NULL if current is None else current

    def _literal(self, node: Node, _current: Term | None) -> Term:
        if is_embedded(node.value):
            name = json_literal(node.value)
            if name is not None:
                return as_json(self.names.embedded[name])
            whole = self.names.embedded.get(node.value)
            if isinstance(whole, Value) and whole.place.type == TIME:
                return whole
            return computed(joined(node.value, self.names), TEXT)
        if is_embedded(str(node.value)):
            raise NotConvertible("a variable in a literal of JSON")
        return Constant(node.value)

    def _pipe(self, node: Node, current: Term | None) -> Term:
        left, right = node.children
        value = self.lenient(self.left(left, current, decides=True))
        return self.left(right, value, decides=True)

    def inside(self, stream: Stream) -> Translator:
        """Return the translator of what is asked of each item."""
        taken = self.names.taken | {generator.variable for generator in stream.generators}
        names = replace(self.names, taken=taken)
        return Translator(names, strict=False, decides=self.decides).where(
            *(generator.where for generator in stream.generators)
        )

    def forgiving(self) -> Translator:
        """Return the translator for which an error is null."""
        return Translator(self.names, strict=False)

    def where(self, *tests: Expr, holds: bool = True) -> Translator:
        """Return the translator of what is asked where tests hold, or do not."""
        known = self.names.known.union(*(present_if(test, holds=holds) for test in tests))
        if known == self.names.known:
            return self
        names = replace(self.names, known=known)
        return Translator(names, strict=self._strict, decides=self.decides)

    def truth(self, node: Node, current: Term | None) -> Expr:
        """Report whether JMESPath takes what a node gives for true."""
        match node.kind:
            case Kind.AND_EXPRESSION | Kind.OR_EXPRESSION:
                return self._chain(node, current, holds=node.kind is Kind.AND_EXPRESSION)
            case Kind.NOT_EXPRESSION:
                return cel.negate(self.truth(node.children[0], current))
            case _:
                return is_truthy(self.left(node, current, decides=True))

    def _chain(self, node: Node, current: Term | None, *, holds: bool) -> Expr:
        """Return the operands of a chain as one test, each asked only where those before it hold,
        or do not."""
        *others, last = _operands(node.kind, node)
        translator, tests = self, list[tuple[Expr, bool]]()
        for operand in others:
            test = translator.truth(operand, current)
            lenient = translator.forgiving().truth(operand, current) if self.decides else test
            tests.append((test, test != lenient))
            translator = translator.where(test, holds=holds)
        return in_turn([*tests, (translator.truth(last, current), False)], every=holds)

    @staticmethod
    def lenient(term: Term) -> Term:
        """Return a term that is null where there is nothing."""
        if isinstance(term, Choice):
            return for_each(term, Translator.lenient)
        return term if isinstance(term, Constant) else replace(term, strict=False)

    def _or(self, node: Node, current: Term | None) -> Term:
        *firsts, last = _operands(Kind.OR_EXPRESSION, node)
        rest = self.left(last, current)
        for operand in reversed(firsts):
            *tests, value = _operands(Kind.AND_EXPRESSION, operand)
            translator, held = self, list[Expr]()
            for test in tests:
                held.append(translator.truth(test, current))
                translator = translator.where(held[-1])
            first = translator.left(value, current, decides=True)
            if self.truth(value, current) not in held:
                first = first_truthy(first, rest)
            rest = chosen(conjunction(*held), first, rest)
        return rest

    def _multi_select(self, node: Node, current: Term | None) -> Term:
        inner, given = _settled(current)
        made = list_of_terms([self.left(child, inner) for child in node.children])
        if given == cel.TRUE:
            return made
        return Value(replace(made.place, given=given), strict=False)

    def _multi_select_dict(self, node: Node, current: Term | None) -> Term:
        inner, given = _settled(current)
        terms = {pair.value: self.left(pair.children[0], inner) for pair in node.children}
        return Constant(Members(terms, given))

    def _comparator(self, node: Node, current: Term | None) -> Term:
        left, right = (self.left(child, current, decides=True) for child in node.children)
        sign = _SIGNS[str(node.value.name)] if hasattr(node.value, "name") else str(node.value)
        return compared(sign, left, right)

    def _truth_value(self, node: Node, current: Term | None) -> Term:
        return computed(self.truth(node, current), "bool")

    def _and(self, node: Node, current: Term | None) -> Term:
        *tests, last = _operands(Kind.AND_EXPRESSION, node)
        translator, held = self, list[Expr]()
        for test in tests:
            held.append(translator.truth(test, current))
            translator = translator.where(held[-1])
        rest = translator.node(last, current)
        for test, holds in zip(reversed(tests), reversed(held), strict=True):
            # Where one is not true, the value is that one.
            rest = chosen(holds, rest, _falsy(self.left(test, current)))
        return rest


def _falsy(term: Term) -> Term:
    """Return a term where it is not true: the empty value of its type, or null."""
    match term:
        case Choice():
            return for_each(term, _falsy)
        case Stream(presence=presence):
            return chosen(presence, Constant([]), _NULL)
        case Value(place):
            if not place.is_known:
                raise NotConvertible("the value of && where its left side may be of any type")
            return chosen(place.is_present(), Constant(falsy(place)), _NULL)
    return term


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """The start of a path that names nothing by itself: `request`."""

    path: tuple[str, ...]


def _operands(kind: Kind, node: Node) -> list[Node]:
    """Return the operands of a chain of operators."""
    if node.kind is not kind:
        return [node]
    return [operand for child in node.children for operand in _operands(kind, child)]


def _settled(current: Term | None) -> tuple[Term | None, Expr]:
    """Return the value that several are made from, as it is where it is there, and whether it
    is."""
    if not isinstance(current, Value) or not current.place.is_optional:
        return current, cel.TRUE
    given = cel.TRUE if current.strict else current.place.is_present()
    return Value(current.place.settled(), strict=False), given


_Handler = Callable[[Translator, Node, "Term | None"], Term]
_HANDLERS: Final[Mapping[Kind, _Handler]] = {
    Kind.FIELD: Translator._field,
    Kind.SUBEXPRESSION: Translator._subexpression,
    Kind.INDEX_EXPRESSION: Translator._index_expression,
    Kind.INDEX: Translator._index,
    Kind.SLICE: Translator._slice,
    Kind.CURRENT: Translator._current,
    Kind.IDENTITY: Translator._identity,
    Kind.LITERAL: Translator._literal,
    Kind.PIPE: Translator._pipe,
    Kind.PROJECTION: projections.projection,
    Kind.VALUE_PROJECTION: projections.value_projection,
    Kind.FLATTEN: projections.flatten,
    Kind.FILTER_PROJECTION: projections.filtered,
    Kind.OR_EXPRESSION: Translator._or,
    Kind.AND_EXPRESSION: Translator._and,
    Kind.NOT_EXPRESSION: Translator._truth_value,
    Kind.COMPARATOR: Translator._comparator,
    Kind.MULTI_SELECT_LIST: Translator._multi_select,
    Kind.MULTI_SELECT_DICT: Translator._multi_select_dict,
    Kind.FUNCTION_EXPRESSION: called,
}

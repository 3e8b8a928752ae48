"""JMESPath trees as terms, node by node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import ListLiteral
from chartkit.engine.jmespath import FUNCTIONS as DECLARED
from chartkit.engine.jmespath.compiler import keeps_null
from chartkit.engine.jmespath.errors import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.differences import IMAGE_PARTS, SERVICE_ACCOUNTS
from chartkit.migration.expressions.names import loop_variable
from chartkit.migration.expressions.place import (
    ANY_LIST,
    ANY_MAP,
    IMAGE_REFERENCE,
    TEXT,
    TIME,
    Place,
)
from chartkit.migration.expressions.verdict import conjunction, disjunction
from chartkit.migration.jmespath.alternatives import first_truthy
from chartkit.migration.jmespath.constants import constant_result
from chartkit.migration.jmespath.embedded import as_json, is_embedded, joined, json_literal
from chartkit.migration.jmespath.environment import Names
from chartkit.migration.jmespath.functions import FUNCTIONS
from chartkit.migration.jmespath.functions.collections import members
from chartkit.migration.jmespath.images import Images, part_of
from chartkit.migration.jmespath.lists import concatenated, element_at, without_null
from chartkit.migration.jmespath.terms import (
    Constant,
    Generator,
    Members,
    Stream,
    Term,
    Value,
    computed,
    double_of,
    expression_of,
    is_truthy,
    list_of_terms,
)

_ACCOUNT: Final = frozenset(("serviceAccountName", "serviceAccountNamespace"))
_SIGNS: Final = {"EQ": "==", "NE": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


class Translator:
    """Translates expressions that see the same names."""

    def __init__(self, names: Names, *, strict: bool = True) -> None:
        """strict: whether a field that is not there is an error: not within projections."""
        self.names = names
        self._strict = strict

    def _left(self, node: Node, current: Term | None) -> Term:
        """Return the list of a projection: what is missing there is null."""
        return Translator(self.names, strict=False).node(
            node, current if current is None else self.lenient(current)
        )

    def text(self, query: str, current: Term | None = None) -> Term:
        """Return what an expression gives; current: the value of `@`, None at the root.

        Raises `NotConvertible`.
        """
        if '"object"' in query:
            # Kyverno extends rules to controllers by the text `request.object`.
            raise NotConvertible('request."object" in place of request.object')
        try:
            tree = parse(query)
        except JMESPathError as error:
            raise NotConvertible(f"the expression {query} is malformed: {error}") from None
        return self.node(tree, current)

    def node(self, node: Node, current: Term | None) -> Term:
        """Return what a node gives; current: the value of `@`, None at the root."""
        if node.kind not in _HANDLERS:
            raise NotConvertible(f"an expression with {node.kind.name.lower().replace('_', ' ')}")
        return _HANDLERS[node.kind](self, node, current)

    def _field(self, node: Node, current: Term | None) -> Term:
        if current is None:
            return self._root((node.value,))
        return self.member(current, node.value)

    def _root(self, path: tuple[str, ...]) -> Term:
        if path in self.names.objects:
            found = self.names.objects[path]
            return found if self._strict else self.lenient(found)
        if any(known[: len(path)] == path for known in self.names.objects):
            return Constant(_Unfinished(path))
        if len(path) == 1 and path[0] in self.names.others:
            if path[0] in _ACCOUNT:
                self.names.note(SERVICE_ACCOUNTS)
            return self.names.others[path[0]]
        if path == ("",) and not self._strict:
            return Constant(None)
        raise NotConvertible(f"the variable {'.'.join(path)} has no form in CEL")

    def member(self, term: Term, key: str) -> Term:
        """Return a field of a term."""
        if is_embedded(key):
            return self._entry(term, joined(key, self.names))
        match term:
            case Constant(_Unfinished(path)):
                return self._root((*path, key))
            case Constant(Members(terms)):
                return terms.get(key, Constant(None))
            case Constant(Images()):
                raise NotConvertible("the image of a container that is named")
            case Constant(dict() as value):
                return Constant(value.get(key))
            case Constant():
                return Constant(None)
            case Value(place, strict) if place.type == IMAGE_REFERENCE:
                self.names.note(IMAGE_PARTS)
                return Value(part_of(place, key), strict)
            case Value(place, strict):
                place = place.taken_for(ANY_MAP)
                if not place.is_map:
                    raise NotConvertible(f"the field {key} of a value that is no object")
                return Value(place.child(key), strict)
            case Stream():
                raise NotConvertible(f"the field {key} of a list")

    def _entry(self, term: Term, key: Expr) -> Term:
        """Return the entry of a map by a key that is computed."""
        if isinstance(term, Constant) and isinstance(term.value, Images):
            return term.value.of_container(key, self.names.others.get("element"))
        if not isinstance(term, Value):
            raise NotConvertible("a key with a variable, of a value that is no object")
        place = term.place.taken_for(ANY_MAP)
        if not place.type.startswith("{}"):
            raise NotConvertible("a key with a variable, of a value that is no map")
        return Value(place.entry(key), term.strict)

    def _subexpression(self, node: Node, current: Term | None) -> Term:
        left, right = node.children
        term = self.node(left, current)
        if isinstance(term, Constant) and isinstance(term.value, _Unfinished):
            if right.kind is not Kind.FIELD:
                raise NotConvertible("the request as a whole")
            return self._root((*term.value.path, right.value))
        if not isinstance(term, Value) or not term.place.is_optional or keeps_null(right):
            return self.node(right, term)
        # Where nothing is there, a function is not asked.
        found = self.node(right, Value(term.place.settled()))
        if term.strict:
            return found
        present = term.place.is_present()
        match found:
            case Value(place):
                given = conjunction(present, place.given)
                return Value(replace(place, given=given), strict=False)
            case Stream():
                # What a loop runs over must be there, or be empty.
                return self.node(right, term)
            case Constant():
                raise NotConvertible("a constant in place of what may be absent")

    def _index_expression(self, node: Node, current: Term | None) -> Term:
        left, right = node.children
        return self.node(right, self.node(left, current))

    def _index(self, node: Node, current: Term | None) -> Term:
        if current is None:
            raise NotConvertible("an element of the whole context")
        return element_at(current, node.value)

    def _current(self, _node: Node, current: Term | None) -> Term:
        if current is None:
            raise NotConvertible("the whole context")
        return current

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
        found = self._left(left, current)
        return Translator(self.names, strict=False).node(right, self.lenient(found))

    def _projection(self, node: Node, current: Term | None) -> Term:
        left, right = node.children
        return self._projected(self.stream(self._left(left, current)), right)

    def _value_projection(self, node: Node, current: Term | None) -> Term:
        left, right = node.children
        found = self._left(left, current)
        match found:
            case Constant(Images() as images):
                variable = loop_variable(images.containers, self.names.taken)
                return self._projected(images.all(variable), right)
            case Value():
                return self._projected(members(self.names, found), right)
        raise NotConvertible("the members of a value that is computed")

    def _flatten(self, node: Node, current: Term | None) -> Term:
        (inner,) = node.children
        if inner.kind is Kind.SUBEXPRESSION and inner.children[1].kind is Kind.MULTI_SELECT_LIST:
            parent = self._left(inner.children[0], current)
            return concatenated(
                [self._left(one, parent) for one in inner.children[1].children], self.names.taken
            )
        if inner.kind is Kind.MULTI_SELECT_LIST:
            return concatenated(
                [self._left(one, current) for one in inner.children], self.names.taken
            )
        term = self._left(inner, current)
        if isinstance(term, Stream) and term.item.is_list:
            return self._nested(without_null(term), term.item)
        return term if isinstance(term, Stream) else self.stream(term)

    def stream(self, term: Term) -> Stream:
        """Return a list as a stream of its elements."""
        match term:
            case Stream():
                return term
            case Value(place, _strict):
                place = place.taken_for(ANY_LIST)
                if not place.is_list:
                    raise NotConvertible("a value that is no list is read as one")
                if isinstance(place.root, ListLiteral):
                    raise NotConvertible("a list that is written in the expression")
                variable = loop_variable(place, self.names.taken)
                loop = Generator(variable, place)
                return Stream((loop,), place.element(variable), place.is_present())
            case Constant():
                raise NotConvertible("a list that is written in the expression")

    def _nested(self, outer: Stream, inner: Place) -> Stream:
        taken = self.names.taken | {each.variable for each in outer.generators}
        variable = loop_variable(inner, taken)
        loop = Generator(variable, inner)
        return Stream((*outer.generators, loop), inner.element(variable), outer.presence)

    def _projected(self, stream: Stream, node: Node) -> Term:
        taken = replace(
            self.names,
            taken=self.names.taken | {each.variable for each in stream.generators},
        )
        if node.kind is Kind.CURRENT:
            return stream
        item = Translator(taken, strict=False).node(node, Value(stream.item, strict=False))
        match item:
            case Value(place):
                return replace(stream, item=place)
            case Stream():
                # Lists in a list: a flatten that follows reads them as one.
                return replace(
                    stream, generators=(*stream.generators, *item.generators), item=item.item
                )
            case Constant():
                raise NotConvertible("a constant for each element of a list")

    def _filter(self, node: Node, current: Term | None) -> Term:
        left, right, condition = node.children
        stream = self.stream(self._left(left, current))
        *outer, last = stream.generators
        taken = replace(
            self.names,
            taken=self.names.taken | {each.variable for each in stream.generators},
        )
        holds = Translator(taken, strict=False).truth(condition, Value(stream.item, strict=False))
        if stream.item.is_optional or stream.item.value != cel.ident(last.variable):
            holds = conjunction(stream.item.is_present(), holds)
        kept = replace(last, where=conjunction(last.where, holds))
        filtered = replace(stream, generators=(*outer, kept))
        return self._projected(filtered, right)

    def truth(self, node: Node, current: Term | None) -> Expr:
        """Return whether JMESPath takes what a node gives for true."""
        match node.kind:
            case Kind.AND_EXPRESSION:
                return conjunction(*(self.truth(each, current) for each in node.children))
            case Kind.OR_EXPRESSION:
                return disjunction(*(self.truth(each, current) for each in node.children))
            case Kind.NOT_EXPRESSION:
                return cel.negate(self.truth(node.children[0], current))
            case _:
                return is_truthy(self.lenient(self.node(node, current)))

    @staticmethod
    def lenient(term: Term) -> Term:
        """Return a term that is null where there is nothing."""
        return replace(term, strict=False) if isinstance(term, Value | Stream) else term

    def _or(self, node: Node, current: Term | None) -> Term:
        return first_truthy(*(self._left(each, current) for each in node.children))

    def _multi_select(self, node: Node, current: Term | None) -> Term:
        if isinstance(current, Value) and current.place.is_optional:
            raise NotConvertible("a list made of several values of what may be absent")
        return list_of_terms([self.lenient(self.node(each, current)) for each in node.children])

    def _argument(self, function: str, node: Node, current: Term | None) -> Term:
        if function in _OF_NUMBERS and node.kind is Kind.MULTI_SELECT_LIST:
            # Null among numbers is an error.
            numbers = [double_of(self.node(each, current)) for each in node.children]
            return computed(cel.list_of(numbers), "[]double")
        return self.node(node, current)

    def _multi_select_dict(self, node: Node, current: Term | None) -> Term:
        if isinstance(current, Value) and current.place.is_optional:
            raise NotConvertible("an object made of several values of what may be absent")
        terms = {pair.value: self.node(pair.children[0], current) for pair in node.children}
        return Constant(Members(terms))

    def _comparator(self, node: Node, current: Term | None) -> Term:
        left, right = (self.lenient(self.node(each, current)) for each in node.children)
        sign = _SIGNS[str(node.value.name)] if hasattr(node.value, "name") else str(node.value)
        if sign in ("==", "!="):
            return computed(cel.compare(sign, expression_of(left), expression_of(right)), "bool")
        if any(isinstance(each, Value) and each.place.type != "int" for each in (left, right)):
            raise NotConvertible("an order of values that are no numbers")
        if any(isinstance(each, Value) and each.place.is_optional for each in (left, right)):
            raise NotConvertible("an order of values that may be absent")
        return computed(cel.compare(sign, expression_of(left), expression_of(right)), "bool")

    def _truth_value(self, node: Node, current: Term | None) -> Term:
        if node.kind is Kind.AND_EXPRESSION and not all(
            _is_bool(self.node(each, current)) for each in node.children
        ):
            # As a value, `a && b` is one of its operands.
            raise NotConvertible("a value that && chooses")
        return computed(self.truth(node, current), "bool")

    def _call(self, node: Node, current: Term | None) -> Term:
        function = FUNCTIONS.get(node.value)
        if function is None:
            raise NotConvertible(f"the function {node.value} has no form in CEL yet")
        if len(node.children) != len(DECLARED[node.value].parameters):
            raise NotConvertible(f"the function {node.value} with a wrong number of arguments")
        args = [self._argument(node.value, each, current) for each in node.children]
        found = constant_result(node.value, args)
        if found is not None:
            return found
        return function(self.names, args)


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """The start of a path that names nothing by itself: `request`."""

    path: tuple[str, ...]


_OF_NUMBERS: Final = ("max", "min", "sum")


def _is_bool(term: Term) -> bool:
    match term:
        case Constant(value):
            return isinstance(value, bool)
        case Value(place):
            return place.type == "bool"
        case Stream():
            return False


_Handler = Callable[[Translator, Node, "Term | None"], Term]
_HANDLERS: Final[Mapping[Kind, _Handler]] = {
    Kind.FIELD: Translator._field,
    Kind.SUBEXPRESSION: Translator._subexpression,
    Kind.INDEX_EXPRESSION: Translator._index_expression,
    Kind.INDEX: Translator._index,
    Kind.CURRENT: Translator._current,
    Kind.IDENTITY: Translator._current,
    Kind.LITERAL: Translator._literal,
    Kind.PIPE: Translator._pipe,
    Kind.PROJECTION: Translator._projection,
    Kind.VALUE_PROJECTION: Translator._value_projection,
    Kind.FLATTEN: Translator._flatten,
    Kind.FILTER_PROJECTION: Translator._filter,
    Kind.OR_EXPRESSION: Translator._or,
    Kind.AND_EXPRESSION: Translator._truth_value,
    Kind.NOT_EXPRESSION: Translator._truth_value,
    Kind.COMPARATOR: Translator._comparator,
    Kind.MULTI_SELECT_LIST: Translator._multi_select,
    Kind.MULTI_SELECT_DICT: Translator._multi_select_dict,
    Kind.FUNCTION_EXPRESSION: Translator._call,
}

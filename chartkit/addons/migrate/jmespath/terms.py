"""The results of translated expressions: constants, single values, and the elements of lists.

JMESPath's null is an optional without a value. What a projection gives stays a stream (loops over
lists and an item), so that a question about it becomes `exists` or `all` and no list is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.build import Operand
from chartkit.addons.migrate.expressions.place import (
    ANY_MAP,
    MIXED,
    SIZE,
    SPAN,
    TEXT,
    TIME,
    UNKNOWN,
    Place,
)
from chartkit.addons.migrate.expressions.presence import NOTHING, Known
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction, either
from chartkit.engine.budget import Budget
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Binary, Call, Ident, Index, ListLiteral, Literal, Select
from chartkit.engine.jmespath.compiler import compile_node
from chartkit.engine.jmespath.declaration import ItemsList, to_json
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.errors import ChartkitError
from chartkit.model import Json


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is known."""

    value: Json


@dataclass(frozen=True, slots=True)
class Value:
    """A single value, or nothing.

    place: where it is; strict: whether it is an error for JMESPath if there is nothing; fails:
    whether it may be an error although it is not strict: a field of what may be null.
    """

    place: Place
    strict: bool = True
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Generator:
    """A loop over a list; where: what its elements must meet; may_fail: whether that is an error
    for some."""

    variable: str
    elements: Place
    where: Expr = cel.TRUE
    may_fail: bool = False

    @property
    def list(self) -> Expr:
        """Return the list, or the map, empty where there is none."""
        return self.elements.or_value({} if self.elements.is_map else [])

    def then(self, body: Expr, otherwise: Expr) -> Expr:
        """Return a test of the elements that meet what they must, for which && and || hide no
        error; otherwise: what holds of the others."""
        if self.may_fail and body not in (cel.TRUE, cel.FALSE):
            return cel.conditional(self.where, body, otherwise)
        if otherwise == cel.TRUE:
            return disjunction(cel.negate(self.where), body)
        return conjunction(self.where, body)


@dataclass(frozen=True, slots=True)
class Stream:
    """The items of nested loops, without those that are nothing.

    item: the place of an item, by the variable of the innermost loop; presence: whether there is
    a list at all (without one JMESPath gives null); strict: whether null is an error; depth: how
    deep the items are in lists of lists, of which a flatten alone is converted; members: those of
    items that are objects made of several values.
    """

    generators: tuple[Generator, ...]
    item: Place
    presence: Expr = cel.TRUE
    strict: bool = False
    depth: int = 1
    members: Members | None = None

    @property
    def current(self) -> Term:
        """Return an item as an expression about it sees it."""
        if self.members is not None:
            return Constant(self.members)
        return Value(self.item, strict=False)

    def flat(self) -> Stream:
        """Return the stream itself; raises `NotConvertible` for a list of lists."""
        if self.depth > 1:
            raise NotConvertible("a list of lists")
        return self

    @property
    def is_plain(self) -> bool:
        """Report whether it is a list as it stands."""
        (first, *rest) = self.generators
        return not rest and first.where == cel.TRUE and self.item.value == cel.ident(first.variable)

    @property
    def is_keys(self) -> bool:
        """Report whether it has the keys of an object."""
        return self.is_plain and self.generators[0].elements.is_map

    def settled(self) -> Stream:
        """Return the stream without the items that are absent."""
        if not self.item.is_optional:
            return self
        *outer, last = self.generators
        kept = replace(last, where=conjunction(last.where, self.item.is_present()))
        return replace(self, generators=(*outer, kept), item=self.item.settled())

    def exists(self, test: Callable[[Place], Expr]) -> Expr:
        """Report whether a test holds of an item."""
        item = self.flat().item.settled()
        body = conjunction(self.item.is_present(), test(item))
        for generator in reversed(self.generators):
            body = _exists(generator, generator.then(body, otherwise=cel.FALSE))
        return body

    def all(self, test: Callable[[Place], Expr]) -> Expr:
        """Report whether a test holds of every item."""
        item = self.flat().item.settled()
        body = disjunction(cel.negate(self.item.is_present()), test(item))
        for generator in reversed(self.generators):
            inner = generator.then(body, otherwise=cel.TRUE)
            body = cel.macro(generator.list, "all", generator.variable, inner)
        return body

    def required(self) -> Stream:
        """Return the stream that is an error where there is no list at all."""
        if self.presence == cel.TRUE:
            return self
        first, *rest = self.generators
        settled = replace(first, elements=first.elements.settled())
        return replace(self, generators=(settled, *rest), presence=cel.TRUE)

    def list(self) -> Expr:
        """Return the items as a list."""
        generator, *outer = reversed(self.flat().generators)
        item = self.item
        made = _filtered(generator, item.is_present())
        # A map is a loop over its keys, and a filter gives a list of them.
        is_map = made == generator.list and generator.elements.is_map
        if item.value != cel.ident(generator.variable) or is_map:
            made = cel.macro(made, "map", generator.variable, item.value)
        for stream in outer:
            made = cel.method(cel.macro(_filtered(stream), "map", stream.variable, made), "flatten")
        return made

    def listed(self) -> Place:
        """Return the place of the items as a list."""
        path = self.item.path.removesuffix("[]")
        return Place(self.list(), (), f"[]{self.item.type}", path, assumed=self.item.assumed)

    def size(self) -> Expr:
        """Return the number of items."""
        return cel.method(self.list(), "size")


def _exists(generator: Generator, body: Expr) -> Expr:
    if body == cel.FALSE:
        return cel.FALSE
    if body == cel.TRUE:
        return cel.compare(">", cel.method(generator.list, "size"), 0)
    return cel.macro(generator.list, "exists", generator.variable, body)


def _filtered(generator: Generator, *further: Expr) -> Expr:
    where = conjunction(generator.where, *further)
    if where == cel.TRUE:
        return generator.list
    return cel.macro(generator.list, "filter", generator.variable, where)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of two terms that have no type in common.

    holds: whether it is the first.
    """

    holds: Expr
    first: Term
    second: Term

    def of_each(self, question: Callable[[Term], Expr]) -> Expr:
        """Return the answer to a question about the term that it is."""
        return either(self.holds, question(self.first), question(self.second))


Term: TypeAlias = Constant | Value | Stream | Choice


@dataclass(frozen=True, slots=True)
class Members:
    """An object made of several values, whose members are asked for one by one.

    given: what must hold for there to be one.
    """

    terms: Mapping[str, Term]
    given: Expr = cel.TRUE

    def place(self) -> Place:
        """Return the object as a whole; raises `NotConvertible`."""
        members = dict(zip(self.terms, mixed(self.terms.values()), strict=True))
        return Place(cel.map_of(members), (), ANY_MAP)


def computed(expression: Expr, type_: str = UNKNOWN) -> Value:
    """Return a value that an expression gives."""
    return Value(Place(expression, (), type_))


def is_path(expr: Expr) -> bool:
    """Report whether an expression is a path of fields alone."""
    while isinstance(expr, Select):
        expr = expr.operand
    return isinstance(expr, Ident)


def is_json(value: object) -> bool:
    """Report whether a constant is a value, and not the start of a path alone."""
    return value is None or isinstance(value, bool | int | float | str | list | dict)


def expression_of(term: Term) -> Expr:
    """Return a term as an expression; nothing where there must be something is an error."""
    match term:
        case Constant(value) if not is_json(value):
            raise NotConvertible("the request as a whole")
        case Constant(list() as values):
            return cel.list_of(mixed(map(Constant, values)))
        case Constant(dict() as members):
            return cel.map_of(
                dict(zip(members, mixed(map(Constant, members.values())), strict=True))
            )
        case Constant(value):
            return cel.literal(value)
        case Value(place) if place.type == TIME:
            return cel.call("string", place.value)
        case Value(place) if place.type in (SPAN, SIZE):
            raise NotConvertible("the text of a computed span or size")
        case Value(place, strict):
            if place.is_optional and not strict:
                return place.or_value(cel.NULL)
            return place.value
        case Stream():
            return term.list()
        case Choice(holds, first, second):
            chosen = (cel.call("dyn", expression_of(branch)) for branch in (first, second))
            return cel.conditional(holds, *chosen)


def type_of(term: Term) -> str:
    """Return the type of a term, as places have it."""
    match term:
        case Constant(value):
            return _TYPES.get(type(value), UNKNOWN)
        case Value(place):
            return place.type
        case Stream():
            return f"[]{term.item.type}"
        case Choice():
            return MIXED


_TYPES: Final = {str: TEXT, bool: "bool", int: "int", float: "double"}


def double_of(term: Term) -> Expr:
    """Return a number as a double; anything else is an error in CEL, too."""
    match term:
        case Constant(int() | float() as value) if type(value) is not bool:
            return cel.literal(float(value))
        case Value(place) if place.type in ("int", "double"):
            number = place.settled().value
            is_double = isinstance(number, Call) and number.function == "double"
            return number if is_double else cel.call("double", number)
    raise NotConvertible("a list of values that might not be numbers")


def mixed(terms: Iterable[Term]) -> list[Expr]:
    """Return terms as members of one list or map, which CEL wants to have one type."""
    expressions = [expression_of(term) for term in terms]
    types = [_static_type(expression) for expression in expressions]
    if len(expressions) < 2 or (len(set(types)) == 1 and None not in types):
        return expressions
    return [
        member if type_ == UNKNOWN else cel.call("dyn", member)
        for member, type_ in zip(expressions, types, strict=True)
    ]


_TEXT_METHODS: Final = frozenset(
    ("join", "lowerAscii", "replace", "substring", "trim", "upperAscii", "charAt", "format")
)
_TYPED: Final = frozenset(("request", "variables", "namespaceObject"))
"""Variables whose fields have types that the checker knows."""


def _static_type(expr: Expr) -> str | None:
    """Return the type that CEL's checker gives an expression; None where it is unknown."""
    match expr:
        case Literal(value):
            return type(value).__name__
        case Binary("+", Literal(str()), _) | Binary("+", _, Literal(str())):
            return "str"
        case Binary("+", left, _):
            return "str" if _static_type(left) == "str" else None
        case Call("string" | "json.marshal", None, _):
            return "str"
        case Call(function, target) if target is not None and function in _TEXT_METHODS:
            return "str"
        case Call("orValue", Select() | Index() as read, (Literal(),)):
            return _static_type(read)
        case Call("dyn", None, _):
            return UNKNOWN
        case Select(operand) | Index(operand):
            while isinstance(operand, Select | Index):
                operand = operand.operand
            is_untyped = isinstance(operand, Ident) and operand.name not in _TYPED
            return UNKNOWN if is_untyped else None
    return None


def is_truthy(term: Term) -> Expr:
    """Report whether JMESPath takes a term for true: it is not null, false or empty."""
    match term:
        case Constant(Members() as members):
            return members.given
        case Constant(value):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return cel.literal(is_number or value not in (None, False, "", [], {}))
        case Stream():
            return term.exists(lambda _item: cel.TRUE)
        case Value(place):
            return _is_truthy(place)
        case Choice(holds, first) if is_truthy(first) == holds:
            return either(holds, cel.TRUE, is_truthy(term.second))
        case Choice():
            return term.of_each(is_truthy)


def _is_truthy(place: Place) -> Expr:
    if place.among and "" not in place.among:
        return cel.TRUE
    if place.type == "bool":
        inner = replace(place, given=cel.TRUE).or_value(cel.FALSE)
        return conjunction(place.given, inner)
    if place.type == TEXT:
        if not place.is_optional and _has_text(place.value):
            return cel.TRUE
        return cel.not_equal(place.or_value(""), "")
    if place.type in ("int", "double", "quantity"):
        return place.is_present()
    if place.is_list:
        if not place.is_optional and isinstance(place.value, ListLiteral):
            return cel.literal(bool(place.value.elements))
        return cel.compare(">", cel.method(place.or_value([]), "size"), 0)
    if place.is_map:
        if place.requires_something:
            return place.is_present()
        return cel.compare(">", cel.method(place.or_value({}), "size"), 0)
    if place.type == "int-or-string":
        return cel.not_equal(place.or_value(""), "")
    if place.type == UNKNOWN:
        return cel.negate(cel.contains(_FALSE, place.or_value(cel.NULL)))
    raise NotConvertible("a value of a type that is not known is asked for its truth")


def _has_text(expr: Expr) -> bool:
    """Report whether an expression joins texts, one of which is written and not empty."""
    match expr:
        case Binary("+", left, right):
            return _has_text(left) or _has_text(right)
        case Literal(str() as text):
            return bool(text)
    return False


_NO_MEMBERS: Final = cel.map_of({})
_FALSES: Final[tuple[Operand, ...]] = (cel.NULL, False, "", [], _NO_MEMBERS)
_FALSE: Final = cel.list_of(cel.call("dyn", false) for false in _FALSES)


def falsy(place: Place) -> Json:
    """Return the one value of a type, besides nothing, that JMESPath takes for false; None where
    there is none."""
    if place.is_list:
        return []
    if place.is_map:
        return {}
    return {TEXT: "", "bool": False}.get(place.type)


EXACT: Final = 2**53
"""Whole numbers below this are exact as floats, which are JMESPath's numbers."""
_VARYING: Final = frozenset(
    (
        *("random", "time_now", "time_now_utc", "time_since"),
        *("is_external_url", "image_normalize"),
    )
)
"""Functions whose results differ from call to call, or by the cluster that asks."""


def constant_result(name: str, args: Sequence[Term]) -> Constant | None:
    """Return what a function gives for arguments that are written out; None for other arguments.

    Raises `NotConvertible` where it fails for them.
    """
    values = [arg.value for arg in args if isinstance(arg, Constant) and is_json(arg.value)]
    if name in _VARYING or len(values) < len(args):
        return None
    literals = tuple(Node(Kind.LITERAL, value) for value in values)
    try:
        call = compile_node(Node(Kind.FUNCTION_EXPRESSION, name, literals))
        made = call(None, Budget())
        if isinstance(made, ItemsList):
            # To other functions it is not a list.
            return None
        result = to_json(made)
    except ChartkitError as error:
        raise NotConvertible(f"the function {name} fails: {error.message}") from None
    is_whole = isinstance(result, float) and result.is_integer() and 0 < abs(result) < EXACT
    return Constant(int(result) if is_whole else result)


@dataclass(frozen=True, slots=True)
class Names:
    """The names at the root of an expression.

    objects: `request.object` and so on, by their path; others: context variables, `element` and
    what else a rule may name; taken: the names of loop variables in use; embedded: the variables
    behind the placeholders in a query; known: the paths that are there where it is evaluated;
    fetched: the entries that are read of what others answer; failing: those that may fail;
    certain: those that cannot; loose: variables that may, as terms that are null then; rest: the
    object that has what is not named; changes: what differs in a rule.
    """

    objects: Mapping[tuple[str, ...], Term]
    others: Mapping[str, Term] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    embedded: Mapping[str, Term] = field(default_factory=dict)
    known: Known = NOTHING
    fetched: frozenset[str] = frozenset()
    loose: Mapping[str, Term] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()
    certain: frozenset[str] = frozenset()
    rest: Term | None = None
    changes: dict[str, None] = field(default_factory=dict, compare=False, repr=False)

    def with_others(self, **named: Term) -> Names:
        """Return the names with others, which go first."""
        return replace(self, others={**self.others, **named})

    def with_object(self, term: Term) -> Names:
        """Return the names with another request.object."""
        return replace(self, objects={**self.objects, ("request", "object"): term})

    def with_embedded(self, terms: Mapping[str, Term]) -> Names:
        """Return the names with the variables behind placeholders."""
        return replace(self, embedded={**self.embedded, **terms})

    def note(self, change: str) -> None:
        """Note a behaviour that differs."""
        self.changes[change] = None

    def without(self, variable: str) -> Names:
        """Return the names with a loop's variable in use."""
        return replace(self, taken=self.taken | {variable})

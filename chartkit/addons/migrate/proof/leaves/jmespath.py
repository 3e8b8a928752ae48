"""The places that a JMESPath expression looks at, and the literals that it compares them with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from chartkit.addons.migrate.proof.leaves.leaf import Note, matching
from chartkit.addons.migrate.proof.leaves.paths import AT, EACH, Path
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.engine.jmespath.errors import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.model import Json

Paths = tuple[Path, ...]
_ROOT: Final[Paths] = ((),)


class JmesPlaces:
    """Reads expressions; scope: the paths of names (context variables, `element`)."""

    def __init__(self, note: Note, scope: Mapping[str, Paths]) -> None:
        self._note = note
        self.scope = dict(scope)

    def within(self, **names: Paths) -> JmesPlaces:
        """Return a reader that knows more names."""
        return JmesPlaces(self._note, {**self.scope, **names})

    def text(self, value: Json) -> Paths:
        """Return the paths that the variables in a JSON value come to; what they look at on the
        way is noted."""
        return tuple(path for query in queries(value) for path in self.query(query))

    def query(self, text: str) -> Paths:
        """Return the paths that an expression comes to."""
        try:
            node = parse(text)
        except JMESPathError:
            return ()
        return self._paths(node, _ROOT)

    def below(self, text: str, paths: Paths) -> Paths:
        """Return the paths that an expression comes to, asked about values at some paths."""
        try:
            return self._paths(parse(text), paths)
        except JMESPathError:
            return ()

    def compare(self, key: Json, value: Json) -> None:
        """Note a comparison of two JSON values with variables in them."""
        for one, other in ((key, value), (value, key)):
            literals = [*literals_of(other), *self._literals(one)]
            for path in dict.fromkeys(self.text(one)):
                self._note(path, literals)
                if any(map(_asks_for_keys, queries(one))):
                    for key in literals:
                        self._note((*path, str(key)), ())

    def _literals(self, value: Json) -> Iterator[Json]:
        for query in queries(value):
            try:
                yield from _literals(parse(query))
            except JMESPathError:
                continue

    def _paths(self, node: Node, current: Paths) -> Paths:
        reader = _READERS.get(node.kind)
        if reader is not None:
            return reader(self, node, current)
        return tuple(path for child in node.children for path in self._paths(child, current))

    def _field(self, node: Node, current: Paths) -> Paths:
        name = str(node.value)
        if name == "null":
            return ()  # It is meant as null, and no object has such a field.
        if current == _ROOT:
            return self.scope.get(name, ((name,),))
        return tuple((*path, name) for path in current)

    def _sequence(self, node: Node, current: Paths) -> Paths:
        left, *rest = node.children
        current = self._paths(left, current)
        return self._paths(rest[0], current) if rest else current

    def _each(self, node: Node, current: Paths) -> Paths:
        step = AT if node.kind is Kind.VALUE_PROJECTION else EACH
        left = tuple((*path, step) for path in self._paths(node.children[0], current))
        rest = node.children[1:]
        if node.kind is Kind.FILTER_PROJECTION:
            self._paths(rest[1], left)
        return self._paths(rest[0], left) if rest else left

    def _flattened(self, node: Node, current: Paths) -> Paths:
        child = node.children[0]
        flat = child.kind is Kind.FLATTEN or (
            child.kind is Kind.PROJECTION and child.children[0].kind is Kind.FLATTEN
        )
        paths = self._paths(child, current)
        return paths if flat and child.kind is Kind.FLATTEN else _each_of(paths)

    def _projection(self, node: Node, current: Paths) -> Paths:
        left, right = node.children
        paths = self._paths(left, current)
        return self._paths(right, paths if left.kind is Kind.FLATTEN else _each_of(paths))

    def _index(self, _node: Node, current: Paths) -> Paths:
        return _each_of(current)

    def _same(self, _node: Node, current: Paths) -> Paths:
        return current if current != _ROOT else ()

    def _nothing(self, _node: Node, _current: Paths) -> Paths:
        return ()

    def _comparison(self, node: Node, current: Paths) -> Paths:
        self._noted(node, current)
        return ()

    def _function(self, node: Node, current: Paths) -> Paths:
        paths = self._noted(node, current)
        return tuple((*path, AT) for path in paths) if node.value == "values" else paths

    def _noted(self, node: Node, current: Paths) -> Paths:
        paths = tuple(path for child in node.children for path in self._paths(child, current))
        literals = list(_literals(node))
        if node.value == "regex_match":
            literals = [text for each in literals for text in matching(str(each))]
        for path in dict.fromkeys(paths):
            self._note(path, literals)
        return paths


def _each_of(paths: Paths) -> Paths:
    return tuple((*path, EACH) for path in paths)


_READERS: Final[Mapping[Kind, Callable[[JmesPlaces, Node, Paths], Paths]]] = {
    Kind.FIELD: JmesPlaces._field,
    Kind.SUBEXPRESSION: JmesPlaces._sequence,
    Kind.INDEX_EXPRESSION: JmesPlaces._sequence,
    Kind.PIPE: JmesPlaces._sequence,
    Kind.PROJECTION: JmesPlaces._projection,
    Kind.FILTER_PROJECTION: JmesPlaces._each,
    Kind.VALUE_PROJECTION: JmesPlaces._each,
    Kind.FLATTEN: JmesPlaces._flattened,
    Kind.INDEX: JmesPlaces._index,
    Kind.SLICE: JmesPlaces._index,
    Kind.CURRENT: JmesPlaces._same,
    Kind.IDENTITY: JmesPlaces._same,
    Kind.LITERAL: JmesPlaces._nothing,
    Kind.COMPARATOR: JmesPlaces._comparison,
    Kind.FUNCTION_EXPRESSION: JmesPlaces._function,
}


def _asks_for_keys(query: str) -> bool:
    """Return whether an expression calls `keys`, so that what it is compared with are names."""
    try:
        return _calls_keys(parse(query))
    except JMESPathError:
        return False


def _calls_keys(node: Node) -> bool:
    is_keys = node.kind is Kind.FUNCTION_EXPRESSION and node.value == "keys"
    return is_keys or any(map(_calls_keys, node.children))


def queries(value: Json) -> Iterator[str]:
    """Yield the expressions of the variables in a JSON value."""
    if isinstance(value, str):
        for variable in find_variables(value):
            yield variable.query
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from queries(key)
            yield from queries(member)
    elif isinstance(value, list):
        for member in value:
            yield from queries(member)


def literals_of(value: Json) -> Iterator[Json]:
    """Yield the scalars of a JSON value that hold no variable."""
    if isinstance(value, dict):
        for member in value.values():
            yield from literals_of(member)
    elif isinstance(value, list):
        for member in value:
            yield from literals_of(member)
    elif not (isinstance(value, str) and find_variables(value)):
        yield value


def _literals(node: Node) -> Iterable[Json]:
    if node.kind is Kind.LITERAL:
        yield from literals_of(node.value)
    for child in node.children:
        yield from _literals(child)

"""The values that an evaluation reads of an object, and its result.

An evaluation that depends on an object alone takes the same course for every object that answers
its reads alike. `Reads` records them while it runs, and a `ReadTree` asks another object the same
ones, one after the other, up to the value that was found at their end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, Final, Generic, TypeVar

from chartkit.model import Body, Json

Answer = Any
"""A hashable stand-in for a value: a text or null itself, a kind for an object, whose members are
not read by that, and for a list the answers of its elements."""

Course = tuple[tuple[int, str | None], ...]
"""The numbers of objects, and the keys that were read of them; None: all entries."""

ReadPath = tuple[str | None, ...]
"""The keys of a value that was read; None: an element of a list, or all entries of an object."""

_ABSENT, _EMPTY, _OBJECT, _LIST, _ENTRIES = range(5)
_READ: Final = 32
"""The size of a read without the text in its answer."""
_MISSING: Final = object()
_REST: Final = object()
"""The key in place of members that were not read yet: C code that looks at the size of a dict alone
must not take it for empty."""


class Reads:
    """The reads of one evaluation, in order, with their answers.

    answers: by the number of an object and the key that was read of it, None for all of its
    entries. Objects are numbered in the order in which answers name them; 0 holds the roots.
    is_repeatable: whether nothing but the roots was asked.
    """

    __slots__ = ("_all", "_count", "_objects", "answers", "is_repeatable", "roots")

    def __init__(self, *roots: Body) -> None:
        self.answers: dict[tuple[int, str | None], Answer] = {}
        self.is_repeatable = True
        self._objects: dict[tuple[int, str | None], tuple[int, Sequence[Body]]] = {}
        self._count = 1
        self._all = RecordedObject(self, 0, _together(roots))
        self.roots = list(self._all.values())

    @classmethod
    def joined(cls, courses: Iterable[Course], *roots: Body) -> Reads:
        """Return the reads of several evaluations of the same roots, as if of a single one."""
        reads = cls(*roots)
        objects_read = reads._objects
        for course in courses:
            objects, numbers = [reads._all._source], [0]
            for number, key in course:
                noted = objects_read.get((numbers[number], key))
                first, answered = noted or reads._noted(numbers[number], objects[number], key)
                if answered:
                    objects += answered
                    numbers += range(first, first + len(answered))
        return reads

    @property
    def course(self) -> Course:
        """Return the reads, in order."""
        return tuple(self.answers)

    def paths(self) -> Iterator[ReadPath]:
        """Yield the paths that were read, each below the number of its root."""
        paths: dict[int, ReadPath] = {0: ()}
        sources: dict[int, Body] = {0: self._all._source}
        for number, key in self.answers:
            source, above = sources[number], paths[number]
            yield (*above, key)
            first, objects = self._objects[number, key]
            read = source if key is None else {key: source.get(key)}
            places = (path for name, value in read.items() for path in _holders(value, (name,)))
            for at, (body, path) in enumerate(zip(objects, places, strict=True), first):
                sources[at], paths[at] = body, (*above, *path)

    @property
    def size(self) -> int:
        """Return how much the answers hold, in characters."""
        return sum(map(_size, self.answers.values()))

    def note(self, number: int, source: Body, key: str | None) -> Iterator[int]:
        """Note a read, and return the numbers of the objects in its answer."""
        return count(self._noted(number, source, key)[0])

    def _noted(self, number: int, source: Body, key: str | None) -> tuple[int, Sequence[Body]]:
        """Return the number of the first object in the answer to a read, and all its objects."""
        read = number, key
        noted = self._objects.get(read)
        if noted is None:
            objects: list[Body] = []
            self.answers[read] = _asked(source, key, objects)
            noted = self._objects[read] = (self._count, objects)
            self._count += len(objects)
        return noted

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Make these the reads of what runs inside the block."""
        token = _RECORDING.set(self)
        try:
            yield
        finally:
            _RECORDING.reset(token)


_RECORDING: ContextVar[Reads | None] = ContextVar("recorded_reads", default=None)


def asks_outside() -> None:
    """Note that something else than an object is asked: the clock, chance or another machine."""
    reads = _RECORDING.get()
    if reads is not None:
        reads.is_repeatable = False


def _together(roots: Sequence[Body]) -> Body:
    return {str(number): root for number, root in enumerate(roots)}


def _asked(source: Body, key: str | None, objects: list[Body]) -> Answer:
    """Return the answer to a read, and append its objects to `objects`."""
    if key is not None:
        value = source.get(key, _MISSING)
        return _ABSENT if value is _MISSING else _answer(value, objects)
    answers = [
        value if value.__class__ is str else _answer(value, objects) for value in source.values()
    ]
    return _ENTRIES, *source, *answers


def _answer(value: Json, objects: list[Body]) -> Answer:
    kind = value.__class__
    if kind is str or value is None:
        return value
    if kind is dict:
        if not value:
            return _EMPTY
        objects.append(value)
        return _OBJECT
    if kind is list:
        return _LIST, *[_answer(member, objects) for member in value]
    # 1, 1.0 and True are equal and different all the same.
    return kind, repr(value)


def _holders(value: Json, path: ReadPath) -> Iterator[ReadPath]:
    """Yield the paths of the objects in a value that are read by themselves."""
    if isinstance(value, dict) and value:
        yield path
    for member in value if isinstance(value, list) else ():
        yield from _holders(member, (*path, None))


def _size(answer: Answer) -> int:
    held = sum(map(_size, answer)) if answer.__class__ is tuple else 0
    return _READ + (len(answer) if answer.__class__ is str else held)


class RecordedObject(dict[str, Json]):
    """An object whose reads are recorded; to everything else it is a plain `dict`.

    It holds the members that were read; the elements of a list are read with the list.
    """

    __slots__ = ("_convert", "_is_complete", "_number", "_reads", "_source")

    def __init__(
        self, reads: Reads, number: int, source: Body, convert: Callable[[Json], Json] | None = None
    ) -> None:
        """convert: what becomes of scalars."""
        super().__init__()
        self._reads = reads
        self._number = number
        self._source = source
        self._convert = convert
        self._is_complete = not source
        if source:
            self[_REST] = None  # type: ignore[index]

    @property  # type: ignore[misc]
    def __class__(self) -> type[dict[str, Json]]:  # type: ignore[override]
        return dict

    def converted(self, convert: Callable[[Json], Json]) -> RecordedObject:
        """Return the same object with scalars that a function converts."""
        return RecordedObject(self._reads, self._number, self._source, convert)

    def _made(self, value: Json, numbers: Iterator[int]) -> Json:
        kind = value.__class__
        if kind is dict:
            if not value:
                return {}
            return RecordedObject(self._reads, next(numbers), value, self._convert)
        if kind is list:
            return [self._made(member, numbers) for member in value]
        return value if self._convert is None else self._convert(value)

    def __missing__(self, key: Any) -> Json:
        value = self.get(key, _MISSING)
        if value is _MISSING:
            raise KeyError(key)
        return value

    def get(self, key: Any, default: Json = None) -> Json:
        member = dict.get(self, key, _MISSING)
        if member is not _MISSING or self._is_complete:
            return default if member is _MISSING else member
        if key.__class__ is not str:
            return dict.get(self._complete(), key, default)
        numbers = self._reads.note(self._number, self._source, key)
        value = self._source.get(key, _MISSING)
        if value is _MISSING:
            return default
        made = self[key] = self._made(value, numbers)
        return made

    def _complete(self) -> RecordedObject:
        """Read all entries, in their order."""
        if not self._is_complete:
            self._is_complete = True
            numbers = self._reads.note(self._number, self._source, None)
            made = {key: self._made(value, numbers) for key, value in self._source.items()}
            held = dict(dict.items(self))
            dict.clear(self)
            for key, value in held.items():
                rest = made if key is _REST else {key: value}
                for own, fresh in rest.items():
                    if not dict.__contains__(self, own):
                        self[own] = held.get(own, fresh)
        return self

    def __bool__(self) -> bool:
        return bool(self._source) or dict.__len__(self) > 0

    def __contains__(self, key: object) -> bool:
        return self.get(key, _MISSING) is not _MISSING

    def __ror__(self, base: Mapping[str, Json]) -> RecordedObject:  # type: ignore[override]
        joined = RecordedObject(self._reads, self._number, self._source, self._convert)
        dict.clear(joined)
        for key, value in base.items():
            joined[key] = self.get(key, value)
        if self._source:
            joined[_REST] = None  # type: ignore[index]
        return joined

    def __reduce_ex__(self, _protocol: object) -> tuple[type, tuple[Body]]:
        return dict, (dict(self.items()),)


def _reading_all(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def run(self: RecordedObject, *arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, RecordedObject):
                argument._complete()
        return method(self._complete(), *arguments)

    return run


for _name in (
    *("__iter__", "__len__", "__eq__", "__ne__", "__or__", "__repr__", "__reversed__"),
    *("copy", "items", "keys", "values", "pop", "popitem", "setdefault"),
):
    setattr(RecordedObject, _name, _reading_all(_name))


V = TypeVar("V")


class _Node(Generic[V]):
    """A course of evaluations: reads with one answer each, then several, or the end's value."""

    __slots__ = ("branch", "edges", "steps", "value")

    def __init__(
        self, steps: Sequence[tuple[int, str | None, Answer]], value: V | None = None
    ) -> None:
        self.steps = steps
        self.value = value
        self.branch: tuple[int, str | None] | None = None
        self.edges: dict[Answer, _Node[V]] = {}


class ReadTree(Generic[V]):
    """The results of evaluations, by their reads and the answers to these.

    Several threads may use it: nothing that another one may be looking at is changed, but for
    edges, which are added.
    """

    __slots__ = ("_root", "size")

    def __init__(self) -> None:
        self._root: _Node[V] | None = None
        self.size = 0

    def find(self, *roots: Body) -> V | None:
        """Return the result of an evaluation whose reads these objects answer equally."""
        objects = [_together(roots)]
        node = self._root
        while node is not None:
            for number, key, expected in node.steps:
                if key is None:
                    answer = _asked(objects[number], None, objects)
                else:
                    answer = objects[number].get(key, _MISSING)
                    kind = answer.__class__
                    if kind is not str and answer is not None:
                        if answer is _MISSING:
                            answer = _ABSENT
                        elif kind is dict and answer:
                            objects.append(answer)
                            answer = _OBJECT
                        else:
                            answer = _answer(answer, objects)
                if answer != expected:
                    return None
            if node.branch is None:
                return node.value
            number, key = node.branch
            node = node.edges.get(_asked(objects[number], key, objects))
        return None

    def keep(self, reads: Reads, value: V) -> None:
        """Keep the result of an evaluation, unless its reads do not decide its course."""
        course = [(number, key, answer) for (number, key), answer in reads.answers.items()]
        node, at = self._root, 0
        if node is None:
            self._root = _Node(course, value)
            self.size = 1
            return
        edges: dict[Answer, _Node[V]] | None = None
        edge: Answer = None
        while True:
            for index, (number, key, expected) in enumerate(node.steps):
                if at + index >= len(course) or course[at + index][:2] != (number, key):
                    return
                answer = course[at + index][2]
                if answer != expected:
                    other = _Node(course[at + index + 1 :], value)
                    number, key, expected = node.steps[index]
                    rest: _Node[V] = _Node(node.steps[index + 1 :], node.value)
                    rest.branch, rest.edges = node.branch, node.edges
                    split: _Node[V] = _Node(node.steps[:index])
                    split.branch = number, key
                    split.edges = {expected: rest, answer: other}
                    self.size += 1
                    if edges is None:
                        self._root = split
                    else:
                        edges[edge] = split
                    return
            at += len(node.steps)
            if node.branch is None or at >= len(course) or course[at][:2] != node.branch:
                return
            edges, edge = node.edges, course[at][2]
            at += 1
            following = edges.get(edge)
            if following is None:
                edges[edge] = _Node(course[at:], value)
                self.size += 1
                return
            node = following

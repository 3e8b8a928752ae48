"""The types that every part of chartkit shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from operator import is_
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from chartkit.safe_text import shown

T = TypeVar("T")
R = TypeVar("R")

Json = Any
"""A JSON value: dict with string keys, list, str, int, float, bool or None."""

Body = dict[str, Any]
"""A JSON object."""

FieldPath = tuple[str | int, ...]
"""The keys and indices from a document to a value in it."""


_MISSING: Final[Any] = object()
_DIGITS: Final = 10


class Places(ABC):
    """The places of the values of one document."""

    __slots__ = ()

    @abstractmethod
    def locate(self, *path: str | int) -> Location:
        """Return the location of the key or list item at a path, or of its nearest parent."""

    def character(self, offset: int, *path: str | int) -> Location:  # noqa: ARG002 - unless known
        """Return the location of a character of the text at a path, or of the path's key."""
        return self.locate(*path)

    def value_of(self, *path: str | int) -> Location | None:  # noqa: ARG002 - unless known
        """Return the location of the value of a Helm chart that the field at a path shows; None
        where that is unknown."""
        return None

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        """Return the lines around one, and the number of the first; none where the text is not
        there."""
        return line, ()


@dataclass(frozen=True, slots=True)
class Location:
    """A location in a file: line and column count from 1 (0: unknown), path is a JSON pointer.

    places: of the document that it is in, None where there is no text, as in a cluster; overlay:
    the folder of the kustomization that builds the object here, empty for none.
    """

    file: str
    line: int = 0
    column: int = 0
    path: str = ""
    places: Places | None = field(default=None, compare=False, repr=False)
    overlay: str = field(default="", compare=False, repr=False)

    def within(self, pointer: str) -> Location:
        """The location of a field of the value here, or of its nearest existing parent; pointer:
        JSON pointer below this value. It is the location itself where there is no text."""
        if self.places is None:
            return self
        return self.places.locate(*pointer_steps(self.path), *pointer_steps(pointer))

    def character(self, pointer: str, offset: int) -> Location:
        """Return the location of a character of a text below this value, such as an expression's
        mistake; of the text's key where that is unknown."""
        if self.places is None:
            return self
        return self.places.character(offset, *pointer_steps(self.path), *pointer_steps(pointer))

    def value_of(self, pointer: str) -> Location | None:
        """Return the location of the value of a Helm chart that a field of the value here shows;
        None where that is unknown. Its path is the key: `/securityContext/privileged`."""
        if self.places is None:
            return None
        return self.places.value_of(*pointer_steps(self.path), *pointer_steps(pointer))

    def __reduce__(self) -> tuple[type[Location], tuple[str, int, int, str]]:
        """Leave the text of the whole file out where a location goes to another process."""
        return Location, (self.file, self.line, self.column, self.path)

    def __str__(self) -> str:
        text = shown(self.file)
        if self.line:
            text += f":{self.line}"
            if self.column:
                text += f":{self.column}"
        return text


@lru_cache(maxsize=4096)
def pointer_steps(pointer: str) -> tuple[str, ...]:
    """Return the keys and indices of a JSON pointer (RFC 6901)."""
    steps = pointer.split("/")[1:]
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def pointer_of(*path: str | int) -> str:
    """Return the JSON pointer of a path."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def path_text(path: Iterable[str | int]) -> str:
    """Return a path as text: `spec.containers[0].image`; keys with dots are in brackets."""
    text = ""
    for step in path:
        if isinstance(step, int) or "." in step or "/" in step or not step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


class Severity(StrEnum):
    """The severity of a diagnostic: an error fails a command, the others are only shown."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


def single_line(text: str) -> str:
    """Return a text of several lines as one that `shown` made safe, for tables.

    The pictures that CEL draws below what it complains of (` | a. == 1`) are left out.
    """
    if "\n" not in text:
        return shown(text)
    lines = (line for line in text.splitlines() if not line.startswith(_DRAWN))
    return shown(" ".join(line.strip() for line in lines if line.strip()))


_DRAWN: Final = " | "


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: the ID of its rule (`CK001` …), its message, location and hint; as text, one
    line."""

    rule_id: str
    severity: Severity
    message: str
    location: Location | None = None
    hint: str | None = None

    def __str__(self) -> str:
        prefix = f"{self.location}: " if self.location else ""
        hint = f" ({single_line(self.hint)})" if self.hint else ""
        return f"{prefix}{self.severity} {self.rule_id}: {single_line(self.message)}{hint}"


class Explanation(NamedTuple):
    """The meaning of a diagnostic's id: what the mistake is, why it matters, what to do.

    fix: what `values lint --fix` changes, empty where no fix is safe; example: values, or a policy,
    with the mistake and without it, None where there is none; page: the page of documentation that
    has an anchor for the id, empty for `docs/reference/lint.md`.
    """

    rule_id: str
    what: str
    why: str
    do: str
    fix: str = ""
    example: tuple[str, str] | None = None
    page: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """A Kubernetes object and its location."""

    body: Body
    location: Location = Location("<memory>")

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group; empty if missing."""
        return text_of(self.body.get("apiVersion"))

    @property
    def kind(self) -> str:
        """The object's kind; empty if missing."""
        return kind_of(self.body)

    @property
    def name(self) -> str:
        """`metadata.name`; empty if missing."""
        return text_of(self._metadata.get("name"))

    @property
    def namespace(self) -> str:
        """`metadata.namespace` as written; empty if missing."""
        return text_of(self._metadata.get("namespace"))

    @property
    def uid(self) -> str:
        """`metadata.uid`, which a cluster gives; empty if missing."""
        return text_of(self._metadata.get("uid"))

    @property
    def _metadata(self) -> Body:
        body = self.body
        metadata = body.get("metadata") if isinstance(body, dict) else None
        return metadata if isinstance(metadata, dict) else {}


def kind_of(body: Body) -> str:
    """Return an object's kind; empty if it is missing or not a string."""
    return text_of(body.get("kind"))


def mapping_at(body: Json, *path: str) -> Body:
    """Return the mapping at a path of a document; empty if it is missing or another type. User
    input need not have the field's type: `metadata: x` is a document, too."""
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body if isinstance(body, dict) else {}


def value_at(body: Json, path: Iterable[str | int]) -> Json:
    """Return the value at a path through mappings; None where there is none."""
    for step in path:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def item_number(step: str) -> int | None:
    """Return the number of the item that a step of a path names; None for a step that names none,
    and for one of more digits than there can be items."""
    return int(step) if step.isdecimal() and len(step) < _DIGITS else None


def path_step(step: str) -> str | int:
    """Return a step of a path: a number where it names an item, else itself."""
    index = item_number(step)
    return step if index is None else index


def pointer_text(pointer: str) -> str:
    """Return a JSON pointer as text: `spec.containers[0].image`."""
    return path_text(map(path_step, pointer_steps(pointer)))


def pointed_at(body: Json, steps: Iterable[str]) -> Json:
    """Return the value at the steps of a JSON pointer; None where there is none."""
    for step in steps:
        if isinstance(body, list):
            index = item_number(step)
            body = body[index] if index is not None and index < len(body) else None
        else:
            body = body.get(step) if isinstance(body, dict) else None
    return body


def mappings_at(body: Json, *path: str) -> list[Body]:
    """Return the mappings in the list at a path of a document; none without such a list."""
    listed = mapping_at(body, *path[:-1]).get(path[-1])
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def list_of(value: Json) -> list[Json]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: object) -> str:
    """Return a value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def texts_of(value: Json) -> list[str]:
    """Return the texts in a list; none if the value is not a list."""
    return [text for text in list_of(value) if isinstance(text, str)]


def coerced_texts(value: Json) -> Mapping[str, str]:
    """Return labels or annotations as Kubernetes reads them: null is an empty text, and there are
    none at all if another one is not a string."""
    if not isinstance(value, dict):
        return {}
    if all(isinstance(text, str) for text in value.values()):
        return value
    texts = {key: "" if text is None else text for key, text in value.items()}
    return texts if all(isinstance(text, str) for text in texts.values()) else {}


def leaves(value: Json, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Json]]:
    """Yield every value that is neither a mapping nor a list, with its path."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from leaves(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from leaves(member, (*path, index))
    else:
        yield path, value


def texts_below(value: Json, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """Yield every text in a value, keys aside, with its path."""
    return ((at, text) for at, text in leaves(value, path) if isinstance(text, str))


def values_below(value: Json, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Json]]:
    """Yield a value and every value in it, with its path."""
    yield path, value
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from values_below(member, (*path, key))


def with_value(value: Json, path: FieldPath, new: Json) -> Json:
    """Return a value with a new one at a path whose parent it has; new: `WITHOUT` removes it."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    if new is WITHOUT and not rest:
        del copy[step]
    else:
        copy[step] = with_value(copy[step], rest, new) if rest else new
    return copy


WITHOUT: Final = object()
"""The new value where a value is taken away."""


def renamed(body: Body, old: str, new: str) -> Body:
    """Return a mapping with another name for a key, in the same order."""
    return {new if name == old else name: value for name, value in body.items()}


def gathered(pairs: Iterable[tuple[T, R]]) -> dict[T, list[R]]:
    """Return the values of each key, in their order."""
    groups: dict[T, list[R]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def same(left: Json, right: Json) -> bool:
    """Report whether two values are the same JSON; 1 and 1.0 are, 1 and true are not."""
    if left is right:
        return True
    if isinstance(left, dict):
        if not isinstance(right, dict) or len(left) != len(right):
            return False
        for key, member in left.items():
            other = right.get(key, _MISSING)
            if other is not member and (other is _MISSING or not same(member, other)):
                return False
        return True
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        if all(map(is_, left, right)):
            return True
        return all(map(same, left, right))
    return bool(isinstance(left, bool) is isinstance(right, bool) and left == right)


class Status(StrEnum):
    """The status of a result, in the words of a PolicyReport."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    ERROR = "error"
    SKIP = "skip"


class RuleType(StrEnum):
    """The type of a rule, in the words of Kyverno's engine."""

    VALIDATION = "Validation"
    MUTATION = "Mutation"
    GENERATION = "Generation"
    IMAGE_VERIFY = "ImageVerify"
    CLEANUP = "Cleanup"


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The result of one rule for one resource.

    policy: the policy's name (`namespace/name` for a namespaced one); rule: the rule's name as
    Kyverno reports it (`autogen-…` where it was generated); message: Kyverno's own text; patched:
    the object after a mutation, empty after one that failed; generated: objects that a generate
    rule would create; updated: objects that are there already, as a generate rule that synchronizes
    writes them; unmade: why nothing comes of what a rule that passed does: an update request fails
    later, or an API server refuses the object; properties: what a PolicyReport shows beside the
    result; patched_target: another object that there is already, after a mutation of it; others:
    what the rule said of further targets, which `evaluate` lists by themselves; kind: of a policy
    whose rules are CEL, for policies of several kinds may have one name; empty for all others;
    fields: the fields of the object that a failure is about, as JSON pointers, the most informative
    one first; a missing field has the pointer that it would have; empty where they are unknown;
    why: the checks that decided, as lines, where they were asked for.
    """

    policy: str
    rule: str
    type: RuleType
    status: Status
    message: str
    patched: Body | None = None
    generated: tuple[Body, ...] = ()
    updated: tuple[Body, ...] = ()
    unmade: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    patched_target: Body | None = None
    others: tuple[RuleResult, ...] = ()
    kind: str = ""
    fields: tuple[str, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def policy_id(self) -> str:
        """The policy's `id`, unique among all policies."""
        return policy_id(self.kind, self.policy)


def policy_id(kind: str, key: str) -> str:
    """Return the ID of a policy; kind: of a CEL policy, else empty; key: its name."""
    return f"{kind}/{key}" if kind else key


class Track(Protocol):
    """A port: a function that gives items one by one and shows how many are done."""

    def __call__(self, items: Sequence[T], /) -> Iterable[T]:
        """Yield the items."""


def untracked(items: Sequence[T], /) -> Iterable[T]:
    """Return the items: nothing is shown."""
    return items


class Spread(Protocol):
    """A port: a function that does work on items, in several processes where that helps."""

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> Iterable[R]:
        """Yield the result for each item, in their order."""


def unspread(work: Callable[[T], R], items: Sequence[T], /) -> Iterable[R]:
    """Yield the result for each item: all are done here."""
    return map(work, items)

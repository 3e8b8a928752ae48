"""Fields of failures judged: the field that a result names first is changed, and its verdict with
it.

A field gets what the policy's good examples have there, what the policy itself mentions, and what
is plausible anywhere; or it goes. A failure that is about several fields goes from one to the next:
a change counts where the rule no longer names that field, until the verdict is another.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from chartkit.engine.cluster_policy.pattern.build import parse_anchor
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, RuleResult, Status, pointer_steps

Judge = Callable[[Body], Sequence[RuleResult]]
"""Returns the results of policies for an object."""

_REFUSED: Final = frozenset({Status.FAIL, Status.WARN})
_MOST_CHANGES: Final = 64
"""The most fields that are changed for one failure."""
_REMOVED: Final = object()
_PLAUSIBLE: Final[tuple[Json, ...]] = (
    *(True, False, 1, 0, 2, 3, 100, 1000, 10000, "x", "", "1", "100m", "64Mi", "1Gi", "10s"),
    *("RuntimeDefault", "Localhost", "ALL", ["ALL"], "Default", "IfNotPresent", "Always"),
    *("registry.example/a/b:1.0@sha256:" + "0" * 64, "true", "false", "2030-01-01T00:00:00Z"),
    *({"emptyDir": {}}, [], {}, ["x"], {"x": "x"}, {"app": "x", "a/b": "x"}),
)
_WORDS: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`|([\w./:*?-]+)")


class Outcome(StrEnum):
    """The result of changing the fields of a failure."""

    NONE = "no field"
    ALONE = "one field changes it"
    TOGETHER = "several fields change it"
    ONE_WAY = "several fields change it, others would too"
    UNCHANGED = "no change"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed result for an object; sources: the policy and the objects that it accepts."""

    judge: Judge
    body: Body
    result: RuleResult
    policies: tuple[Body, ...]
    accepted: tuple[Body, ...] = ()

    @property
    def kind(self) -> str:
        """Return the kind of the policy and, of a rule in CEL, its field."""
        if self.result.kind:
            return self.result.kind
        rules = (rule for each in self.policies for rule in each["spec"]["rules"])
        in_cel = any("cel" in (rule.get("validate") or {}) for rule in rules)
        return "validate.cel" if in_cel else "ClusterPolicy"

    def __str__(self) -> str:
        meta = self.body.get("metadata") or {}
        name = f"{self.body.get('kind')}/{meta.get('name')}"
        result = self.result
        return f"{result.policy_id} {result.rule} {name}: {' '.join(result.fields) or '-'}"


def failures(
    judge: Judge, body: Body, policies: Iterable[Body], accepted: Iterable[Body]
) -> Iterator[Failure]:
    """Yield the failures of policies for an object."""
    policies, accepted = tuple(policies), tuple(accepted)
    for result in judge(body):
        if result.status in _REFUSED:
            yield Failure(judge, body, result, policies, accepted)


def change(failure: Failure) -> Outcome:
    """Change the fields that a failure names first, until the verdict changes."""
    if not failure.result.fields:
        return Outcome.NONE
    changes = _Changes(failure)
    body, fields = failure.body, failure.result.fields
    for _ in range(_MOST_CHANGES):
        step = changes.step(body, fields)
        if step is None:
            return Outcome.UNCHANGED
        body, remaining = step
        if remaining is None:
            return changes.outcome()
        fields = remaining.fields
    return Outcome.UNCHANGED


class _Changes:
    """The changes of one failure's object, each of the field that is named first then."""

    def __init__(self, failure: Failure) -> None:
        self._failure = failure
        self._values = _Values(failure.policies, failure.accepted)
        self._made: dict[str, Any] = {}
        self._settled = True

    def step(self, body: Body, fields: Sequence[str]) -> tuple[Body, RuleResult | None] | None:
        """Return the object with the next field changed, and what remains of the failure; None
        where no value of the field makes a difference."""
        first = next((one for one in fields if one not in self._made), None)
        if first is None:
            return None
        siblings = [_at(body, pointer_steps(one)) for one in fields if one != first]
        best: tuple[bool, Any, Body, RuleResult] | None = None
        for value in self._values.given(_at(body, pointer_steps(first)), first, siblings):
            changed = _with(body, pointer_steps(first), value)
            verdicts = _verdicts(self._failure, changed)
            if verdicts is None:
                continue
            if not verdicts:
                self._made[first] = value
                return changed, None
            remaining = verdicts[0]
            settles = bool(remaining.fields) and remaining.fields[0] not in (first, *self._made)
            makes_progress = settles or set(remaining.fields) != set(fields)
            if makes_progress and (best is None or settles > best[0]):
                best = settles, value, changed, remaining
        if best is None:
            return None
        settles, self._made[first], changed, remaining = best
        self._settled = self._settled and settles
        return changed, remaining

    def outcome(self) -> Outcome:
        """Return the outcome, now that the verdict is another: it is the same again if the first
        field is not changed. Where it is not, each change must have taken its field off the list.
        """
        if len(self._made) == 1:
            return Outcome.ALONE
        body = self._failure.body
        for pointer, value in list(self._made.items())[1:]:
            body = _with(body, pointer_steps(pointer), value)
        if _verdicts(self._failure, body):
            return Outcome.TOGETHER
        return Outcome.ONE_WAY if self._settled else Outcome.UNCHANGED


def _verdicts(failure: Failure, body: Body) -> list[RuleResult] | None:
    """Return what is left of the failure for another object; None for an error."""
    same = failure.result.policy_id, failure.result.rule
    try:
        results = [one for one in failure.judge(body) if (one.policy_id, one.rule) == same]
    except ChartkitError:
        return None
    if any(one.status is Status.ERROR for one in results):
        return None
    return [one for one in results if one.status in _REFUSED]


class _Values:
    """The values that fields are given."""

    def __init__(self, policies: Sequence[Body], accepted: Sequence[Body]) -> None:
        self._accepted = accepted
        self._mentioned = list(_unique(chain.from_iterable(map(_mentioned, policies))))

    def given(self, value: Any, pointer: str, siblings: Iterable[Any]) -> Iterator[Any]:
        """Yield other values for a field; siblings: the values of fields named with it."""
        if value is not _REMOVED:
            yield _REMOVED
        others = (one for one in siblings if one is not _REMOVED)
        for other in _unique(chain(others, self._values(pointer_steps(pointer), value))):
            if other != value or type(other) is not type(value):
                yield other

    def _values(self, path: Sequence[str], given: Any) -> Iterator[Json]:
        for example in self._accepted:
            yield from _found(example, path)
        if isinstance(given, list):
            yield from (given[:index] + given[index + 1 :] for index in range(len(given)))
            yield from ([*given, *one] for one in self._mentioned if isinstance(one, list))
        if type(given) in (int, float):
            yield from (given + 1, given - 1, given * 2)
        yield from self._mentioned
        yield from _PLAUSIBLE
        if isinstance(given, str):
            yield from (f"{given}-x", f"x-{given}", f"{given}.x", f"{given}:1.0")
            yield from (f"{one}{given}" for one in self._mentioned if isinstance(one, str))
        texts = [one for one in self._mentioned if isinstance(one, str)]
        yield from ([text] for text in texts)
        yield from ({text: "x"} for text in texts)
        if isinstance(given, dict):
            yield from ({**given, **one} for one in self._mentioned if isinstance(one, dict))
            yield from ({**given, text: "x"} for text in texts)


def _mentioned(value: Json) -> Iterator[Json]:
    """Yield the parts of a policy as values: patterns as objects that fit them, words of texts."""
    if isinstance(value, str):
        yield from _words(value)
    elif isinstance(value, dict):
        for member in value.values():
            yield from _mentioned(member)
        yield _fitting(value)
    elif isinstance(value, list):
        for member in value:
            yield from _mentioned(member)
        yield _fitting(value)
    elif value is not None:
        yield value
        if type(value) in (int, float):
            yield from (value + 1, value - 1)


def _words(text: str) -> Iterator[Json]:
    yield _fitting(text)
    for match in _WORDS.finditer(text):
        word = next(filter(None, match.groups()), "")
        yield word
        yield word.replace("*", "x").replace("?", "x")
        if word.removeprefix("-").isdecimal():
            yield from (int(word), int(word) + 1, int(word) - 1)


def _fitting(pattern: Json) -> Json:
    """Return a value that fits a pattern in the simplest reading."""
    if isinstance(pattern, dict):
        return {_key(key): _fitting(value) for key, value in pattern.items()}
    if isinstance(pattern, list):
        return [_fitting(one) for one in pattern]
    if isinstance(pattern, str):
        first = pattern.split("|")[0].split("&")[0].strip().lstrip("<>=!")
        return first.replace("*", "x").replace("?", "x").strip()
    return pattern


def _key(written: str) -> str:
    anchor = parse_anchor(written)
    bare = written if anchor is None else anchor.key
    return bare.replace("*", "x").replace("?", "x")


def _unique(values: Iterable[Json]) -> Iterator[Json]:
    seen: set[str] = set()
    for value in values:
        shown = repr(value)
        if shown not in seen:
            seen.add(shown)
            yield value


def _found(value: Json, path: Sequence[str]) -> Iterator[Json]:
    """Yield the values at a path of an example, of any member where a list has an index."""
    if not path:
        yield value
    elif isinstance(value, dict):
        if path[0] in value:
            yield from _found(value[path[0]], path[1:])
    elif isinstance(value, list):
        for member in value:
            yield from _found(member, path[1:])


def _at(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _REMOVED
    return value


def _with(body: Body, path: Sequence[str], value: Any) -> Body:
    """Return the object with a value at a path; what is missing on the way is made."""
    made = deepcopy(body)
    here: Any = {"": made}
    steps = ["", *path]
    for step, then in zip(steps, path, strict=False):
        here = _into(here, step, [] if then == "0" else {})
    last = steps[-1]
    if isinstance(here, list):
        index = int(last) if last.isdigit() else len(here)
        here[index : index + 1] = [] if value is _REMOVED else [deepcopy(value)]
    elif value is _REMOVED:
        here.pop(last, None)
    else:
        here[last] = deepcopy(value)
    return made


def _into(here: Any, step: str, empty: Any) -> Any:
    if isinstance(here, list):
        index = int(step) if step.isdigit() else len(here)
        if index >= len(here):
            here.append(empty)
            index = len(here) - 1
        if not isinstance(here[index], dict | list):
            here[index] = empty
        return here[index]
    if not isinstance(here.get(step), dict | list):
        here[step] = empty
    return here[step]

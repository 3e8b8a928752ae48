"""The input of every report format: facts of the policies, then each resource with its results, of
which some are accepted, and the fields that failures are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, Protocol, TextIO, TypeVar, runtime_checkable

from chartkit.model import (
    Body,
    Diagnostic,
    Json,
    Location,
    Resource,
    RuleResult,
    Status,
    item_number,
    path_step,
    path_text,
    pointer_steps,
    pointer_text,
)

_DIGITS: Final = 20
"""More digits than a position in a list has."""
NONE_ACCEPTED: Final[Accepted] = MappingProxyType({})
T = TypeVar("T")
SCHEMA_VERSION: Final = 1
"""The version of the shapes of JSON outputs: keys may come, none goes or changes its meaning
without a new one."""
SEVERITIES: Final = ("critical", "high", "medium", "low", "info")
"""The severities of policies, the worst first."""
COMMENT_LIMIT: Final = 65_536
"""The most characters of a comment of a pull request."""
_NO_THRESHOLD: Final = "none"
KYVERNO: Final = "kyverno"
"""The source of results of policies with rules."""
INCOMPLETE: Final = "incomplete: the run was interrupted"


class AcceptedAs(StrEnum):
    """The reason that a violation fails no run: it is known, or its object suppresses it."""

    KNOWN = "known"
    SUPPRESSED = "suppressed"


class Acceptance(NamedTuple):
    """A violation that fails no run: it stands in a baseline, or an annotation of its object
    suppresses it.

    reason: as its author wrote it; until: the date (ISO 8601) on which the acceptance ends; both
    may be empty.
    """

    state: AcceptedAs
    reason: str = ""
    until: str = ""

    def __str__(self) -> str:
        text = f"{self.state}: {self.reason}" if self.reason else str(self.state)
        return f"{text}, until {self.until}" if self.until else text


Accepted = Mapping[int, Acceptance]
"""The accepted results of an object, by their position among its results."""


class FieldPlace(NamedTuple):
    """A field that a violation is about.

    field: `spec.containers[0].image`; location: of the field in the user's file, of its nearest
    existing parent, or of the object; value: the place of the chart's value that the field shows,
    None where there is none.
    """

    field: str
    location: Location
    value: Location | None = None

    def __str__(self) -> str:
        text = f"{self.location}  {self.field}"
        if self.value is None:
            return text
        return f"{text} (value {self.value_key} of {self.value})"

    @property
    def value_key(self) -> str:
        """The key of the chart's value, `image.tag`; empty without one."""
        if self.value is None:
            return ""
        return pointer_text(self.value.path)

    @property
    def members(self) -> dict[str, str]:
        """The members of a row for programs."""
        members = {"field": self.field, "location": str(self.location)}
        if self.value is not None:
            members |= {"value": self.value_key, "valueLocation": str(self.value)}
        return members


def field_places(
    resource: Resource, result: RuleResult, most: int | None = None
) -> Sequence[FieldPlace]:
    """Return the fields of a failure with their places, the most telling one first; none for a
    result that names no field. most: how many of them, all if None."""
    return places_of(resource, result.fields[:most]) if result.fields else ()


def places_of(resource: Resource, pointers: Iterable[str]) -> list[FieldPlace]:
    """Return some fields of an object with their places."""
    location, body = resource.location, resource.body
    return [
        FieldPlace(field_text(pointer, body), location.within(pointer), location.value_of(pointer))
        for pointer in pointers
    ]


def field_text(pointer: str, body: Json) -> str:
    """Return a JSON pointer as people write paths: `/spec/containers/0` is `spec.containers[0]`.
    body: the object, which tells a position in a list from a key that is a number."""
    keys: list[int] = []
    for index, (step, is_number) in enumerate(_steps_to_numbers(pointer)):
        if isinstance(body, dict):
            if is_number:
                keys.append(index)
            body = body.get(step)
        else:
            body = _item(body, step) if is_number else None
    return _text_of(pointer, tuple(keys))


@lru_cache(maxsize=4096)
def _steps_to_numbers(pointer: str) -> tuple[tuple[str, bool], ...]:
    """Return the steps of a pointer up to the last that is a number, with whether each is one."""
    steps = [(step, item_number(step) is not None) for step in pointer_steps(pointer)]
    while steps and not steps[-1][1]:
        steps.pop()
    return tuple(steps)


@lru_cache(maxsize=4096)
def _text_of(pointer: str, keys: tuple[int, ...]) -> str:
    """Return the text of a path; keys: the numbers in it that are not positions."""
    return path_text(
        step if index in keys else path_step(step)
        for index, step in enumerate(pointer_steps(pointer))
    )


def _item(body: Json, step: str) -> Json:
    is_there = isinstance(body, list) and len(step) < _DIGITS and int(step) < len(body)
    return body[int(step)] if is_there else None


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """Facts of a policy for reports.

    action: `Enforce` or `Audit` for a rule's name and an object's namespace; severity and category:
    the policy's annotations, empty if missing; scored: false if its failures are warnings; source:
    as Kyverno's reports name the source of such results; title, description, remediation: why the
    policy exists and what to change; url: its page; controls: of standards, as `CIS 5.2.3`; body:
    the policy itself, empty where it is not there.
    """

    name: str
    action: Callable[[str, str], str]
    severity: str = ""
    category: str = ""
    scored: bool = True
    source: str = KYVERNO
    title: str = ""
    description: str = ""
    remediation: str = ""
    url: str = ""
    controls: tuple[str, ...] = ()
    body: Body = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Guidance:
    """Guidance for those whose objects fail a policy: what to change, the policy's page, and the
    controls of standards that it covers, as `CIS 5.2.3`."""

    remediation: str = ""
    url: str = ""
    controls: tuple[str, ...] = ()


class ReportPer(StrEnum):
    """The scope of one PolicyReport."""

    NAMESPACE = "namespace"
    OBJECT = "object"


@dataclass(slots=True)
class Course:
    """The course of the run that reports are about; is_incomplete: whether it was interrupted;
    timings: rows of what policies took, None where that was not measured; unread: the inputs that
    could not be read."""

    is_incomplete: bool = False
    timings: Sequence[Body] | None = None
    unread: Sequence[Diagnostic] = ()


def _no_advice(_message: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """policies: facts by the ID of the policy (`RuleResult.policy_id`); detailed: whether to
    include passes and skips; colour: whether to use ANSI colours; now: the time in reports; per:
    the scope of each report, for formats with several; deletions: by cleanup policies and TTL
    labels, None if not planned; quiet: whether the text for people has only failures and errors;
    live: the stream for formats that write each result at once, None where a report is written
    whole; owner_label: the label that names an object's owner; comment_limit: the most
    characters of a report in Markdown, 0 for no limit; width: of the terminal that shows the
    report, None for a file or a pipe; course: of the run, which `finish` can ask; fail_on: the
    least severity that fails the run, `none` if no violation does, None for all; advice: gives what
    to write in place of an expression that an error names; playground: the address of a page that
    HTML's findings open, empty for none."""

    policies: Mapping[str, PolicyFacts] = field(default_factory=dict)
    detailed: bool = False
    colour: bool = False
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    per: ReportPer = ReportPer.NAMESPACE
    deletions: Sequence[Body] | None = None
    quiet: bool = False
    live: TextIO | None = None
    owner_label: str = ""
    comment_limit: int = 0
    width: int | None = None
    course: Course = field(default_factory=Course)
    fail_on: str | None = None
    advice: Callable[[str], str | None] = _no_advice
    playground: str = ""

    def is_below(self, severity: str) -> bool:
        """Report whether a violation of a severity fails no run; one of unknown severity does: it
        may be critical."""
        if self.fail_on is None or self.fail_on == _NO_THRESHOLD:
            return self.fail_on is not None
        rank = severity.lower()
        return rank in SEVERITIES and SEVERITIES.index(rank) > SEVERITIES.index(self.fail_on)

    def facts(self, result: RuleResult) -> PolicyFacts:
        """Return the facts of a result's policy."""
        facts = self.policies.get(result.policy_id)
        return facts or PolicyFacts(result.policy, lambda _rule, _namespace: "Audit")

    def action(self, resource: Resource, result: RuleResult) -> str:
        """Return the action of a failure of this rule for this object: `Enforce` or `Audit`."""
        return self.facts(result).action(result.rule, resource.namespace)


class Writer(Protocol):
    """A writer that takes results one by one; `finish` returns the report in pieces."""

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Add one resource's results; accepted: those that fail no run, by their position."""

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        """Yield the report, ending with a newline."""


@runtime_checkable
class Divisible(Writer, Protocol):
    """A writer whose report several processes can write, each a part of it."""

    def part(self) -> Any:
        """Return the added results in a form for another process, and begin anew."""

    def append(self, part: Any) -> None:
        """Add what another writer with these options was given, after what was added before."""


class ResultCache(Generic[T]):
    """A cache of what a format makes of a result, for results that differ only in their object.
    make may only use the policy, the rule, the status and the message."""

    _LIMIT: Final = 4096

    def __init__(self, make: Callable[[RuleResult], T]) -> None:
        self._make = make
        self._made: dict[tuple[str, ...], T] = {}
        self._shared: dict[int, tuple[RuleResult, T]] = {}

    def __call__(self, result: RuleResult) -> T:
        """Return the cached value of an equal result, or a new one."""
        shared = self._shared.get(id(result))
        if shared is not None and shared[0] is result:
            return shared[1]
        key = (result.kind, result.policy, result.rule, result.status, result.message)
        made = self._made.get(key)
        if made is None:
            if len(self._made) >= self._LIMIT:
                self._made.clear()
            made = self._made[key] = self._make(result)
        if result.patched is None and not (result.generated or result.updated):
            # Objects with equal fields share results, each of which is found by its identity.
            if len(self._shared) >= self._LIMIT:
                self._shared.clear()
            self._shared[id(result)] = result, made
        return made


def resource_id(resource: Resource) -> str:
    """Return `kind/namespace/name` or `kind/name`, or the location of plain JSON."""
    if not resource.kind:
        return str(resource.location)
    return "/".join(part for part in (resource.kind, resource.namespace, resource.name) if part)


def rule_id(result: RuleResult) -> str:
    """Return `policy/rule`, or the policy alone if it has no rules."""
    return f"{result.policy}/{result.rule}" if result.rule else result.policy


def summary(counts: Counter[Status]) -> dict[str, int]:
    """Return the number of results of each status, including zeros."""
    return {str(status): counts[status] for status in Status}

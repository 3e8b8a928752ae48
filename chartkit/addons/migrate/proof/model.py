"""The outcome of a proof: the answers of both forms, how they compare, and coverage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.api import Verdict
from chartkit.model import Body, Json

_UNASKED: Final = ("no registry to ask", "no network to ask")


class Result(StrEnum):
    """The result of a policy for a request, the strongest of its rules."""

    NONE = "none"
    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one form of a policy to a request.

    result: of the rules that validate, the strongest; also_errs: whether one of them errs where
    another fails; failed: the errors of rules that mutate or generate; messages: those of failures,
    `""` for a rule without a message of its own; errors: those of errors; denied, warned: what
    becomes of the admission; patched: the object as the policy leaves it, None where unchanged;
    targets, generated: other objects that it writes; deletes: the schedule and propagation of the
    cleanup policy that deletes the object.
    """

    result: Result = Result.NONE
    also_errs: bool = False
    failed: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    denied: bool = False
    warned: bool = False
    patched: Body | None = None
    targets: tuple[Body, ...] = ()
    generated: tuple[Body, ...] = ()
    deletes: str = ""

    @property
    def decides(self) -> bool:
        """Report whether it does not pass over the request."""
        return bool(
            self.result is not Result.NONE
            or self.failed
            or self.patched is not None
            or self.targets
            or self.generated
            or self.deletes
        )

    @property
    def asks_others(self) -> bool:
        """Report whether it depends on a registry or a service that is not asked."""
        texts = (*self.errors, *self.failed, *self.messages)
        return any(asked in text for text in texts for asked in _UNASKED)


class Aspect(StrEnum):
    """The part of two answers that differs: the first of these.

    RESULT: a failure, an error or neither; REPORT: a pass against no result at all.
    """

    RESULT = "result"
    ADMISSION = "admission"
    MUTATION = "mutation"
    TARGETS = "targets"
    GENERATION = "generation"
    DELETION = "deletion"
    WARNING = "warning"
    REPORT = "report"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Difference:
    """A request of which the two forms say different things, made as small as it can be.

    aspect: the first part that differs; count: how many requests differed in the same way;
    stored: whether an API server may send such an object (with its defaults), else only a scan of
    files sees it; typed: whether a custom kind's fields have the types that the policies imply.
    """

    aspect: Aspect
    case: Case
    legacy: Answer
    new: Answer
    count: int = 1
    stored: bool = True
    typed: bool = True


@dataclass(frozen=True, slots=True)
class Reached:
    """The states of one place that a proof reached.

    states: `met`, `missed`, `true`, `false`, `empty`, `one`, `many` …, with the number of requests;
    missing: those never reached.
    """

    form: str
    name: str
    states: Mapping[str, int]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """The places of both forms: rules by outcome, leaves, lists, validations and conditions."""

    places: tuple[Reached, ...] = ()

    @property
    def total(self) -> int:
        """Return the number of states that there are."""
        return sum(len(reached.states) + len(reached.missing) for reached in self.places)

    @property
    def reached(self) -> int:
        """Return the number of states that at least one request reached."""
        return sum(len(place.states) for place in self.places)


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome of a proof.

    requests: how many both forms answered; decided: of those, how many at least one form did not
    pass over; left_out: why requests were not made, with their number, and what cannot be proved;
    named: differences that the conversion names, with the number of requests that made them.
    """

    requests: int
    decided: int
    differences: tuple[Difference, ...]
    coverage: Coverage
    left_out: Mapping[str, int]
    seconds: float = 0.0
    named: Mapping[str, int] = field(default_factory=dict)

    @property
    def faults(self) -> Sequence[Difference]:
        """Return the differences that an API server's requests make."""
        return [difference for difference in self.differences if difference.stored]

    @property
    def equal(self) -> bool:
        """Report whether requests were decided, and none that an API server may send made a
        difference."""
        return self.decided > 0 and not self.faults


def verdict(proofs: Iterable[Proof]) -> Verdict:
    """Return what the proofs of a policy, or of several, say together: a difference counts most."""
    all_proofs = tuple(proofs)
    if any(proof.faults for proof in all_proofs):
        return Verdict.DIFFERS
    if all(proof.equal for proof in all_proofs):
        return Verdict.EQUAL if all_proofs else Verdict.UNPROVED
    return Verdict.UNDECIDED


_QUIET: Final = frozenset((Result.NONE, Result.PASS))
_TROUBLE: Final = frozenset((Result.FAIL, Result.WARN, Result.ERROR))


def difference(legacy: Answer, new: Answer) -> Aspect | None:
    """Return the first aspect in which two answers differ; None where they are equal."""
    if legacy is new or (legacy.failed and new.failed and legacy.result is Result.NONE):
        # A request that both forms fail to mutate is refused before it is validated.
        return None
    if not _same_result(legacy, new) or bool(legacy.failed) is not bool(new.failed):
        return Aspect.RESULT
    if legacy.denied is not new.denied:
        return Aspect.ADMISSION
    # A request that a rule fails to mutate is refused, whatever others make of it.
    patched = (None, None) if legacy.failed else (legacy.patched, new.patched)
    for aspect, first, second in (
        (Aspect.MUTATION, *patched),
        (Aspect.TARGETS, legacy.targets, new.targets),
        (Aspect.GENERATION, legacy.generated, new.generated),
    ):
        if first != second and canonical(first) != canonical(second):
            return aspect
    if legacy.deletes != new.deletes:
        return Aspect.DELETION
    if not legacy.denied and legacy.warned is not new.warned:
        return Aspect.WARNING
    if legacy.result is not new.result and legacy.result in _QUIET:
        return Aspect.REPORT
    messages = set(legacy.messages)
    is_worded = messages and "" not in messages
    if is_worded and any(text and text not in messages for text in new.messages):
        return Aspect.MESSAGE
    return None


def _same_result(legacy: Answer, new: Answer) -> bool:
    if legacy.result is new.result:
        return True
    if legacy.result in _QUIET and new.result in _QUIET:
        return True
    return legacy.also_errs and legacy.result in _TROUBLE and new.result in _TROUBLE


def canonical(value: Json) -> str:
    """Return a JSON value as a text that is the same for equal values; whole numbers are equal
    however they are written."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value

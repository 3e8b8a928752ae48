"""PolicyExceptions of policies.kyverno.io: read, tied to policies, and asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.evaluator import Evaluator
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, holds
from chartkit.engine.cel_policies.policy import CelPolicy, NamedExpression, named_expressions
from chartkit.engine.jmespath.nodes import current_time
from chartkit.engine.kubernetes.definitions import (
    SCHEMA_RULE,
    WARNING_RULE,
    check_schema,
    check_served,
    definition_check,
)
from chartkit.engine.kubernetes.kinds import VERSIONS, CelKind
from chartkit.errors import CompileError
from chartkit.model import Body, Diagnostic, Json, Location, Resource, RuleResult, Severity, Status

KINDS: Final = ("PolicyException",)
PRIORITY: Final = "polex.kyverno.io/priority"
"""The label by which one of several exceptions decides what is reported."""

_PRIORITY: Final = re.compile(r"[0-9]{1,18}", re.ASCII)

RULE: Final = "exception"


@dataclass(frozen=True, slots=True)
class CelException:
    """A PolicyException. references: kind and name of the policies; images, values: what it lets
    through of them (none: everything); passes: whether what it lets off counts as passed; expires:
    None for never."""

    name: str
    key: str
    references: tuple[tuple[str, str], ...]
    conditions: tuple[NamedExpression, ...]
    images: tuple[str, ...]
    values: tuple[str, ...]
    passes: bool
    priority: int
    expires: datetime | None
    location: Location

    def named(self, policy: CelPolicy) -> int:
        """The number of times that it names a policy."""
        return self.references.count((policy.kind_name, policy.name))

    @property
    def is_expired(self) -> bool:
        """Report whether its time is over; a cluster passes over it then."""
        return self.expires is not None and self.expires < current_time()

    @property
    def is_full(self) -> bool:
        """Report whether it lets a resource off altogether."""
        return not self.images and not self.values


def read_cel_exception(resource: Resource) -> CelException:
    """Reads a PolicyException; raises CompileError for one that its schema does not take."""
    check_served(resource, VERSIONS, KINDS)
    check_schema(definition_check("CELPolicyException"), resource)
    spec: Body = resource.body["spec"]
    expires = _time(spec.get("expiresAt"))
    if spec.get("expiresAt") and expires is None:
        text = f'spec.expiresAt: must be of type date-time: "{spec["expiresAt"]}"'
        location = resource.location.within("/spec/expiresAt")
        raise CompileError([Diagnostic(SCHEMA_RULE, Severity.ERROR, text, location)])
    labels: Body = resource.body["metadata"].get("labels") or {}
    priority = labels.get(PRIORITY, "")
    return CelException(
        name=resource.name,
        key=f"{resource.namespace}/{resource.name}" if resource.namespace else resource.name,
        references=tuple((ref["kind"], ref["name"]) for ref in spec["policyRefs"]),
        conditions=named_expressions(spec.get("matchConditions")),
        images=tuple(spec.get("images") or ()),
        values=tuple(spec.get("allowedValues") or ()),
        passes=spec.get("reportResult") == "pass",
        priority=int(priority) if _PRIORITY.fullmatch(priority) else 0,
        expires=expires,
        location=resource.location,
    )


def _time(text: Json) -> datetime | None:
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


def exceptions_of(policy: CelPolicy, given: Iterable[CelException]) -> tuple[CelException, ...]:
    """The exceptions from a policy: once for each time that they name it, as Kyverno lists them."""
    return tuple(item for item in given if not item.is_expired for _ in range(item.named(policy)))


def without_effect(policy: CelPolicy, exceptions: Iterable[CelException]) -> Iterator[Diagnostic]:
    """Yield a warning for each exception that names an ImageValidatingPolicy and only some images
    or values: Kyverno passes over it (`pkg/image/verification/evaluator/policy.go`)."""
    if policy.kind is not CelKind.IMAGE_VALIDATING:
        return
    for exception in dict.fromkeys(exceptions):
        if exception.named(policy) and not exception.is_full:
            field = "images" if exception.images else "allowedValues"
            text = f"exception {exception.key} has no effect on {policy.kind_name} {policy.key}"
            message = f"{text}: the expressions of that kind cannot read its `{field}`"
            location, hint = exception.location.within(f"/spec/{field}"), _WHOLE
            yield Diagnostic(WARNING_RULE, Severity.WARNING, message, location, hint)


_WHOLE: Final = (
    "without it the exception exempts the whole object; matchImageReferences of the policy leaves "
    "single images out"
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The effect of exceptions on a request: those that lift the policy, or values that they
    allow."""

    full: tuple[CelException, ...] = ()
    images: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def variable(self) -> Mapping[str, Value]:
        """As expressions see it: the variable `exceptions`."""
        if self is NOTHING_ALLOWED:
            return _NOTHING
        return {"allowedImages": list(self.images), "allowedValues": list(self.values)}

    def result(self, evaluator: Evaluator) -> RuleResult:
        """Return the policy's result for a request that is let off."""
        keys = ", ".join(exception.key for exception in self.full)
        # The first of the highest priority above 0 decides; without any, the first.
        chosen = max(self.full, key=lambda exception: max(exception.priority, 0))
        status, word = (Status.PASS, "passed") if chosen.passes else (Status.SKIP, "skipped")
        message = f"rule is {word} due to policy exception: {keys}"
        names = ",".join(exception.name for exception in self.full)
        return evaluator.result(status, message, RULE, {"exceptions": names})


NOTHING_ALLOWED: Final = Allowed()
_NOTHING: Final[Mapping[str, Value]] = {"allowedImages": [], "allowedValues": []}


class Exceptions:
    """The exceptions from one policy, compiled in its environment."""

    __slots__ = ("_compiled",)

    def __init__(self, exceptions: Sequence[CelException], compiler: ExpressionCompiler) -> None:
        """Raises CompileError where a condition does not compile."""
        self._compiled: tuple[tuple[CelException, tuple[Program, ...]], ...] = tuple(
            (exception, compiler.conditions(exception.conditions)) for exception in exceptions
        )

    def __bool__(self) -> bool:
        return bool(self._compiled)

    def ask(self, scope: Mapping[str, Value], host: Host, ignores_errors: bool) -> Allowed:
        """Their effect on a request; raises CelError for a condition that cannot be
        evaluated, unless an exception before it lets the request off."""
        if not self._compiled:
            return NOTHING_ALLOWED
        matched: list[CelException] = []
        images: list[str] = []
        values: list[str] = []
        full = False
        for exception, conditions in self._compiled:
            try:
                applies = holds(conditions, scope, host, ignores_errors)
            except CelError:
                if full:
                    continue
                raise
            if not applies:
                continue
            matched.append(exception)
            if exception.is_full:
                full = True
            elif not full:
                images.extend(exception.images)
                values.extend(exception.values)
        return Allowed(tuple(matched) if full else (), tuple(images), tuple(values))

"""The fields of an object over which a policy's expression failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.tracing.calls import RepeatHost
from chartkit.engine.cel.tracing.datum import UNKNOWN, Datum, TraceError
from chartkit.engine.cel.tracing.junctions import pointers
from chartkit.engine.cel.tracing.planner import causes_of, traced
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.expressions import sees_the_request_alone
from chartkit.engine.cel_policies.policy import MatchConstraints
from chartkit.engine.cel_policies.scope import PolicyScope, RequestScope
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.model import FieldPath, pointer_of

_OF_OBJECT: Final[tuple[tuple[str, FieldPath], ...]] = (
    ("name", ("metadata", "name")),
    ("namespace", ("metadata", "namespace")),
)
_OF_KIND: Final[tuple[tuple[str, FieldPath], ...]] = (
    ("group", ("apiVersion",)),
    ("version", ("apiVersion",)),
    ("kind", ("kind",)),
)
"""The fields of a request that say what the object's own say, and these."""


_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Matching:
    """The requests that a policy is about: its match conditions and constraints."""

    conditions: Sequence[Program] = ()
    constraints: MatchConstraints | None = None


def fields_of(
    program: Program,
    scope: Mapping[str, Value],
    variables: Mapping[str, Program],
    host: Host,
    matching: Matching,
    roots: Mapping[str, Datum] | None = None,
) -> tuple[str, ...]:
    """Return the JSON pointers of the fields that made an expression of a policy false, or left it
    without a value, the most informative one first; none where they are unknown.

    Of an expression that is always false they are those by which the policy matches. scope: the
    policy's variables, as they were evaluated; variables: the programs of `variables`; host: of the
    policy, or one that repeats more; roots: variables whose provenance is known.
    """
    again = host if isinstance(host, RepeatHost) else RepeatHost(host)
    tracked = Roots(scope, variables, again, roots)
    causes = causes_of(program, tracked, again)
    if causes is None:
        return ()
    fields = pointers(causes, tracked.judged)
    if fields or again.asked or not tracked.is_unread:
        return fields
    asked = [causes_of(test, tracked, again, value=True) or () for test in matching.conditions]
    return (*pointers(tuple(asked), tracked.judged), *_matched(matching.constraints))


def _matched(constraints: MatchConstraints | None) -> Iterator[str]:
    """Yield the fields of an object that match constraints look at."""
    if constraints is None or not constraints.rules:
        return
    selector = constraints.object_selector
    if selector is not None:
        keys = [*selector.labels, *(requirement.key for requirement in selector.expressions)]
        yield from (pointer_of("metadata", "labels", key) for key in keys if not has_wildcard(key))
    rules = constraints.rules
    if all(rule.names for rule in rules):
        yield "/metadata/name"
    if all(_ANY not in rule.groups or _ANY not in rule.versions for rule in rules):
        yield "/apiVersion"
    if all(_ANY not in rule.resources for rule in rules):
        yield "/kind"


class Roots:
    """The variables of a policy with their provenance, each made when it is first read.

    judged: the object, or the old one where there is no other; is_unread: whether none was read,
    other than the policy's own `variables`.
    """

    __slots__ = ("_host", "_known", "_programs", "_scope", "is_unread", "judged")

    def __init__(
        self,
        scope: Mapping[str, Value],
        programs: Mapping[str, Program],
        host: RepeatHost,
        values: Mapping[str, Datum] | None = None,
    ) -> None:
        self._scope = scope
        self._programs = programs
        self._host = host
        self._known: dict[str, Datum] = dict(values or {})
        self.judged = scope["object"] or scope["oldObject"]
        self.is_unread = True

    def get(self, name: str, /) -> Datum | None:
        """A variable with its provenance; None if it does not exist."""
        if name != "variables":
            self.is_unread = False
        datum = self._known.get(name)
        if datum is None:
            try:
                value = self._scope[name]
            except KeyError:
                return None
            datum = self._known[name] = self._datum(name, value)
        return datum

    def _datum(self, name: str, value: Value) -> Datum:
        if name in ("object", "oldObject"):
            return Datum(value, () if value is self.judged else None)
        if name == "request" and isinstance(value, dict):
            entries = {name: Datum(value[name], path) for name, path in _OF_OBJECT if name in value}
            for name in ("object", "oldObject"):
                entries[name] = self._datum(name, value[name])
            kind = value["kind"]
            assert isinstance(kind, dict)
            parts = {name: Datum(kind[name], path) for name, path in _OF_KIND}
            entries["kind"] = Datum(kind, ("kind",), members=parts)
            return Datum(value, members=entries)
        if name == "variables":
            shared = _shared(self._scope)
            members = _Variables(self, self._programs, value, self._host, shared)
            return Datum(value, members=members)
        return Datum(value)


def _shared(scope: Mapping[str, Value]) -> dict[Program, Datum | TraceError]:
    """The traced values that all policies of a request share."""
    if not isinstance(scope, PolicyScope) or scope.computed is None:
        return {}
    request = scope.request
    if not isinstance(request, RequestScope):
        return {}
    if request.traced is None:
        request.traced = {}
    return request.traced


class _Variables:
    """The values of `variables`, traced when they are first read."""

    __slots__ = ("_evaluated", "_host", "_known", "_programs", "_roots", "_shared")

    def __init__(
        self,
        roots: Roots,
        programs: Mapping[str, Program],
        evaluated: Value,
        host: RepeatHost,
        shared: dict[Program, Datum | TraceError],
    ) -> None:
        """shared: the values that depend on the request alone."""
        self._roots = roots
        self._shared = shared
        self._programs = programs
        self._evaluated = evaluated
        self._host = host
        self._known: dict[Program, Datum | TraceError] = {}

    def get(self, name: str, /) -> Datum | None:
        """A variable's value; None if it does not exist. Raises `CelError`."""
        program = self._programs.get(name)
        if program is None:
            return None
        cache = self._shared if sees_the_request_alone(program) else self._known
        datum = cache.get(program)
        if datum is None:
            datum = cache[program] = self._traced(name, program)
        if isinstance(datum, TraceError):
            raise datum.with_traceback(None)
        return datum

    def _traced(self, name: str, program: Program) -> Datum | TraceError:
        try:
            datum = traced(program, self._roots, self._host)
        except TraceError as error:
            return error
        if datum.value is UNKNOWN and isinstance(self._evaluated, dict):
            # What the policy evaluated is known, though its question is not asked again.
            return datum._replace(value=dict.get(self._evaluated, name, UNKNOWN))
        return datum

"""An admission request: the object, the operation, the user, and its phases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from operator import is_
from typing import Any, Final, Protocol, TypeVar

from chartkit.engine.budget import Budget, BudgetError, check_object
from chartkit.engine.kubernetes.kinds import (
    DEFAULT_NAMESPACE,
    UNKNOWN,
    CustomNames,
    GroupVersionKind,
    in_namespace,
    kind_of,
)
from chartkit.engine.ports.world import World
from chartkit.go.strconv import mark_literals
from chartkit.model import Body, Json, Resource, RuleResult, Status

ENFORCE: Final = "Enforce"
AUDIT: Final = "Audit"


class Phase(IntEnum):
    """The phase of a rule in an admission, in order; each phase runs over all policies."""

    MUTATE = 0
    IMAGES = 1
    VALIDATE = 2
    GENERATE = 3


PHASES: Final = tuple(Phase)


class Operation(StrEnum):
    """The operation on the object, in the words of an AdmissionReview."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


def given_operation(variables: Mapping[str, Json]) -> Operation | None:
    """Return the operation in a user's variables, None without one.

    Kyverno's programs match all but two operations as CREATE.
    """
    given = variables.get("request.operation")
    if given is None:
        return None
    return Operation(given) if given in ("UPDATE", "DELETE") else Operation.CREATE


@dataclass(frozen=True, slots=True)
class User:
    """The user of a request: name and groups from the API server, roles as `namespace:name`."""

    name: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    cluster_roles: tuple[str, ...] = ()

    def info(self) -> Body:
        """The user as in a request's `userInfo`: empty fields are left out."""
        shown: Body = {}
        if self.name:
            shown["username"] = self.name
        if self.uid:
            shown["uid"] = self.uid
        if self.groups:
            shown["groups"] = list(self.groups)
        if self.extra:
            shown["extra"] = dict(self.extra)
        return shown


@dataclass(frozen=True, slots=True)
class Request:
    """One object and the operation on it.

    resource: the object that the rules evaluate (the one to be deleted for a DELETE); old: the
    object before an UPDATE; user: None where it is unknown, and then roles and subjects of a match
    are ignored; namespace_labels: the labels of the object's namespace; namespace: the whole
    Namespace object, None where only labels are known; subresource: `status`, `scale` … or empty;
    kind: the kind of the whole object where the request is for a subresource that has its own kind;
    variables: a user's values (dotted names), by the policy's name; is_json: whether it is any JSON
    and no Kubernetes object, for policies of JSON only; plural: the resource name of the kind in
    the API, empty if it is guessed; review: the fields of an AdmissionReview's request beside its
    objects, for expressions; None where no API server sent it.

    A run sets before_digests, the object before rules added digests to its images, and unmarked, a
    mutated object without the marks that JMESPath needs at its numbers.
    """

    resource: Resource
    old: Resource | None = None
    operation: Operation = Operation.CREATE
    user: User | None = None
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    namespace: Body | None = None
    subresource: str = ""
    kind: GroupVersionKind | None = None
    variables: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    is_json: bool = False
    plural: str = ""
    review: Body | None = None
    before_digests: Resource | None = None
    unmarked: Resource | None = None

    def for_cel(self) -> Request:
        """Return the request as CEL sees it, with plain numbers."""
        if self.unmarked is None:
            return self
        old = self.unmarked if self.old is self.resource else self.old
        return replace(self, resource=self.unmarked, old=old, unmarked=None)


_OBJECTS: Final = frozenset(
    ("annotations", "labels", "matchLabels", "nodeSelector", "data", "stringData")
)
"""Fields that are objects; Helm charts write them with nothing below, which YAML reads as null."""
_CONTAINERS: Final = (dict, list)


def as_submitted(
    resource: Resource, namespace: str = DEFAULT_NAMESPACE, custom: CustomNames = UNKNOWN
) -> Resource:
    """The object in a namespace (where it is of a namespaced kind and names none itself), every
    null among its labels, annotations, selectors and data an empty object. The one that came in
    stays as it was. custom: kinds whose scope is known by their definitions."""
    placed = in_namespace(resource, namespace, custom)
    body = _filled(placed.body)
    return placed if body is placed.body else Resource(body, placed.location)


def _filled(value: Json) -> Json:
    """Return the value without nulls in place of objects; the same value if it has none."""
    if isinstance(value, dict):
        changed: Body = {}
        for key, entry in value.items():
            if entry is None:
                if key in _OBJECTS:
                    changed[key] = {}
            elif isinstance(entry, _CONTAINERS):
                filled = _filled(entry)
                if filled is not entry:
                    changed[key] = filled
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        entries = [_filled(entry) if isinstance(entry, dict) else entry for entry in value]
        return value if all(map(is_, entries, value)) else entries
    return value


class View(Protocol):
    """A run as one kind of policies sees it."""

    def changed(self) -> None:
        """Forget the request; a rule patched its object."""


V = TypeVar("V", bound=View)


class Run:
    """A request and its state between policies.

    request: as JMESPath sees it; unmarked: its object without marks at its numbers; settle: what
    changes results once all policies have been evaluated.
    """

    __slots__ = ("_unscored", "_views", "budget", "kind", "request", "settle", "unmarked", "world")

    def __init__(self, request: Request, world: World) -> None:
        self.world = world
        self.kind = request.kind or kind_of(request.resource)
        self.budget = Budget()
        self.request = request
        self.unmarked = request.resource
        self.settle: Callable[[RuleResult], RuleResult] | None = None
        self._views: dict[Callable[[Run], Any], Any] = {}
        self._unscored: set[str] = set()

    def view(self, make: Callable[[Run], V]) -> V:
        """Return the run as one kind of policies sees it, made once."""
        view: V | None = self._views.get(make)
        if view is None:
            view = self._views[make] = make(self)
        return view

    def record(self, result: RuleResult, scored: bool, results: list[RuleResult]) -> RuleResult:
        """Add a result as Kyverno reports it; an object that it patched goes on to the next."""
        if result.patched:
            # The result of a mutation; an error for an object that no API server takes.
            try:
                check_object(result.patched, "the mutated object")
            except BudgetError as error:
                patched: Body | None = None if result.kind else {}
                result = replace(
                    result, status=Status.ERROR, message=error.message, patched=patched
                )
        if not scored:
            self._unscored.add(result.policy_id)
        if result.properties or not scored:
            result = _reported(result, scored)
        results += (replace(result, others=()), *result.others) if result.others else (result,)
        if result.patched is not None:
            self._patch(result.patched)
        return result

    def end(self) -> None:
        """Forget the views, which refer to the run: all of it is freed at once then."""
        self._views.clear()

    def settled(self, results: Iterable[RuleResult]) -> list[RuleResult]:
        """Return results as they are once all policies have been evaluated."""
        if self.settle is None:
            return list(results)
        return [self._settled(result, self.settle) for result in results]

    def _settled(
        self, result: RuleResult, settle: Callable[[RuleResult], RuleResult]
    ) -> RuleResult:
        settled = settle(result)
        if settled is result:
            return result
        return _reported(settled, result.policy_id not in self._unscored)

    def _patch(self, body: Body) -> None:
        # Kyverno decodes it again, and whole numbers become int64.
        location = self.request.resource.location
        marked, self.unmarked = Resource(mark_literals(body), location), Resource(body, location)
        self.request = replace(self.request, resource=marked, unmarked=self.unmarked)
        for view in self._views.values():
            view.changed()


def _reported(result: RuleResult, scored: bool) -> RuleResult:
    """Return a result as in reports: a property may give the message, and a failure of a policy
    that is not scored is a warning."""
    if result.properties:
        properties = result.properties
        text = properties.get("message") or properties.get(f"{result.status}Message")
        if text:
            result = replace(result, message=text)
    if result.status is Status.FAIL and not scored:
        return replace(result, status=Status.WARN)
    return result

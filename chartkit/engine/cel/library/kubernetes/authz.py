"""`kubernetes.authz` and `kubernetes.authzSelectors`: what a user may do.

A check starts from a value of the type Authorizer, which only a caller can bring: the library
declares no variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import TRAVERSAL, size_of
from chartkit.engine.cel.library.kubernetes import naming
from chartkit.engine.cel.library.kubernetes.refusing import NO_SUCH_OVERLOAD
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, struct
from chartkit.engine.cel.values import Opaque, Value


def _type(name: str) -> Type:
    return named(struct(f"kubernetes.authorization.{name}"), name)


AUTHORIZER: Final = _type("Authorizer")
PATH_CHECK: Final = _type("PathCheck")
GROUP_CHECK: Final = _type("GroupCheck")
RESOURCE_CHECK: Final = _type("ResourceCheck")
DECISION: Final = _type("Decision")

_CHECK_COST: Final = 350_000


class _Incomparable(Opaque):
    """A value that is equal to nothing: even with itself its `==` is an error."""

    __slots__ = ()

    def equals(self, _other: Value) -> bool:
        """Raises `CelError`."""
        raise CelError(NO_SUCH_OVERLOAD)

    def __str__(self) -> str:
        """The name of the type: the value shows nothing."""
        return self.cel_type.name


@dataclass(frozen=True, slots=True)
class Decision(_Incomparable):
    """The answer to a check; error: why there is none, empty where there is."""

    cel_type: ClassVar[Type] = DECISION

    allowed: bool
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """An access to a path or to resources, as `user` and with `verb`."""

    user: str
    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class Authorizer(_Incomparable):
    """The user that is asked about, and the port that answers."""

    cel_type: ClassVar[Type] = AUTHORIZER

    user: str
    decide: Callable[[Access], Decision] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Check(_Incomparable):
    """A check of an access that is not fully described yet."""

    authorizer: Authorizer
    access: Access


class PathCheck(_Check):
    """A check of a path, still without its verb."""

    __slots__ = ()
    cel_type: ClassVar[Type] = PATH_CHECK


class GroupCheck(_Check):
    """A check of an API group, still without its resource."""

    __slots__ = ()
    cel_type: ClassVar[Type] = GROUP_CHECK


class ResourceCheck(_Check):
    """A check of a resource, still without its verb."""

    __slots__ = ()
    cel_type: ClassVar[Type] = RESOURCE_CHECK


def _sample(access: Access) -> Decision:
    return Decision(access.verb == "get", "only reading is allowed")


_VARIABLES: Final = MappingProxyType({"authorizer": Authorizer("alice", _sample)})

_overload = partial(overload, variables=_VARIABLES)


@_overload(
    "authorizer_path: Authorizer.path(string) -> PathCheck",
    "Asks about a path of the API server that is no resource.",
    "authorizer.path('/healthz').check('get').allowed()  // true",
)
def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(authorizer, Access(authorizer.user, "", path=path))


@_overload(
    "authorizer_group: Authorizer.group(string) -> GroupCheck",
    "Asks about an API group; the core group's name is empty.",
    "authorizer.group('').resource('pods').namespace('default').check('create').allowed()"
    "  // false",
)
def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(authorizer, Access(authorizer.user, "", group=group))


@_overload(
    "authorizer_serviceaccount: Authorizer.serviceAccount(string, string) -> Authorizer",
    "Asks about a service account instead of the user: its namespace and name.",
    "authorizer.serviceAccount('default', 'sa').path('/').check('get').allowed()  // true",
)
def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if naming.subdomain(name):
        raise CelError("Invalid service account name")
    if naming.label(namespace):
        raise CelError("Invalid service account namespace")
    return replace(authorizer, user=f"system:serviceaccount:{namespace}:{name}")


@_overload(
    "groupcheck_resource: GroupCheck.resource(string) -> ResourceCheck",
    "Asks about a resource of the group, such as `pods`.",
    "authorizer.group('').resource('pods').check('get').allowed()  // true",
)
def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.authorizer, replace(check.access, resource=resource))


@_overload(
    "resourcecheck_subresource: ResourceCheck.subresource(string) -> ResourceCheck",
    "Asks about a part of the resource, such as `status`.",
    "authorizer.group('').resource('pods').subresource('log').check('get').allowed()  // true",
)
def _subresource(check: ResourceCheck, subresource: str) -> ResourceCheck:
    return replace(check, access=replace(check.access, subresource=subresource))


@_overload(
    "resourcecheck_namespace: ResourceCheck.namespace(string) -> ResourceCheck",
    "Asks about one namespace.",
    "authorizer.group('').resource('pods').namespace('default').check('get').allowed()  // true",
)
def _namespace(check: ResourceCheck, namespace: str) -> ResourceCheck:
    return replace(check, access=replace(check.access, namespace=namespace))


@_overload(
    "resourcecheck_name: ResourceCheck.name(string) -> ResourceCheck",
    "Asks about one object.",
    "authorizer.group('').resource('pods').name('web').check('delete').reason()"
    "  // 'only reading is allowed'",
)
def _name(check: ResourceCheck, name: str) -> ResourceCheck:
    return replace(check, access=replace(check.access, name=name))


def _checking(_args: Sequence[Value], _result: Value) -> int:
    return _CHECK_COST


_CHECK: Final = "The decision about a verb; it costs so much that an expression can ask twice."


@_overload(
    "pathcheck_check: PathCheck.check(string) -> Decision",
    _CHECK,
    "authorizer.path('/healthz').check('post').allowed()  // false",
    cost=_checking,
)
def _check_path(check: PathCheck, verb: str) -> Decision:
    return check.authorizer.decide(replace(check.access, verb=verb))


@_overload(
    "resourcecheck_check: ResourceCheck.check(string) -> Decision",
    _CHECK,
    cost=_checking,
)
def _check_resource(check: ResourceCheck, verb: str) -> Decision:
    return check.authorizer.decide(replace(check.access, verb=verb))


_errored = _overload(
    "decision_errored: Decision.errored() -> bool",
    "Whether the check failed.",
    "authorizer.path('/').check('get').errored()  // false",
)(lambda decision: bool(decision.error))

_error = _overload(
    "decision_error: Decision.error() -> string",
    "Why the check failed; empty where it did not.",
    "authorizer.path('/').check('get').error()  // ''",
)(lambda decision: decision.error)

_allowed = _overload(
    "decision_allowed: Decision.allowed() -> bool",
    "Whether it is allowed.",
    "authorizer.path('/').check('get').allowed()  // true",
)(lambda decision: decision.allowed)

_reason = _overload(
    "decision_reason: Decision.reason() -> string",
    "Why it is or is not allowed.",
    "authorizer.path('/').check('put').reason()  // 'only reading is allowed'",
)(lambda decision: decision.reason)

LIBRARY: Final = Library(
    "kubernetes.authz", overloads=declared(globals()), doc="What a user may do."
)


def _selector_cost(args: Sequence[Value], _result: Value) -> int:
    # A list, a traversal, and for every second character at most a requirement of 50.
    size = size_of(args[1])
    return 10 + ceil(size * TRAVERSAL) + 50 * ceil(size / 2)


@_overload(
    "authorizer_fieldselector: ResourceCheck.fieldSelector(string) -> ResourceCheck",
    "Asks only about objects whose fields a selector matches.",
    "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').check('get').allowed()"
    "  // true",
    cost=_selector_cost,
)
def _field_selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    return replace(check, access=replace(check.access, field_selector=selector))


@_overload(
    "authorizer_labelselector: ResourceCheck.labelSelector(string) -> ResourceCheck",
    "Asks only about objects whose labels a selector matches.",
    "authorizer.group('').resource('pods').labelSelector('app=a').check('get').allowed()  // true",
    cost=_selector_cost,
)
def _label_selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    return replace(check, access=replace(check.access, label_selector=selector))


SELECTORS_LIBRARY: Final = Library(
    "kubernetes.authzSelectors",
    overloads=(_field_selector, _label_selector),
    doc="Selectors in questions about what a user may do.",
)

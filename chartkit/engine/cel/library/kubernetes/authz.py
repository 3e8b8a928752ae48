"""`kubernetes.authz` and `kubernetes.authzSelectors`: what a user may do.

A check starts from a value of the type Authorizer, which only a caller can bring: the library
declares no variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from types import MappingProxyType
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Example, Library, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import TRAVERSAL, size_of
from chartkit.engine.cel.library.kubernetes import naming
from chartkit.engine.cel.library.kubernetes.refusing import NO_SUCH_OVERLOAD
from chartkit.engine.cel.types import BOOL, STRING, Type, struct
from chartkit.engine.cel.values import Opaque, Value

AUTHORIZER: Final = struct("kubernetes.authorization.Authorizer")
PATH_CHECK: Final = struct("kubernetes.authorization.PathCheck")
GROUP_CHECK: Final = struct("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK: Final = struct("kubernetes.authorization.ResourceCheck")
DECISION: Final = struct("kubernetes.authorization.Decision")

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
class Question:
    """A question: whether `user` may do `verb` with a path or with resources."""

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
    decide: Callable[[Question], Decision] = field(repr=False)


@dataclass(frozen=True, slots=True)
class PathCheck(_Incomparable):
    """A question about a path, still without its verb."""

    cel_type: ClassVar[Type] = PATH_CHECK

    authorizer: Authorizer
    question: Question


@dataclass(frozen=True, slots=True)
class GroupCheck(_Incomparable):
    """A question about an API group, still without its resource."""

    cel_type: ClassVar[Type] = GROUP_CHECK

    authorizer: Authorizer
    question: Question


@dataclass(frozen=True, slots=True)
class ResourceCheck(_Incomparable):
    """A question about a resource, still without its verb."""

    cel_type: ClassVar[Type] = RESOURCE_CHECK

    authorizer: Authorizer
    question: Question


def _sample(question: Question) -> Decision:
    return Decision(question.verb == "get", "only reading is allowed")


_VARIABLES: Final = MappingProxyType({"authorizer": Authorizer("alice", _sample)})


def _example(expression: str, expected: str) -> tuple[Example, ...]:
    return (Example(expression, expected, _VARIABLES),)


@overload(
    "path",
    "authorizer_path",
    AUTHORIZER,
    STRING,
    returns=PATH_CHECK,
    member=True,
    doc="Asks about a path of the API server that is no resource.",
    examples=_example("authorizer.path('/healthz').check('get').allowed()", "true"),
)
def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(authorizer, Question(authorizer.user, "", path=path))


@overload(
    "group",
    "authorizer_group",
    AUTHORIZER,
    STRING,
    returns=GROUP_CHECK,
    member=True,
    doc="Asks about an API group; the core group's name is empty.",
    examples=_example(
        "authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
        "false",
    ),
)
def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(authorizer, Question(authorizer.user, "", group=group))


@overload(
    "serviceAccount",
    "authorizer_serviceaccount",
    AUTHORIZER,
    STRING,
    STRING,
    returns=AUTHORIZER,
    member=True,
    doc="Asks about a service account instead of the user: its namespace and name.",
    examples=_example(
        "authorizer.serviceAccount('default', 'sa').path('/').check('get').allowed()", "true"
    ),
)
def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if naming.subdomain(name):
        raise CelError("Invalid service account name")
    if naming.label(namespace):
        raise CelError("Invalid service account namespace")
    return replace(authorizer, user=f"system:serviceaccount:{namespace}:{name}")


@overload(
    "resource",
    "groupcheck_resource",
    GROUP_CHECK,
    STRING,
    returns=RESOURCE_CHECK,
    member=True,
    doc="Asks about a resource of the group, such as `pods`.",
    examples=_example("authorizer.group('').resource('pods').check('get').allowed()", "true"),
)
def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.authorizer, replace(check.question, resource=resource))


@overload(
    "subresource",
    "resourcecheck_subresource",
    RESOURCE_CHECK,
    STRING,
    returns=RESOURCE_CHECK,
    member=True,
    doc="Asks about a part of the resource, such as `status`.",
    examples=_example(
        "authorizer.group('').resource('pods').subresource('log').check('get').allowed()", "true"
    ),
)
def _subresource(check: ResourceCheck, subresource: str) -> ResourceCheck:
    return replace(check, question=replace(check.question, subresource=subresource))


@overload(
    "namespace",
    "resourcecheck_namespace",
    RESOURCE_CHECK,
    STRING,
    returns=RESOURCE_CHECK,
    member=True,
    doc="Asks about one namespace.",
    examples=_example(
        "authorizer.group('').resource('pods').namespace('default').check('get').allowed()", "true"
    ),
)
def _namespace(check: ResourceCheck, namespace: str) -> ResourceCheck:
    return replace(check, question=replace(check.question, namespace=namespace))


@overload(
    "name",
    "resourcecheck_name",
    RESOURCE_CHECK,
    STRING,
    returns=RESOURCE_CHECK,
    member=True,
    doc="Asks about one object.",
    examples=_example(
        "authorizer.group('').resource('pods').name('web').check('delete').reason()",
        "'only reading is allowed'",
    ),
)
def _name(check: ResourceCheck, name: str) -> ResourceCheck:
    return replace(check, question=replace(check.question, name=name))


def _selector_cost(args: Sequence[Value], _result: Value) -> int:
    # A list, a traversal, and for every second character at most a requirement of 50.
    size = size_of(args[1])
    return 10 + ceil(size * TRAVERSAL) + 50 * ceil(size / 2)


@overload(
    "fieldSelector",
    "authorizer_fieldselector",
    RESOURCE_CHECK,
    STRING,
    returns=RESOURCE_CHECK,
    member=True,
    cost=_selector_cost,
    doc="Asks only about objects whose fields a selector matches.",
    examples=_example(
        "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a')"
        ".check('get').allowed()",
        "true",
    ),
)
def _field_selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    return replace(check, question=replace(check.question, field_selector=selector))


@overload(
    "labelSelector",
    "authorizer_labelselector",
    RESOURCE_CHECK,
    STRING,
    returns=RESOURCE_CHECK,
    member=True,
    cost=_selector_cost,
    doc="Asks only about objects whose labels a selector matches.",
    examples=_example(
        "authorizer.group('').resource('pods').labelSelector('app=a').check('get').allowed()",
        "true",
    ),
)
def _label_selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    return replace(check, question=replace(check.question, label_selector=selector))


def _checking(_args: Sequence[Value], _result: Value) -> int:
    return _CHECK_COST


_CHECK: Final = "The decision about a verb; it costs so much that an expression can ask twice."


@overload(
    "check",
    "pathcheck_check",
    PATH_CHECK,
    STRING,
    returns=DECISION,
    member=True,
    cost=_checking,
    doc=_CHECK,
    examples=_example("authorizer.path('/healthz').check('post').allowed()", "false"),
)
def _check_path(check: PathCheck, verb: str) -> Decision:
    return check.authorizer.decide(replace(check.question, verb=verb))


@overload(
    "check",
    "resourcecheck_check",
    RESOURCE_CHECK,
    STRING,
    returns=DECISION,
    member=True,
    cost=_checking,
    doc=_CHECK,
)
def _check_resource(check: ResourceCheck, verb: str) -> Decision:
    return check.authorizer.decide(replace(check.question, verb=verb))


@overload(
    "allowed",
    "decision_allowed",
    DECISION,
    returns=BOOL,
    member=True,
    doc="Whether it is allowed.",
    examples=_example("authorizer.path('/').check('get').allowed()", "true"),
)
def _allowed(decision: Decision) -> bool:
    return decision.allowed


@overload(
    "reason",
    "decision_reason",
    DECISION,
    returns=STRING,
    member=True,
    doc="Why it is or is not allowed.",
    examples=_example("authorizer.path('/').check('put').reason()", "'only reading is allowed'"),
)
def _reason(decision: Decision) -> str:
    return decision.reason


@overload(
    "errored",
    "decision_errored",
    DECISION,
    returns=BOOL,
    member=True,
    doc="Whether the check failed.",
    examples=_example("authorizer.path('/').check('get').errored()", "false"),
)
def _errored(decision: Decision) -> bool:
    return bool(decision.error)


@overload(
    "error",
    "decision_error",
    DECISION,
    returns=STRING,
    member=True,
    doc="Why the check failed; empty where it did not.",
    examples=_example("authorizer.path('/').check('get').error()", "''"),
)
def _error(decision: Decision) -> str:
    return decision.error


LIBRARY: Final = Library(
    "kubernetes.authz",
    overloads=(
        _path,
        _group,
        _service_account,
        _resource,
        _subresource,
        _namespace,
        _name,
        _check_path,
        _check_resource,
        _errored,
        _error,
        _allowed,
        _reason,
    ),
    doc="What a user may do.",
)
SELECTORS_LIBRARY: Final = Library(
    "kubernetes.authzSelectors",
    overloads=(_field_selector, _label_selector),
    doc="Selectors in questions about what a user may do.",
)

"""`kubernetes.authz` and `kubernetes.authzSelectors`: what a user may do.

A check starts from a value of the type Authorizer, which only a caller can bring: the library
declares no variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from operator import attrgetter
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, declared, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import TRAVERSAL, always, size_of
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
    """The answer to a check; error: why the check failed, empty if it did not."""

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


@overload("authorizer_path: Authorizer.path(string) -> PathCheck")
def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(authorizer, Access(authorizer.user, "", path=path))


@overload("authorizer_group: Authorizer.group(string) -> GroupCheck")
def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(authorizer, Access(authorizer.user, "", group=group))


@overload("authorizer_serviceaccount: Authorizer.serviceAccount(string, string) -> Authorizer")
def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if naming.subdomain(name):
        raise CelError("Invalid service account name")
    if naming.label(namespace):
        raise CelError("Invalid service account namespace")
    return replace(authorizer, user=f"system:serviceaccount:{namespace}:{name}")


@overload("groupcheck_resource: GroupCheck.resource(string) -> ResourceCheck")
def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.authorizer, replace(check.access, resource=resource))


def _narrowed(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    return lambda check, text: replace(check, access=replace(check.access, **{field: text}))


_NARROWED: Final = overloads(
    {
        f"resourcecheck_{field}: ResourceCheck.{field}(string) -> ResourceCheck": _narrowed(field)
        for field in ("subresource", "namespace", "name")
    }
)


def _check(check: _Check, verb: str) -> Decision:
    return check.authorizer.decide(replace(check.access, verb=verb))


_CHECKS: Final = overloads(
    {
        "pathcheck_check: PathCheck.check(string) -> Decision": _check,
        "resourcecheck_check: ResourceCheck.check(string) -> Decision": _check,
    },
    cost=always(350_000),
)
"""An expression can ask twice."""
_DECISIONS: Final = overloads(
    {
        "decision_errored: Decision.errored() -> bool": lambda decision: bool(decision.error),
        "decision_error: Decision.error() -> string": attrgetter("error"),
        "decision_allowed: Decision.allowed() -> bool": attrgetter("allowed"),
        "decision_reason: Decision.reason() -> string": attrgetter("reason"),
    }
)

LIBRARY: Final = Library("kubernetes.authz", overloads=declared(globals()))


def _selector_cost(args: Sequence[Value], _result: Value) -> int:
    # A list, a traversal, and for every second character at most a requirement of 50.
    size = size_of(args[1])
    return 10 + ceil(size * TRAVERSAL) + 50 * ceil(size / 2)


SELECTORS_LIBRARY: Final = Library(
    "kubernetes.authzSelectors",
    overloads(
        {
            "authorizer_fieldselector: "
            "ResourceCheck.fieldSelector(string) -> ResourceCheck": _narrowed("field_selector"),
            "authorizer_labelselector: "
            "ResourceCheck.labelSelector(string) -> ResourceCheck": _narrowed("label_selector"),
        },
        cost=_selector_cost,
    ),
)

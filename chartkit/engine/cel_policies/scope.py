"""The variables that a policy's expressions see: nothing is made before it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final
from weakref import ref

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.printing import doubles
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.expressions import sees_the_request_alone
from chartkit.engine.kubernetes.kinds import kind_of, resource_name
from chartkit.engine.ports.services import labels_of
from chartkit.engine.request import Operation, Request, User
from chartkit.model import Body, mapping_at, text_of

if TYPE_CHECKING:
    from chartkit.engine.cel.tracing.datum import Datum, TraceError


_NOBODY: Final = User()
_NOTHING: Final[Body] = {}
_SCANNER: Final = "system:kyverno:background-scan"


class Attributes:
    """A request as match constraints and expressions see it.

    resource: the plural name; object: what is written, None for a DELETE; old: what was there,
    None for a CREATE; labels: of the object and of the old one, none where there is no such
    object; kind_key: what decides which rules may speak of it.
    """

    def __init__(self, request: Request, resource: str = "") -> None:
        """resource: the plural name, where it is not known and cannot be guessed."""
        self.request = request
        body = request.resource.body
        group, version, kind = request.kind or kind_of(request.resource)
        self.group, self.version, self.kind = group, version, kind
        self.resource = request.plural or resource or resource_name(kind)
        self.subresource = request.subresource
        self.operation = request.operation
        self.object: Body | None = None if request.operation is Operation.DELETE else body
        self.old: Body | None
        if request.operation is Operation.DELETE:
            self.old = body
        elif request.operation is Operation.UPDATE:
            self.old = (request.old or request.resource).body
        else:
            self.old = request.old.body if request.old is not None else None
        self.namespace = request.resource.namespace
        self.is_namespace = self.resource == "namespaces" and not group
        self.namespace_labels: Mapping[str, str] = request.namespace_labels
        scope = "namespaced" if self.namespace else ""
        self.kind_key = (group, version, self.resource, self.subresource, self.operation, scope)

    @cached_property
    def name(self) -> str:
        return self.request.resource.name

    @cached_property
    def generate_name(self) -> str:
        return text_of(mapping_at(self.request.resource.body, "metadata").get("generateName"))

    @cached_property
    def labels(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return labels_of(self.object or _NOTHING), labels_of(self.old or _NOTHING)

    def admission_request(self, user: User | None = None) -> Body:
        """The request as the variable `request` shows it; what is not known is not there.

        user: who asks, in place of the request's own.
        """
        kind = {"group": self.group, "version": self.version, "kind": self.kind}
        resource = {"group": self.group, "version": self.version, "resource": self.resource}
        members: Body = {
            "kind": kind,
            "resource": resource,
            "subResource": self.subresource,
            "requestKind": kind,
            "requestResource": resource,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
        }
        return {
            "uid": "",
            **{key: value for key, value in members.items() if value},
            "operation": str(self.operation),
            "userInfo": (user or self.request.user or _NOBODY).info(),
            "object": self.object,
            "oldObject": self.old,
            "dryRun": False,
            "options": None,
        }


def identified(user: User | None) -> User:
    """A user as Kyverno shows it to the policies of Kubernetes' own kinds: what is not known of
    it names Kyverno's background scan."""
    identity = user or _NOBODY
    return replace(
        identity,
        name=identity.name or _SCANNER,
        uid=identity.uid or _SCANNER,
        groups=identity.groups or (_SCANNER,),
    )


NOTHING: Final[Body] = {}
"""The value of an object that does not exist, as in Kyverno's engine."""


class RequestScope(dict[str, Value]):
    """`object`, `oldObject`, `namespaceObject` and, made when it is asked for, `request`.

    computed: values that depend on nothing else, for every policy that asks for them; traced: their
    provenance, for failures.
    """

    __slots__ = ("_attributes", "_is_reviewed", "_user", "computed", "traced")

    def __init__(
        self,
        attributes: Attributes,
        namespace: Body | None,
        absent: Body | None = NOTHING,
        user: User | None = None,
    ) -> None:
        """namespace: the object of the request's namespace, where it is known; absent: the value of
        an object that does not exist (null in Kubernetes); user: in place of the request's own."""
        super().__init__(
            object=absent if attributes.object is None else attributes.object,
            oldObject=absent if attributes.old is None else attributes.old,
            namespaceObject=namespace,
        )
        self._attributes = attributes
        self._user = user
        # Kyverno makes the request of Kubernetes' own policies, and of `validate.cel`, anew.
        self._is_reviewed = absent is not None
        self.computed: dict[Program, Value] = {}
        self.traced: dict[Program, Datum | TraceError] | None = None

    def __missing__(self, name: str) -> Value:
        if name != "request":
            raise KeyError(name)
        made = self._attributes.admission_request(self._user)
        if self._is_reviewed:
            made |= self._attributes.request.review or {}
        self[name] = made
        return made


def server_scope(attributes: Attributes, user: User | None = None) -> RequestScope:
    """A request as Kubernetes' own policies see it: a missing object is null.

    user: who asks, in place of the request's own.
    """
    return RequestScope(attributes, _namespace_object(attributes), absent=None, user=user)


def _namespace_object(attributes: Attributes) -> Body | None:
    """The object of the request's namespace; if unknown, one with its labels alone."""
    if not attributes.namespace or attributes.is_namespace:
        return None
    namespace = attributes.request.namespace
    if namespace is not None:
        return {key: namespace.get(key) or {} for key in ("metadata", "spec", "status")}
    metadata: Body = {"name": attributes.namespace}
    if attributes.namespace_labels:
        metadata["labels"] = dict(attributes.namespace_labels)
    return {"metadata": metadata, "spec": {}, "status": {}}


class JsonScope(dict[str, Value]):
    """A payload that is not an admission request: there is the `object`, and all else is null.

    Its numbers are doubles, as Go's decoder makes them.
    """

    __slots__ = ()

    def __init__(self, attributes: Attributes) -> None:
        absent: dict[str, Value] = dict.fromkeys(("oldObject", "namespaceObject", "request"))
        super().__init__(absent, object=doubles(attributes.request.resource.body))


class PolicyScope(dict[str, Value]):
    """A request's variables with those of one policy; the request's own stay as they are.

    computed: as in the request's scope; None where the policy may change the object.
    """

    __slots__ = ("__weakref__", "computed", "request")

    def __init__(self, request: Mapping[str, Value], *, changes: bool = False) -> None:
        super().__init__(request)
        self.request = request
        self.computed: dict[Program, Value] | None = None
        if isinstance(request, RequestScope) and not changes:
            self.computed = request.computed

    def __missing__(self, name: str) -> Value:
        made = self[name] = self.request[name]
        return made


class Deferred(dict[str, Value]):
    """Values by name, each computed when it is first asked for; so are their errors."""

    __slots__ = ("_errors", "_names")

    def __init__(self, names: Container[object]) -> None:
        self._names = names
        self._errors: dict[str, CelError] | None = None

    @abstractmethod
    def compute(self, name: str) -> Value:
        """The value of a name; raises CelError, and KeyError for an unknown name."""

    def __missing__(self, name: str) -> Value:
        if self._errors is not None and name in self._errors:
            raise copy(self._errors[name])
        try:
            made = self[name] = self.compute(name)
        except CelError as error:
            if self._errors is None:
                self._errors = {}
            # The error itself will refer to the frames that it goes through, and they to this.
            self._errors[name] = copy(error)
            raise
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._names


class Variables(Deferred):
    """A policy's `variables`."""

    __slots__ = ("_computed", "_host", "_programs", "_scope")

    def __init__(self, programs: Mapping[str, Program], scope: PolicyScope, host: Host) -> None:
        """scope: it has these variables, and does not live on for them."""
        super().__init__(programs)
        self._computed = scope.computed
        self._programs = programs
        self._scope = ref(scope)
        self._host = host

    def compute(self, name: str) -> Value:
        """The value of a variable; raises CelError."""
        scope = self._scope()
        assert scope is not None
        return once(self._programs[name], scope, self._host, self._computed)


def once(
    program: Program, scope: Mapping[str, Value], host: Host, computed: dict[Program, Value] | None
) -> Value:
    """The value of a program; computed: what is known already for the request, None where it may
    change. Raises CelError."""
    if computed is None or not sees_the_request_alone(program):
        return program.evaluate(scope, host)
    if program not in computed:
        computed[program] = program.evaluate(scope, host)
    return computed[program]

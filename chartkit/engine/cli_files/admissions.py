"""Requests of objects, with the values that a user gives for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.request import Request, User
from chartkit.model import Body, Json, Resource

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
OPERATION = "request.operation"
_EMPTY: Mapping[str, Json] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class UserValues:
    """A values file (`cli.kyverno.io/v1alpha1`, kind Values), parsed.

    globals: for every object; by_resource: policy and object name; by_rule: policy and rule name;
    settings: given one by one on the command line, above all others; labels: by namespace;
    subresources: by a subresource's own kind, the kind of the whole object and the subresource's
    name; namespaces: whole Namespace objects by name.
    """

    globals: Mapping[str, Json] = field(default_factory=dict)
    by_resource: Mapping[tuple[str, str], Mapping[str, Json]] = field(default_factory=dict)
    by_rule: Mapping[tuple[str, str], Mapping[str, Json]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    subresources: Mapping[GroupVersionKind, tuple[GroupVersionKind, str]] = field(
        default_factory=dict
    )
    namespaces: Mapping[str, Body] = field(default_factory=dict)

    def for_resource(self, policy: str, resource: str) -> Mapping[str, Json]:
        """The variables (dotted names) of one object under one policy."""
        return {**self.globals, **self.by_resource.get((policy, resource), _EMPTY), **self.settings}

    def for_rule(self, policy: str, rule: str) -> Mapping[str, Json]:
        """The variables (dotted names) of one rule: the first that are given for it, or for the
        rule that an autogen rule was made from."""
        for (owner, name), variables in self.by_rule.items():
            if owner == policy and rule in (name, f"autogen-{name}", f"autogen-cronjob-{name}"):
                return variables
        return _EMPTY

    def operation(self, policy: str, resource: str) -> str:
        """The operation to simulate for an object: CREATE where nothing is said."""
        operation = self.for_resource(policy, resource).get(OPERATION, "CREATE")
        return operation if operation in OPERATIONS else "CREATE"


@dataclass(frozen=True, slots=True)
class UserContext:
    """resources: objects of the cluster, as written; images: a registry's data about an image, by
    the reference in the policy."""

    resources: tuple[Body, ...] = ()
    images: Mapping[str, Body] = field(default_factory=dict)


NO_CONTEXT: Final = UserContext()
NO_VALUES: Final = UserValues()


@dataclass(slots=True)
class Admissions:
    """Makes requests of objects, each with the variables that every policy sees.

    policies: their names; namespaces: labels of namespaces without labels in the values;
    namespace_objects: whole Namespaces that the values lack.
    """

    policies: Iterable[str]
    values: UserValues = NO_VALUES
    user: User | None = None
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    namespace_objects: Mapping[str, Body] = field(default_factory=dict)
    _has_variables: bool = field(init=False)

    def __post_init__(self) -> None:
        values = self.values
        self.policies = tuple(dict.fromkeys(self.policies))
        self._has_variables = bool(values.globals or values.by_resource or values.settings)

    def request(self, resource: Resource, operation: str = "") -> Request:
        """The admission of an object; operation: CREATE, UPDATE or DELETE, above the values'."""
        values = self.values
        namespace = resource.namespace
        labels = values.labels.get(namespace) or self.namespaces.get(namespace, {})
        nothing: tuple[GroupVersionKind | None, str] = (None, "")
        kind, subresource = values.subresources.get(kind_of(resource), nothing)
        if namespace in values.namespaces or namespace in values.labels:
            namespace_body: Body | None = values.namespaces.get(namespace)
        else:
            namespace_body = self.namespace_objects.get(namespace)
        return Request(
            resource,
            user=self.user,
            namespace_labels=labels,
            namespace=namespace_body,
            subresource=subresource,
            kind=kind,
            variables=self._variables(resource.name, operation),
        )

    def _variables(self, name: str, operation: str) -> dict[str, Mapping[str, Json]]:
        if not (self._has_variables or operation):
            return {}
        variables: dict[str, Mapping[str, Json]] = {}
        for policy in self.policies:
            given = self.values.for_resource(policy, name)
            variables[policy] = {**given, OPERATION: operation} if operation else given
        return variables

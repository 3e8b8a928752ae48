"""Admission requests for objects from files: the user's files replace a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from chartkit.engine.cli_files.user_values import UserValues
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.engine.request.request import Request, User
from chartkit.model import Body, Json, Resource

NO_VALUES: Final = UserValues()
_NO_LABELS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})
_NO_OBJECTS: Final[Mapping[str, Body]] = MappingProxyType({})
_OPERATION: Final = "request.operation"


class Admissions:
    """Makes requests of objects, each with the variables that every policy sees."""

    __slots__ = (
        "_has_variables",
        "_namespace_objects",
        "_namespaces",
        "_policies",
        "_user",
        "_values",
    )

    def __init__(
        self,
        policies: Iterable[str],
        values: UserValues = NO_VALUES,
        user: User | None = None,
        namespaces: Mapping[str, Mapping[str, str]] = _NO_LABELS,
        namespace_objects: Mapping[str, Body] = _NO_OBJECTS,
    ) -> None:
        """policies: their names; namespaces: labels, where the values have none of a namespace;
        namespace_objects: whole Namespaces, where the values have no such object."""
        self._policies = tuple(dict.fromkeys(policies))
        self._values = values
        self._user = user
        self._namespaces = namespaces
        self._namespace_objects = namespace_objects
        self._has_variables = bool(values.globals or values.by_resource or values.settings)

    def request(self, resource: Resource, operation: str = "") -> Request:
        """The admission of an object; operation: CREATE, UPDATE or DELETE, above the values'."""
        values = self._values
        namespace = resource.namespace
        labels = values.namespace_labels(namespace) or self._namespaces.get(namespace, {})
        kind, subresource = values.parent(kind_of(resource))
        return Request(
            resource,
            user=self._user,
            namespace_labels=labels,
            namespace=self._namespace_object(namespace),
            subresource=subresource,
            kind=kind,
            variables=self._variables(resource.name, operation),
        )

    def _namespace_object(self, namespace: str) -> Body | None:
        values = self._values
        if namespace in values.namespaces or namespace in values.labels:
            return values.namespaces.get(namespace)
        return self._namespace_objects.get(namespace)

    def _variables(self, name: str, operation: str) -> dict[str, Mapping[str, Json]]:
        if not (self._has_variables or operation):
            return {}
        variables: dict[str, Mapping[str, Json]] = {}
        for policy in self._policies:
            given = self._values.for_resource(policy, name)
            variables[policy] = {**given, _OPERATION: operation} if operation else given
        return variables

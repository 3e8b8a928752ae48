"""A request to the engine: one object, as an API server would send it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from chartkit.engine.kubernetes.kinds import (
    DEFAULT_NAMESPACE,
    UNKNOWN,
    CustomNames,
    GroupVersionKind,
    in_namespace,
)
from chartkit.model import Body, Json, Resource


class Operation(StrEnum):
    """The operation on the object, in the words of an AdmissionReview."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


def given_operation(variables: Mapping[str, Json]) -> Operation | None:
    """Return the operation in a user's variables, None where there is none.

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
        """As `userInfo` of a request shows it: what is empty is not there."""
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
    kind: that of the whole object where the request is about a subresource with a kind of its own;
    variables: a user's values (dotted names), by the policy's name; is_json: whether it is any JSON
    and no Kubernetes object, for policies of JSON only; plural: the resource name of the kind as an
    API server has it, empty where that is guessed; review: the fields of an AdmissionReview's
    request beside its objects, for expressions; None where no API server sent it.

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
    """The value without nulls where objects belong; the very same where there are none."""
    if isinstance(value, dict):
        changed: Body = {}
        for key, entry in value.items():
            if entry is None:
                if key in _OBJECTS:
                    changed[key] = {}
            elif isinstance(entry, dict | list):
                filled = _filled(entry)
                if filled is not entry:
                    changed[key] = filled
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        entries = [_filled(entry) if isinstance(entry, dict) else entry for entry in value]
        same = all(new is old for new, old in zip(entries, value, strict=True))
        return value if same else entries
    return value

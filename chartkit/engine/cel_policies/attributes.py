"""The attributes of a request that an API server gives its admission plugins, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final

from chartkit.engine.kubernetes.kinds import kind_of, resource_name
from chartkit.engine.ports.cluster import labels_of
from chartkit.engine.request.request import Operation, Request, User
from chartkit.model import Body, mapping_at, text_of

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
        """resource: the plural name, where nobody knows it and it cannot be guessed."""
        self.request = request
        body = request.resource.body
        group, version, kind = request.kind or kind_of(request.resource)
        self.group, self.version, self.kind = group, version, kind
        self.resource = request.plural or resource or resource_name(kind)
        self.subresource = request.subresource
        self.operation = request.operation
        self.object: Body | None = None if request.operation is Operation.DELETE else body
        self.old = _old(request, body)
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
        known: Body = {
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
            **{key: value for key, value in known.items() if value},
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
    known = user or _NOBODY
    return replace(
        known,
        name=known.name or _SCANNER,
        uid=known.uid or _SCANNER,
        groups=known.groups or (_SCANNER,),
    )


def _old(request: Request, body: Body) -> Body | None:
    if request.operation is Operation.DELETE:
        return body
    if request.operation is Operation.UPDATE:
        return (request.old or request.resource).body
    return request.old.body if request.old is not None else None

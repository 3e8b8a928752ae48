"""A request as a document, in which places are set and taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.proof.leaves.paths import Path
from chartkit.addons.migrate.proof.requests.roles import user_of
from chartkit.engine import Operation, Request
from chartkit.engine.kubernetes.kinds import is_cluster_scoped, kind_of
from chartkit.engine.request import given_operation
from chartkit.model import Body, Location, Resource

_MEMORY: Final = Location("<proof>")


@dataclass(frozen=True, slots=True)
class Case:
    """A request as a document: `object`, `oldObject`, `operation`, `userInfo` (`username`,
    `groups`), `roles`, `clusterRoles`, `namespaceLabels`.

    Without `userInfo` it is a background scan. origin: the file or the rule it comes from; tries:
    the places that were set, with the state of each; change: the last of them, with its value.
    """

    document: Body
    origin: str = ""
    tries: tuple[tuple[Path, str], ...] = ()
    change: str = ""

    @property
    def is_background(self) -> bool:
        """Return whether it is a background scan of an object that exists."""
        return "userInfo" not in self.document

    def request(self) -> Request:
        """Return the request to the engine."""
        document = self.document
        resource = Resource(document["object"], _MEMORY)
        old = document.get("oldObject")
        operation = Operation(document.get("operation", "CREATE"))
        return Request(
            resource,
            Resource(old, _MEMORY) if old and operation is Operation.UPDATE else None,
            operation,
            None if self.is_background else user_of(document),
            document.get("namespaceLabels") or {},
            _namespace(resource, document),
        )


def _namespace(resource: Resource, document: Body) -> Body | None:
    """Return the Namespace that an object is in, with the labels of the case."""
    if not resource.namespace or is_cluster_scoped(kind_of(resource)):
        return None
    metadata: Body = {"name": resource.namespace}
    labels = document.get("namespaceLabels")
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def case_of(request: Request, origin: str = "") -> Case:
    """Return a request of a test or a recording as a document; a user's variables are left out,
    for policies in CEL see none."""
    given = (given_operation(values) for values in request.variables.values())
    operation = str(next((one for one in given if one is not None), request.operation))
    document: Body = {"object": request.resource.body, "operation": operation}
    if request.old is not None:
        document["oldObject"] = request.old.body
    if request.user is not None:
        user = request.user
        document["userInfo"] = {"username": user.name, "groups": list(user.groups)}
        document |= {"roles": list(user.roles), "clusterRoles": list(user.cluster_roles)}
    elif document["operation"] != "CREATE":
        document["userInfo"] = {}
    if request.namespace_labels:
        document["namespaceLabels"] = dict(request.namespace_labels)
    return Case(document, origin or str(request.resource.location))

"""A request as a document, in which fields are set and taken away, and the roles of its user."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.proof.leaves.paths import CLUSTER, SUBRESOURCE, Path
from chartkit.engine import Operation, Request, User
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_cluster_scoped, kind_of
from chartkit.engine.request import given_operation
from chartkit.model import Body, Json, Location, Resource, mapping_at, mappings_at

_API_VERSION: Final = "rbac.authorization.k8s.io/v1"
_OF_CLUSTER: Final = f"{_API_VERSION}/clusterrolebindings"
_OF_NAMESPACES: Final = f"{_API_VERSION}/rolebindings"
_ROLE: Final = "Role"
_CLUSTER_ROLE: Final = "ClusterRole"
_ACCOUNT: Final = "system:serviceaccount:"


def user_of(document: Body) -> User:
    """Return the user of a case, with the roles that the case names and those that bindings of its
    cluster give."""
    info = document["userInfo"]
    name, groups = info.get("username", ""), tuple(info.get("groups") or ())
    roles, cluster_roles = [*(document.get("roles") or ())], [*(document.get("clusterRoles") or ())]
    if cluster := document.get(CLUSTER):
        namespace = mapping_at(document["object"], "metadata").get("namespace") or ""
        for kind, text in _bound(cluster, User(name, groups=groups), namespace):
            (roles if kind == _ROLE else cluster_roles).append(text)
    return User(name, groups=groups, roles=tuple(roles), cluster_roles=tuple(cluster_roles))


def _bound(cluster: Body, user: User, namespace: Json) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each role that the bindings of a cluster give a user."""
    for body in _bindings(cluster, _OF_NAMESPACES):
        own = mapping_at(body, "metadata").get("namespace")
        role = mapping_at(body, "roleRef")
        if not _names(body, user, str(own)):
            continue
        if role.get("kind") == _ROLE:
            yield _ROLE, f"{own}:{role.get('name')}"
        elif own == namespace:
            yield _CLUSTER_ROLE, str(role.get("name"))
    for body in _bindings(cluster, _OF_CLUSTER):
        role = mapping_at(body, "roleRef")
        if role.get("kind") == _CLUSTER_ROLE and _names(body, user, ""):
            yield _CLUSTER_ROLE, str(role.get("name"))


def _bindings(cluster: Body, key: str) -> list[Body]:
    return [binding for binding in cluster.get(key) or () if isinstance(binding, dict)]


def _names(binding: Body, user: User, namespace: str) -> bool:
    """Report whether a subject of a binding is the user."""
    for subject in mappings_at(binding, "subjects"):
        name = subject.get("name")
        account = f"{_ACCOUNT}{subject.get('namespace') or namespace}:{name}"
        names = {"User": [user.name], "Group": list(user.groups)}
        is_account = subject.get("kind") == "ServiceAccount" and account == user.name
        if is_account or name in names.get(str(subject.get("kind")), ()):
            return True
    return False


def with_bindings(document: Body) -> Body:
    """Return the objects of a case's cluster with bindings for the roles that the case names."""
    cluster: Body = document.get(CLUSTER) or {}
    named = {key: document.get(key) or () for key in ("roles", "clusterRoles")}
    if not any(named.values()) or not (_OF_CLUSTER in cluster or _OF_NAMESPACES in cluster):
        return cluster
    username = mapping_at(document, "userInfo").get("username", "")
    objects = {**cluster}
    for text in named["clusterRoles"]:
        body = _binding("ClusterRoleBinding", _CLUSTER_ROLE, text, username)
        objects[_OF_CLUSTER] = [*objects.get(_OF_CLUSTER, ()), body]
    for text in named["roles"]:
        namespace, _, name = text.partition(":")
        body = _binding("RoleBinding", _ROLE, name, username)
        body["metadata"]["namespace"] = namespace
        objects[_OF_NAMESPACES] = [*objects.get(_OF_NAMESPACES, ()), body]
    return objects


def _binding(kind: str, role: str, name: str, username: Json) -> Body:
    return {
        "apiVersion": _API_VERSION,
        "kind": kind,
        "metadata": {"name": f"case-{name}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": username}],
    }


_MEMORY: Final = Location("<proof>")


@dataclass(frozen=True, slots=True)
class Case:
    """A request as a document: `object`, `oldObject`, `operation`, `userInfo` (`username`,
    `groups`), `roles`, `clusterRoles`, `namespaceLabels`.

    Without `userInfo` it is a background scan. origin: the file or the rule it comes from; tries:
    the places that were set, with the state of each; change: the last of them, with its content.
    """

    document: Body
    origin: str = ""
    tries: tuple[tuple[Path, str], ...] = ()
    change: Hashable = ""

    @property
    def is_background(self) -> bool:
        """Report whether it is a background scan of an object that exists."""
        return "userInfo" not in self.document

    def request(self) -> Request:
        """Return the request to the engine."""
        document = self.document
        resource = Resource(document["object"], _MEMORY)
        old = document.get("oldObject")
        operation = Operation(document.get("operation", "CREATE"))
        part = None if self.is_background else document.get(SUBRESOURCE)
        return Request(
            resource,
            Resource(old, _MEMORY) if old and operation is Operation.UPDATE else None,
            operation,
            None if self.is_background else user_of(document),
            document.get("namespaceLabels") or {},
            _namespace(resource, document),
            subresource=part["name"] if part else "",
            kind=GroupVersionKind(*part["of"]) if part else None,
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
    operation = str(next((value for value in given if value is not None), request.operation))
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

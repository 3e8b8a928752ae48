"""The roles of a user by the RoleBindings of a cluster (Kyverno's `pkg/userinfo`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from chartkit.engine.request.request import User
from chartkit.model import Body, Resource, mapping_at, mappings_at, text_of, texts_of

GROUP: Final = "rbac.authorization.k8s.io"
_KINDS: Final = ("RoleBinding", "ClusterRoleBinding")


def is_role_binding(resource: Resource) -> bool:
    """Return whether an object gives roles to users."""
    return resource.kind in _KINDS and resource.api_version.startswith(f"{GROUP}/")


@dataclass(frozen=True, slots=True)
class _Binding:
    """A binding. namespace: empty for a ClusterRoleBinding; users, groups: its subjects, service
    accounts among the users."""

    namespace: str
    is_cluster_role: bool
    role: str
    users: frozenset[str]
    groups: frozenset[str]


class RoleBindings:
    """The RoleBindings and ClusterRoleBindings among objects."""

    __slots__ = ("_bindings",)

    def __init__(self, found: Iterable[Resource] = ()) -> None:
        self._bindings = tuple(_binding(each) for each in found if is_role_binding(each))

    def user(self, info: Body, namespace: str) -> User:
        """Return a user with its roles; namespace: that of the request."""
        name, groups = text_of(info.get("username")), tuple(texts_of(info.get("groups")))
        extra = mapping_at(info, "extra")
        uid = text_of(info.get("uid"))
        if not self._bindings:
            return User(name, uid, groups, extra)
        roles: set[str] = set()
        cluster_roles: set[str] = set()
        for each in self._bindings:
            if name not in each.users and each.groups.isdisjoint(groups):
                continue
            if not each.is_cluster_role:
                if each.namespace:
                    roles.add(f"{each.namespace}:{each.role}")
            elif each.namespace in ("", namespace):
                cluster_roles.add(each.role)
        return User(name, uid, groups, extra, tuple(sorted(roles)), tuple(sorted(cluster_roles)))


def _binding(resource: Resource) -> _Binding:
    namespace = resource.namespace if resource.kind == "RoleBinding" else ""
    users: set[str] = set()
    groups: set[str] = set()
    for subject in mappings_at(resource.body, "subjects"):
        kind, name = subject.get("kind"), text_of(subject.get("name"))
        if kind == "ServiceAccount":
            place = text_of(subject.get("namespace")) or namespace
            if place:
                users.add(f"system:serviceaccount:{place}:{name}")
        elif kind == "Group":
            groups.add(name)
        elif kind == "User":
            users.add(name)
    reference = mapping_at(resource.body, "roleRef")
    is_cluster_role = reference.get("kind") == "ClusterRole"
    role = text_of(reference.get("name"))
    return _Binding(namespace, is_cluster_role, role, frozenset(users), frozenset(groups))

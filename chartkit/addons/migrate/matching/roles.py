"""The roles of a user, as Kyverno finds them for a ClusterPolicy: by the bindings that name it.

A ClusterRole counts where a ClusterRoleBinding gives it, or a RoleBinding in the namespace of the
request; a Role (`namespace:name`) where a RoleBinding of its namespace does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.matching.facts import Facts
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cluster_policy.policy import ResourceFilter
from chartkit.engine.kubernetes.kinds import is_cluster_scoped

API_VERSION: Final = "rbac.authorization.k8s.io/v1"
_ACCOUNT: Final = "system:serviceaccount:"
_BINDING: Final = cel.ident("binding")
_SUBJECT: Final = cel.ident("subject")


def has_roles(one: ResourceFilter, facts: Facts) -> Iterator[Expr]:
    """Yield the tests whether a user has one of a filter's roles, and one of its cluster roles."""
    if one.roles:
        yield cel.any_of(_has_role(*each) for each in _by_namespace(one.roles))
    if one.cluster_roles:
        yield _is_bound(_of_cluster(facts), "ClusterRole", one.cluster_roles)


def _by_namespace(roles: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the names of roles by their namespaces."""
    found: dict[str, list[str]] = {}
    for each in roles:
        namespace, colon, name = each.partition(":")
        if not (namespace and colon and name):
            raise NotConvertible(f"the role {each}, which names no namespace", "match")
        found.setdefault(namespace, []).append(name)
    yield from found.items()


def _has_role(namespace: str, names: Sequence[str]) -> Expr:
    return _is_bound(_listed("rolebindings", cel.literal(namespace)), "Role", names)


def _of_cluster(facts: Facts) -> Expr:
    """Return the bindings that may give a cluster role: of the cluster, and of the namespace."""
    everywhere = _listed("clusterrolebindings", cel.literal(""))
    here = _listed("rolebindings", facts.own_namespace)
    if facts.known and all(map(is_cluster_scoped, facts.known)) and not facts.has_namespaces:
        return everywhere
    if not facts.namespaced:
        outside = cel.equal(facts.own_namespace, "")
        here = cel.conditional(outside, cel.list_of([]), here)
    return cel.compare("+", everywhere, here)


def _listed(resource: str, namespace: Expr) -> Expr:
    arguments = (cel.literal(API_VERSION), cel.literal(resource), namespace)
    listed = cel.method(cel.ident("resource"), "List", *arguments)
    return cel.path(cel.call("dyn", listed), "items")


def _is_bound(bindings: Expr, kind: str, names: Sequence[str]) -> Expr:
    """Return whether one of several bindings gives the user a role."""
    role = cel.path(_BINDING, "roleRef")
    name = cel.path(role, "name")
    # Kyverno takes wildcards in the names of roles for what they are.
    is_one = (
        cel.equal(name, names[0]) if len(names) == 1 else cel.contains(cel.list_of(names), name)
    )
    subjects = cel.or_value(cel.optional_field(_BINDING, "subjects"), [])
    tests = (
        cel.equal(cel.path(role, "kind"), kind),
        is_one,
        cel.macro(subjects, "exists", "subject", _is_user()),
    )
    return cel.macro(bindings, "exists", "binding", cel.all_of(tests))


def _is_user() -> Expr:
    """Return whether a subject of a binding is the user of a request."""
    user = cel.path("request", "userInfo")
    username = cel.or_value(cel.optional_field(user, "username"), "")
    groups = cel.or_value(cel.optional_field(user, "groups"), [])
    kind, name = cel.path(_SUBJECT, "kind"), cel.path(_SUBJECT, "name")
    # A service account without a namespace is in that of the binding.
    own = cel.or_value(cel.optional_field(cel.path(_BINDING, "metadata"), "namespace"), "")
    namespace = cel.or_value(cel.optional_field(_SUBJECT, "namespace"), own)
    tests = {
        "User": cel.equal(name, username),
        "Group": cel.contains(groups, name),
        "ServiceAccount": cel.equal(username, cel.concat(_ACCOUNT, namespace, ":", name)),
    }
    return cel.any_of(cel.all_of((cel.equal(kind, each), is_one)) for each, is_one in tests.items())

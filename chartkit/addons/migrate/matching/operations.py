"""Operations of requests: what preconditions say of them belongs into the match constraints.

Many rules begin with `{{ request.operation || 'BACKGROUND' }} NotEquals DELETE`: the new types say
it as `operations: [CREATE, UPDATE]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.matching.facts import Facts
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.conditions.parse import (
    OPERATORS,
    Blocks,
    Condition,
    FlatList,
    parse_conditions,
)
from chartkit.engine.cluster_policy.policy import ResourceFilter, Rule
from chartkit.engine.kubernetes.kinds import is_cluster_scoped
from chartkit.model import Json

ALL: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_OPERATION: Final = re.compile(
    r"""\{\{-?\s*request\.operation\s*(?:\|\|\s*['"`]+([A-Za-z_-]*)['"`]+\s*)?\}\}"""
)


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations that preconditions allow.

    allowed: the operations that meet them, in the order of `ALL`; stated: whether they say
    anything; rest: the preconditions that are left, None for none; preceding: those of them that a
    ClusterPolicy evaluates before it comes to what is said of operations.
    """

    allowed: tuple[str, ...]
    stated: bool
    rest: Blocks | None
    preceding: tuple[Condition, ...] = ()

    @property
    def background(self) -> bool:
        """Return whether background scans meet them: Kyverno scans objects as if just created."""
        return "CREATE" in self.allowed


def operations_in(preconditions: Json) -> Operations:
    """Return what preconditions say of operations; raises `ConditionsMalformed`."""
    parsed = parse_conditions(preconditions)
    if isinstance(parsed, FlatList):
        parsed = Blocks(None, parsed.conditions)
    together = list(parsed.all or ())
    alternatives = parsed.any
    if alternatives is not None and len(alternatives) == 1:
        together, alternatives = [*alternatives, *together], None
    allowed, stated = list(ALL), False
    rest: list[Condition] = []
    preceding: tuple[Condition, ...] = ()
    for condition in together:
        said = _said_of_operation(condition)
        if said is None:
            rest.append(condition)
            continue
        stated = True
        preceding = (*(alternatives or ()), *rest)
        allowed = [name for name in allowed if name in said]
    left = Blocks(alternatives, tuple(rest)) if rest or alternatives is not None else None
    return Operations(tuple(allowed), stated, left, preceding)


def leaves_deletions_open(rule: Rule) -> bool:
    """Return whether a rule is asked about deletions only since it names no operations."""
    filters = (*rule.match.any, *rule.match.all) or (rule.match.direct,)
    is_named = all(each.operations for each in filters)
    return not is_named and not any("DELETE" in each.operations for each in filters)


def _said_of_operation(condition: Condition) -> frozenset[str] | None:
    if not isinstance(condition.key, str) or condition.message:
        return None
    match = _OPERATION.fullmatch(condition.key.strip())
    prepare = OPERATORS.get(condition.operator)
    if match is None or prepare is None or not _is_constant(condition.value):
        return None
    compare = prepare(condition.value)
    return frozenset(name for name in ALL if compare(name))


def _is_constant(value: Json) -> bool:
    texts: Sequence[Json] = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) and "{{" not in text for text in texts)


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

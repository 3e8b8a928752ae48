"""The facts that filters ask for, as expressions: of a request, its operation and its user's roles,
or of an object alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.build import Operand
from chartkit.addons.migrate.expressions.place import TEXT, Place, object_of
from chartkit.addons.migrate.expressions.presence import fits, fits_any
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.conditions.parse import (
    OPERATORS,
    Blocks,
    Condition,
    FlatList,
    parse_conditions,
)
from chartkit.engine.cluster_policy.match import compile_kinds
from chartkit.engine.cluster_policy.policy import ResourceFilter, Rule
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_cluster_scoped
from chartkit.model import Json
from chartkit.schemas.kind_selectors import parse_kind_selector

NAMESPACE: Final = "Namespace"
_ANY: Final = "*"
_KIND: Final = ("group", "version", "kind")


_OBJECT: Final = cel.ident("object")


def judged_object(operations: Collection[str]) -> Expr:
    """Return the object that requests of several operations are about: the old one for a deletion,
    which has no new one."""
    if "DELETE" not in operations:
        return _OBJECT
    if set(operations) == {"DELETE"}:
        return cel.ident("oldObject")
    return cel.filled("request.operation == 'DELETE' ? oldObject : object")


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a request.

    named: the kind selectors of the match constraints, which need no test; known: Kubernetes' own
    kinds that a request may be about, empty where another may come; judged: the object that it is
    about.
    """

    named: frozenset[str] = frozenset()
    known: tuple[GroupVersionKind, ...] = ()
    judged: Expr = _OBJECT

    @property
    def has_namespaces(self) -> bool:
        """Report whether an object may be a Namespace."""
        if self.known or not self.named:
            return not self.known or any(kind.kind == NAMESPACE for kind in self.known)
        kinds = {parse_kind_selector(selector).kind for selector in self.named}
        return bool(kinds & {NAMESPACE, _ANY})

    @property
    def namespaced(self) -> bool:
        """Report whether every object is in a namespace."""
        return bool(self.known) and not any(map(is_cluster_scoped, self.known))

    @property
    def outside(self) -> bool:
        """Report whether no object is in a namespace, or is one."""
        scoped = map(is_cluster_scoped, self.known)
        return bool(self.known) and all(scoped) and not self.has_namespaces

    @property
    def metadata(self) -> Place:
        """Return the place of the object's metadata."""
        return replace(object_of(), root=self.judged).child("metadata")

    @property
    def kind(self) -> Expr:
        """Return the kind of the object."""
        return cel.path("request", "kind", "kind")

    @property
    def own_namespace(self) -> Expr:
        """Return the namespace that the object is in; empty where it is in none."""
        if self.namespaced:
            return cel.path("request", "namespace")
        return cel.or_value(cel.optional_field("request", "namespace"), "")

    @property
    def own_name(self) -> Expr:
        """Return the name of an object that has one."""
        return cel.path("request", "name")

    @property
    def namespace(self) -> Expr:
        """Return the namespace's name, of a Namespace its own; empty where there is none."""
        if not self.has_namespaces:
            return self.own_namespace
        if {kind.kind for kind in self.known} == {NAMESPACE}:
            return self.own_name
        is_namespace = cel.equal(self.kind, NAMESPACE)
        return cel.conditional(is_namespace, self.own_name, self.own_namespace)

    def is_in(self, namespaces: Sequence[str]) -> Expr:
        """Report whether the object is in one of several namespaces; a Namespace is in none."""
        if self.known and all(map(is_cluster_scoped, self.known)):
            return cel.literal(any(not text.strip("*") for text in namespaces))
        fitting = fits_any(self.own_namespace, namespaces)
        if self.namespaced or not self.has_namespaces:
            return fitting
        return cel.all_of((cel.not_equal(self.kind, NAMESPACE), fitting))

    @property
    def name(self) -> Expr:
        """Return the object's name, or what its name is made from."""
        generated = self.metadata.child("generateName").or_value("")
        return self.metadata.child("name").or_value(generated)

    def entries(self, field: str) -> Place:
        """Return the place of the labels or annotations."""
        return self.metadata.child(field)

    def is_kind(self, kinds: Sequence[str]) -> Expr:
        """Report whether the object is of one of several kinds."""
        fits_kind = compile_kinds(tuple(kinds))
        if self.named and self.named <= set(kinds):
            return cel.TRUE
        if not self.named and self.known and all(fits_kind(kind, "") for kind in self.known):
            return cel.TRUE
        named = [parse_kind_selector(kind) for kind in kinds]
        tests: list[Expr] = []
        bare = [kind for kind in named if kind[:2] == (_ANY, _ANY) and not kind.subresource]
        if bare:
            tests.append(fits_any(self.kind, [selector.kind for selector in bare]))
        tests += [self._is_selected(*selector) for selector in named if selector not in bare]
        return cel.any_of(tests)

    def _is_selected(self, group: str, version: str, kind: str, subresource: str) -> Expr:
        parts = zip(_KIND, (group, version, kind), strict=True)
        tests = [fits(cel.path("request", "kind", key), text) for key, text in parts if text != "*"]
        if subresource:
            sub = cel.or_value(cel.optional_field("request", "subResource"), "")
            tests.append(fits(sub, subresource))
        return cel.all_of(tests)


@dataclass(frozen=True, slots=True)
class ObjectFacts(Facts):
    """The facts of an object outside any request."""

    @property
    def kind(self) -> Expr:
        """Return the kind of the object."""
        return cel.path("object", "kind")

    @property
    def own_namespace(self) -> Expr:
        """Return the namespace that the object is in; empty where it is in none."""
        if self.namespaced:
            return cel.path("object", "metadata", "namespace")
        return self.metadata.child("namespace").or_value("")

    @property
    def own_name(self) -> Expr:
        """Return the name of the object."""
        return cel.path("object", "metadata", "name")

    @property
    def name(self) -> Expr:
        """Return the object's name, which is there once it is."""
        return self.own_name

    def _is_selected(self, group: str, version: str, kind: str, subresource: str) -> Expr:
        if subresource:
            raise NotConvertible("a subresource, which is not an object of its own", "match")
        is_one = compile_kinds(("/".join((group, version, kind)),))
        fitting = {kind.kind for kind in self.known if is_one(kind, "")}
        if fitting.isdisjoint(kind.kind for kind in self.known if not is_one(kind, "")) and fitting:
            return fits_any(self.kind, sorted(fitting))
        return cel.all_of((*self._is_served(group, version), fits(self.kind, kind)))

    @staticmethod
    def _is_served(group: str, version: str) -> list[Expr]:
        """Return the tests of an API version's two parts."""
        served = cel.path("object", "apiVersion")
        if _ANY not in group + version:
            return [cel.equal(served, f"{group}/{version}" if group else version)]
        if group not in ("", _ANY) and version == _ANY:
            return [cel.method(served, "startsWith", f"{group}/")]
        if group == _ANY and _ANY not in version:
            core = cel.equal(served, version)
            return [cel.any_of((core, cel.method(served, "endsWith", f"/{version}")))]
        raise NotConvertible("kinds of a group with wildcards next to other kinds", "match")


ALL: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_OPERATION: Final = re.compile(
    r"""\{\{-?\s*request\.operation\s*(?:\|\|\s*['"`]+([A-Za-z_-]*)['"`]+\s*)?\}\}"""
)


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations that preconditions allow.

    allowed: the operations that meet them, in the order of `ALL`; stated: whether they say
    anything; rest: the preconditions that are left, None if there is none; preceding: those of them
    that a ClusterPolicy evaluates before it comes to what is said of operations.
    """

    allowed: tuple[str, ...]
    stated: bool
    rest: Blocks | None
    preceding: tuple[Condition, ...] = ()

    @property
    def background(self) -> bool:
        """Report whether background scans meet them: Kyverno scans objects as if just created."""
        return "CREATE" in self.allowed


def blocks_of(body: Json) -> Blocks:
    """Return conditions as blocks; raises `ConditionsMalformed`."""
    parsed = parse_conditions(body)
    return Blocks(None, parsed.conditions) if isinstance(parsed, FlatList) else parsed


def operations_in(preconditions: Json) -> Operations:
    """Return what preconditions say of operations; raises `ConditionsMalformed`."""
    parsed = blocks_of(preconditions)
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


CONNECTED: Final = frozenset(("attach", "exec", "portforward", "proxy"))
"""The subresources that are asked for by a connection alone."""


def leaves_deletions_open(rule: Rule) -> bool:
    """Report whether a rule is asked about deletions only since it names no operations."""
    filters = (*rule.match.any, *rule.match.all) or (rule.match.direct,)
    is_named = all(resource_filter.operations for resource_filter in filters)
    subresources = {parse_kind_selector(kind).subresource for kind in rule.match.kinds}
    if subresources and subresources <= CONNECTED:
        return False
    return not is_named and not any("DELETE" in filter_.operations for filter_ in filters)


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
# A service account without a namespace is in the namespace of the binding.
_NAMES_USER: Final = """
    binding.?subjects.orValue([]).exists(subject,
        subject.kind == 'User' && subject.name == request.userInfo.?username.orValue('') ||
        subject.kind == 'Group' && subject.name in request.userInfo.?groups.orValue([]) ||
        subject.kind == 'ServiceAccount' && request.userInfo.?username.orValue('') ==
            'system:serviceaccount:' +
            subject.?namespace.orValue(binding.metadata.?namespace.orValue('')) +
            ':' + subject.name
    )
"""
_IS_BOUND: Final = (
    f"bindings.exists(binding, binding.roleRef.kind == kind && is_named && {_NAMES_USER})"
)
"""The test whether a binding gives a role to the user of a request."""
_ROLES: Final = (
    f"bindings.filter(binding, binding.roleRef.kind == kind && {_NAMES_USER}).map(binding, named)"
)
"""The roles that bindings give to the user of a request."""


def has_roles(block: ResourceFilter, facts: Facts) -> Iterator[Expr]:
    """Yield the tests whether a user has one of a filter's roles, and one of its cluster roles."""
    if block.roles:
        yield cel.any_of(
            _is_bound(_listed("rolebindings", namespace), "Role", names)
            for namespace, names in _by_namespace(block.roles).items()
        )
    if block.cluster_roles:
        yield _is_bound(_of_cluster(facts), "ClusterRole", block.cluster_roles)


def roles_of_user(facts: Facts) -> dict[str, Place]:
    """Return the places of the roles of a request's user, by their names in a request; a user
    without any has no list of them."""
    name = cel.path("binding", "roleRef", "name")
    scoped = cel.filled("binding.metadata.namespace + ':' + name", name=name)
    read = {
        "roles": (_listed("rolebindings", ""), "Role", scoped),
        "clusterRoles": (_of_cluster(facts), "ClusterRole", name),
    }
    lists = {
        key: cel.filled(_ROLES, bindings=bindings, kind=kind, named=named)
        for key, (bindings, kind, named) in read.items()
    }
    return {
        key: Place(
            cel.filled("optional.ofNonZeroValue(listed).value()", listed=list_),
            (),
            f"[]{TEXT}",
            given=cel.compare(">", cel.method(list_, "size"), 0),
        )
        for key, list_ in lists.items()
    }


def _by_namespace(roles: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the names of roles by their namespaces."""
    by_namespace: dict[str, list[str]] = {}
    for role in roles:
        namespace, colon, name = role.partition(":")
        if not (namespace and colon and name):
            raise NotConvertible(f"the role {role}, which names no namespace", "match")
        by_namespace.setdefault(namespace, []).append(name)
    return by_namespace


def _of_cluster(facts: Facts) -> Expr:
    """Return the bindings that may give a cluster role: of the cluster, and of the namespace."""
    everywhere = _listed("clusterrolebindings", "")
    here = _listed("rolebindings", facts.own_namespace)
    if facts.outside:
        return everywhere
    if not facts.namespaced:
        here = cel.filled("ns == '' ? [] : here", ns=facts.own_namespace, here=here)
    return cel.compare("+", everywhere, here)


def _listed(plural: str, namespace: Operand) -> Expr:
    template = f"dyn(resource.List('{API_VERSION}', '{plural}', ns)).items"
    return cel.filled(template, ns=namespace)


def _is_bound(bindings: Expr, kind: str, names: Sequence[str]) -> Expr:
    """Report whether one of several bindings gives the user a role."""
    name = cel.path("binding", "roleRef", "name")
    # Kyverno takes wildcards in the names of roles literally.
    is_named = (
        cel.equal(name, names[0]) if len(names) == 1 else cel.contains(cel.list_of(names), name)
    )
    return cel.filled(_IS_BOUND, bindings=bindings, kind=kind, is_named=is_named)

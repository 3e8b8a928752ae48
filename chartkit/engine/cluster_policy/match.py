"""Match and exclude: whether a rule applies to a request.

Checks of the kind alone run once per kind (`bind`), the others once per resource. The semantics
follow Kyverno's `MatchesResourceDescription`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from chartkit.engine.cluster_policy.policy import Match, ResourceFilter, Subject
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.request import Request, User
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import FieldPath, coerced_texts, mapping_at, text_of
from chartkit.schemas.kind_selectors import parse_kind_selector

if TYPE_CHECKING:
    from chartkit.engine.kubernetes.selectors import LabelSelector


class Facts:
    """The facts of a request that match and exclude need; read once per request, on demand."""

    def __init__(self, request: Request) -> None:
        self.kind = request.resource.kind
        self.namespace = request.resource.namespace
        self.operation = str(request.operation)
        self.namespace_labels = request.namespace_labels
        self.user = request.user
        self._metadata = mapping_at(request.resource.body, "metadata")

    @cached_property
    def own_name(self) -> str:
        """The object's name; empty if it is not generated yet."""
        return text_of(self._metadata.get("name"))

    @cached_property
    def name(self) -> str:
        """The object's name, or its `generateName`."""
        return self.own_name or text_of(self._metadata.get("generateName"))

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The object's labels."""
        return coerced_texts(self._metadata.get("labels"))

    @cached_property
    def annotations(self) -> Mapping[str, str]:
        """The object's annotations."""
        return coerced_texts(self._metadata.get("annotations"))


Predicate = Callable[[Facts], bool]


def always(_facts: Facts) -> bool:
    """The predicate of a rule that its kind alone decides."""
    return True


def never(_facts: Facts) -> bool:
    """The predicate of a rule for other kinds."""
    return False


_POD: Final = GroupVersionKind("", "v1", "Pod")


@lru_cache(maxsize=1_024)
def compile_kinds(kinds: tuple[str, ...]) -> Callable[[GroupVersionKind, str], bool]:
    """Return a test of kinds (and subresources, empty for none) against kind selectors."""
    selectors = [tuple(map(compile_wildcard, parse_kind_selector(kind))) for kind in kinds]

    def matches(kind: GroupVersionKind, subresource: str) -> bool:
        ephemeral = kind == _POD and subresource == "ephemeralcontainers"
        return any(
            group(kind.group)
            and version(kind.version)
            and name(kind.kind)
            and (ephemeral or sub(subresource))
            for group, version, name, sub in selectors
        )

    return matches


class Role(Enum):
    """The part of a policy that a filter stands in."""

    MATCH = auto()
    EXCLUDE = auto()
    EXCEPTION = auto()
    """Operations are not looked at, and the labels of a Namespace's own namespace neither."""


class FilterCheck(NamedTuple):
    """One check of a filter, which all have to hold. asked: a value of `Asked`; path: of its field
    in the filter."""

    asked: str
    path: FieldPath
    holds: Predicate


def bind_match(
    match: Match, exclude: Match | None, policy_namespace: str, kind: GroupVersionKind, sub: str
) -> Predicate | None:
    """The remaining conditions for an object of this kind; None if the rule never matches it."""
    wanted = _bind(match, Role.MATCH, kind, sub)
    if wanted is None:
        return None
    unwanted = None if exclude is None else _bind(exclude, Role.EXCLUDE, kind, sub)
    if unwanted is always:
        return None
    parts = [wanted] if wanted is not always else []
    if policy_namespace:
        parts.insert(0, lambda facts: facts.namespace == policy_namespace)
    if unwanted is not None:
        excluded = unwanted
        parts.append(lambda facts: not excluded(facts))
    return _all_of(parts)


def bind_exception(match: Match, kind: GroupVersionKind, sub: str) -> Predicate | None:
    """As `bind_match`, with the rules for a PolicyException: operations are not looked at, and
    a user that is not known fits no filter that names one."""
    if not (match.any or match.all):
        return None
    return _bind(match, Role.EXCEPTION, kind, sub)


def _bind(block: Match, role: Role, kind: GroupVersionKind, sub: str) -> Predicate | None:
    if block.any:
        parts = [_bind_filter(resource_filter, role, kind, sub) for resource_filter in block.any]
        live = [part for part in parts if part is not None]
        if not live:
            return None
        if always in live:
            return always
        if len(live) == 1:
            return live[0]
        return lambda facts: any(part(facts) for part in live)
    if block.all:
        parts = [_bind_filter(resource_filter, role, kind, sub) for resource_filter in block.all]
        live = [part for part in parts if part is not None]
        return _all_of(live) if len(live) == len(parts) else None
    return _bind_filter(block.direct, role, kind, sub)


def _bind_filter(
    resource_filter: ResourceFilter, role: Role, kind: GroupVersionKind, sub: str
) -> Predicate | None:
    parts: list[Predicate] = []
    for check in filter_checks(resource_filter, role, kind, sub):
        if check.holds is never:
            return None
        parts.append(check.holds)
    return _all_of(parts)


def filter_checks(
    block: ResourceFilter, role: Role, kind: GroupVersionKind, sub: str
) -> Iterator[FilterCheck]:
    """Yield the checks of a filter for objects of a kind, in their order. A check of the kind alone
    is `always` or `never`."""
    described = bool(
        block.kinds
        or block.name
        or block.names
        or block.namespaces
        or block.annotations
        or block.selector is not None
        or block.namespace_selector is not None
        or block.operations
    )
    has_user = bool(block.roles or block.cluster_roles or block.subjects)
    if not (described or has_user or (block.has_user and role is not Role.EXCEPTION)):
        yield FilterCheck("filter", (), never)
        return
    if block.kinds:
        holds: Predicate = always if compile_kinds(block.kinds)(kind, sub) else never
        yield FilterCheck("kind", (_RESOURCES, "kinds"), holds)
    if block.operations and role is not Role.EXCEPTION:
        operations = frozenset(block.operations)
        yield FilterCheck(
            "operation", (_RESOURCES, "operations"), lambda facts: facts.operation in operations
        )
    for key, names in (("name", (block.name,) if block.name else ()), ("names", block.names)):
        if names:
            yield FilterCheck("name", (_RESOURCES, key), _named(names))
    if block.namespaces:
        holds = _in_namespaces(block.namespaces)
        yield FilterCheck("namespace", (_RESOURCES, "namespaces"), holds)
    if block.annotations:
        holds = _annotated(block.annotations)
        yield FilterCheck("annotations", (_RESOURCES, "annotations"), holds)
    if block.selector is not None:
        holds = _labelled(block.selector)
        yield FilterCheck("labels", (_RESOURCES, "selector"), holds)
    if block.namespace_selector is not None and (role is not Role.EXCEPTION or not _is_own(kind)):
        holds = _of_namespace_labels(block.namespace_selector, kind)
        yield FilterCheck("namespaceLabels", (_RESOURCES, "namespaceSelector"), holds)
    if block.has_user:
        key = "roles" if block.roles else "clusterRoles" if block.cluster_roles else "subjects"
        yield FilterCheck("user", (key,), _of_user(block, role, described))


_NOBODY: Final = User()
_NAMESPACE: Final = "Namespace"
_RESOURCES: Final = "resources"


def _is_own(kind: GroupVersionKind) -> bool:
    return kind.kind == _NAMESPACE


def _of_namespace_labels(selector: LabelSelector, kind: GroupVersionKind) -> Predicate:
    from chartkit.engine.kubernetes.selectors import compile_selector

    if _is_own(kind):
        return never
    if not kind.kind:
        return always
    labelled = compile_selector(selector)
    return lambda facts: labelled(facts.namespace_labels)


def _of_user(resource_filter: ResourceFilter, role: Role, described: bool) -> Predicate:
    """If the user is unknown, a match ignores its conditions on users."""
    asked = compile_user(resource_filter)
    if role is Role.MATCH:
        return lambda facts: described if facts.user is None else asked(facts.user)
    return lambda facts: asked(facts.user or _NOBODY)


def _labelled(selector: LabelSelector) -> Predicate:
    from chartkit.engine.kubernetes.selectors import compile_selector

    selected = compile_selector(selector)
    return lambda facts: selected(facts.labels)


def _named(names: tuple[str, ...]) -> Predicate:
    tests = [compile_wildcard(name) for name in names]
    return lambda facts: any(test(facts.name) for test in tests)


def _in_namespaces(namespaces: tuple[str, ...]) -> Predicate:
    tests = [compile_wildcard(name) for name in namespaces]

    def matches(facts: Facts) -> bool:
        namespace = facts.own_name if facts.kind == _NAMESPACE else facts.namespace
        return any(test(namespace) for test in tests)

    return matches


def _annotated(annotations: Mapping[str, str]) -> Predicate:
    wanted = [(compile_wildcard(key), compile_wildcard(text)) for key, text in annotations.items()]

    def matches(facts: Facts) -> bool:
        there = facts.annotations
        return all(
            any(key(name) and text(value) for name, value in there.items()) for key, text in wanted
        )

    return matches


def compile_user(block: ResourceFilter) -> Callable[[User], bool]:
    """Return a test of users: one of the roles and cluster roles, and one of the subjects."""
    roles, cluster_roles = frozenset(block.roles), frozenset(block.cluster_roles)
    subjects = [_compile_subject(subject) for subject in block.subjects]

    def matches(user: User) -> bool:
        if roles and roles.isdisjoint(user.roles):
            return False
        if cluster_roles and cluster_roles.isdisjoint(user.cluster_roles):
            return False
        return not subjects or any(test(user) for test in subjects)

    return matches


def _compile_subject(subject: Subject) -> Callable[[User], bool]:
    if subject.kind == "ServiceAccount":
        account = compile_wildcard(f"system:serviceaccount:{subject.namespace}:{subject.name}")
        return lambda user: account(user.name)
    named = compile_wildcard(subject.name)
    if subject.kind == "Group":
        return lambda user: any(named(group) for group in user.groups)
    if subject.kind == "User":
        return lambda user: named(user.name)
    return lambda _user: False


def _all_of(parts: list[Predicate]) -> Predicate:
    parts = [part for part in parts if part is not always]
    if not parts:
        return always
    if len(parts) == 1:
        return parts[0]
    return lambda facts: all(part(facts) for part in parts)


_ANY = "*"


def matched_fields(
    match: Match, facts: Facts, kind: GroupVersionKind, sub: str
) -> Iterator[FieldPath]:
    """Yield the fields that the matching filters look at; the kind alone yields no field."""
    direct = () if match.any or match.all else (match.direct,)
    for resource_filter in (*match.any, *match.all, *direct):
        matches = bind_match(Match(direct=resource_filter), None, "", kind, sub)
        if matches is not None and matches(facts):
            yield from _of_filter(resource_filter, facts, kind)


def _of_filter(block: ResourceFilter, facts: Facts, kind: GroupVersionKind) -> Iterator[FieldPath]:
    if block.name or block.names:
        yield ("metadata", "name")
    if block.namespaces:
        yield ("metadata", "name" if facts.kind == "Namespace" else "namespace")
    for pattern in block.annotations or ():
        fits = compile_wildcard(pattern)
        yield from (("metadata", "annotations", key) for key in facts.annotations if fits(key))
    if block.selector is not None:
        keys = (*dict(block.selector.labels), *(term.key for term in block.selector.expressions))
        yield from (("metadata", "labels", *(() if has_wildcard(key) else (key,))) for key in keys)
    for _group, version, name, _sub in map(parse_kind_selector, block.kinds):
        if version not in (_ANY, "") and compile_wildcard(name)(kind.kind):
            yield ("apiVersion",)
            return

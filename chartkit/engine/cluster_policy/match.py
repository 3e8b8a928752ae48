"""Match and exclude: whether a rule speaks of a request.

What the kind alone decides is decided once per kind (`bind`); what is left runs per resource.
The semantics are those of Kyverno's `MatchesResourceDescription`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final

from chartkit.engine.cluster_policy.policy import Match, ResourceFilter, Subject
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.kubernetes.selectors import compile_selector
from chartkit.engine.ports.services import coerced_texts
from chartkit.engine.request import Request, User
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Body, FieldPath, text_of
from chartkit.schemas.kind_selectors import parse_kind_selector


class Facts:
    """The facts of a request that match and exclude need; read once per request, on demand."""

    def __init__(self, request: Request) -> None:
        self.kind = request.resource.kind
        self.namespace = request.resource.namespace
        self.operation = str(request.operation)
        self.namespace_labels = request.namespace_labels
        self.user = request.user
        metadata = request.resource.body.get("metadata")
        self._metadata: Body = metadata if isinstance(metadata, dict) else {}

    @cached_property
    def own_name(self) -> str:
        """The object's name; empty where it is still to be made."""
        return text_of(self._metadata.get("name"))

    @cached_property
    def name(self) -> str:
        """The object's name, or what its name is to be made from."""
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
    """The predicate of a rule whose kinds are others."""
    return False


_POD: Final = GroupVersionKind("", "v1", "Pod")


@lru_cache(maxsize=1_024)
def compile_kinds(kinds: tuple[str, ...]) -> Callable[[GroupVersionKind, str], bool]:
    """Return a test whether a kind (and a subresource, empty for none) is among kind selectors."""
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


def bind_match(
    match: Match, exclude: Match | None, policy_namespace: str, kind: GroupVersionKind, sub: str
) -> Predicate | None:
    """Return the remaining conditions for an object of this kind; None if the rule never matches
    it."""
    wanted = _bind(match, _bind_wanted, kind, sub)
    if wanted is None:
        return None
    unwanted = None if exclude is None else _bind(exclude, _bind_filter, kind, sub)
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
    return _bind(match, _bind_exception_filter, kind, sub)


_Bind = Callable[[ResourceFilter, GroupVersionKind, str], Predicate | None]


def _bind(block: Match, bind: _Bind, kind: GroupVersionKind, sub: str) -> Predicate | None:
    if block.any:
        parts = [bind(resource_filter, kind, sub) for resource_filter in block.any]
        live = [part for part in parts if part is not None]
        if not live:
            return None
        if always in live:
            return always
        if len(live) == 1:
            return live[0]
        return lambda facts: any(part(facts) for part in live)
    if block.all:
        parts = [bind(resource_filter, kind, sub) for resource_filter in block.all]
        live = [part for part in parts if part is not None]
        return _all_of(live) if len(live) == len(parts) else None
    return bind(block.direct, kind, sub)


def _bind_wanted(one: ResourceFilter, kind: GroupVersionKind, sub: str) -> Predicate | None:
    """A match's filter: without a known user it forgets what it says of users."""
    if not one.has_user:
        return _bind_filter(one, kind, sub)
    described = _describes(one)
    resource = _bind_description(one, kind, sub)
    if resource is None:
        return None
    asked = compile_user(one)

    def matches(facts: Facts) -> bool:
        if facts.user is None:
            return described and resource(facts)
        return resource(facts) and asked(facts.user)

    return matches


def _bind_filter(one: ResourceFilter, kind: GroupVersionKind, sub: str) -> Predicate | None:
    if not (one.has_user or _describes(one)):
        return None
    resource = _bind_description(one, kind, sub)
    if resource is None or not one.has_user:
        return resource
    asked = compile_user(one)
    return _all_of([resource, lambda facts: asked(facts.user or _NOBODY)])


def _bind_exception_filter(
    one: ResourceFilter, kind: GroupVersionKind, sub: str
) -> Predicate | None:
    if not (one.has_user or _describes(one)):
        return None
    if one.kinds and not compile_kinds(one.kinds)(kind, sub):
        return None
    parts = _description_parts(one)
    if one.namespace_selector is not None and kind.kind and kind.kind != _NAMESPACE:
        labelled = compile_selector(one.namespace_selector)
        parts.append(lambda facts: labelled(facts.namespace_labels))
    if one.has_user:
        asked = compile_user(one)
        parts.append(lambda facts: asked(facts.user or _NOBODY))
    return _all_of(parts)


_NOBODY: Final = User()
_NAMESPACE: Final = "Namespace"


def _describes(one: ResourceFilter) -> bool:
    return bool(
        one.kinds
        or one.name
        or one.names
        or one.namespaces
        or one.annotations
        or one.selector is not None
        or one.namespace_selector is not None
        or one.operations
    )


def _bind_description(one: ResourceFilter, kind: GroupVersionKind, sub: str) -> Predicate | None:
    if one.kinds and not compile_kinds(one.kinds)(kind, sub):
        return None
    parts = _description_parts(one)
    if one.operations:
        operations = frozenset(one.operations)
        parts.insert(0, lambda facts: facts.operation in operations)
    if one.namespace_selector is not None:
        if kind.kind == _NAMESPACE:
            return None
        if kind.kind:
            labelled = compile_selector(one.namespace_selector)
            parts.append(lambda facts: labelled(facts.namespace_labels))
    return _all_of(parts)


def _description_parts(one: ResourceFilter) -> list[Predicate]:
    parts: list[Predicate] = []
    if one.name:
        parts.append(_named((one.name,)))
    if one.names:
        parts.append(_named(one.names))
    if one.namespaces:
        parts.append(_in_namespaces(one.namespaces))
    if one.annotations:
        parts.append(_annotated(one.annotations))
    if one.selector is not None:
        selected = compile_selector(one.selector)
        parts.append(lambda facts: selected(facts.labels))
    return parts


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


def compile_user(one: ResourceFilter) -> Callable[[User], bool]:
    """Return a test whether a user has one of the roles and cluster roles and is one of the
    subjects."""
    roles, cluster_roles = frozenset(one.roles), frozenset(one.cluster_roles)
    subjects = [_compile_subject(subject) for subject in one.subjects]

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
    """Yield the fields that the filters which take an object look at; its kind alone is none."""
    direct = () if match.any or match.all else (match.direct,)
    for each in (*match.any, *match.all, *direct):
        matches = bind_match(Match(direct=each), None, "", kind, sub)
        if matches is not None and matches(facts):
            yield from _of_filter(each, facts, kind)


def _of_filter(one: ResourceFilter, facts: Facts, kind: GroupVersionKind) -> Iterator[FieldPath]:
    if one.name or one.names:
        yield ("metadata", "name")
    if one.namespaces:
        yield ("metadata", "name" if facts.kind == "Namespace" else "namespace")
    for pattern in one.annotations or ():
        fits = compile_wildcard(pattern)
        yield from (("metadata", "annotations", key) for key in facts.annotations if fits(key))
    if one.selector is not None:
        keys = (*dict(one.selector.labels), *(each.key for each in one.selector.expressions))
        yield from (("metadata", "labels", *(() if has_wildcard(key) else (key,))) for key in keys)
    if any(_names_version(each, kind) for each in one.kinds):
        yield ("apiVersion",)


def _names_version(selector: str, kind: GroupVersionKind) -> bool:
    _group, version, name, _sub = parse_kind_selector(selector)
    return version not in (_ANY, "") and compile_wildcard(name)(kind.kind)

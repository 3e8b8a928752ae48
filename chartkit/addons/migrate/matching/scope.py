"""The objects and requests that a rule is about: match and exclude as the new types have them.

Kinds and operations become match constraints, everything else a match condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import TEXT, Place, object_of
from chartkit.addons.migrate.expressions.presence import fits, fits_any
from chartkit.addons.migrate.jmespath import Constant, Names, Term, Value
from chartkit.addons.migrate.jmespath.lists import LISTS, Images
from chartkit.addons.migrate.jmespath.terms import Members
from chartkit.addons.migrate.matching.facts import (
    CONNECTED,
    NAMESPACE,
    Facts,
    ObjectFacts,
    has_roles,
    judged_object,
    roles_of_user,
)
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.policy import Match, ResourceFilter, Rule, Subject
from chartkit.engine.kubernetes.field_faults import known_kinds
from chartkit.engine.kubernetes.kinds import (
    POD_SPECS,
    GroupVersionKind,
    is_cluster_scoped,
    resource_name,
)
from chartkit.engine.kubernetes.selectors import LabelSelector, Requirement, selector_problem
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.model import Body
from chartkit.schemas.kind_selectors import parse_kind_selector

WRITES: Final = ("CREATE", "UPDATE")
_CONNECT: Final = "CONNECT"
_ANY: Final = "*"
_WHOLE: Final = frozenset(("ephemeralcontainers", "resize", "status"))
"""Subresources whose requests carry the object as a whole."""
_ONE_VERSION: Final = ("", "apps")
_VERSION: Final = "request.object.apiVersion"
_ACCOUNT: Final = "system:serviceaccount"


@dataclass(frozen=True, slots=True)
class Condition:
    """A match condition; expression: a tree, or the text of one that was CEL."""

    name: str
    expression: Expr | str


@dataclass(frozen=True, slots=True)
class Scope:
    """The requests that a rule is about.

    constraints: `matchConstraints`; kinds: Kubernetes' own among the kinds, empty where another
    may come; object: the place of the object; carried: the kinds of the objects that requests
    carry, those of subresources such as Pod/ephemeralcontainers among them.
    """

    constraints: Body
    conditions: tuple[Condition, ...]
    kinds: tuple[GroupVersionKind, ...]
    object: Place
    carried: tuple[GroupVersionKind, ...] = ()

    @property
    def is_namespaced(self) -> bool:
        """Report whether every object that it is about is in a namespace."""
        return bool(self.kinds) and not any(map(is_cluster_scoped, self.kinds))

    @property
    def about_pods(self) -> bool:
        """Report whether it is about Pods alone, so that Kyverno extends it to controllers."""
        return self.kinds == (_POD,)


_POD: Final = GroupVersionKind("", "v1", "Pod")


def scope_of(rule: Rule, operations: Sequence[str] = WRITES) -> Scope:
    """Return the scope of a rule; operations: of a rule that names none.

    Raises `NotConvertible`.
    """
    match = rule.match
    if match.any and (match.all or match.direct != ResourceFilter()):
        raise NotConvertible("a match with filters in several places", "match")
    named = _operations(_filters(match), operations)
    return _scope(match, rule.exclude, named, Facts, _VERSION in str(rule.body))


def written_or_connected(rule: Rule, allowed: Sequence[str]) -> list[str]:
    """Return the operations of some at which objects are written, or subresources are connected
    to."""
    subresources = {parse_kind_selector(kind).subresource for kind in rule.match.kinds}
    writes = WRITES if not subresources or subresources - CONNECTED else ()
    connects = (_CONNECT,) if subresources & CONNECTED else ()
    return [name for name in allowed if name in (*writes, *connects)]


def about_deletions(rule: Rule) -> Rule:
    """Return a rule that names the operations about which it is asked, deletions among them."""

    def named(resource_filter: ResourceFilter) -> ResourceFilter:
        operations = resource_filter.operations or (*WRITES, "DELETE")
        return resource_filter._replace(operations=operations)

    match = rule.match
    if match.any or match.all:
        match = replace(match, any=tuple(map(named, match.any)), all=tuple(map(named, match.all)))
    else:
        match = replace(match, direct=named(match.direct))
    return replace(rule, match=match)


def scope_of_objects(match: Match, exclude: Match | None) -> Scope:
    """Return the scope of a policy about existing objects, whatever created them.

    Raises `NotConvertible`.
    """
    matched = (*match.any, *match.all)
    for block, place in ((match, "match"), (exclude, "exclude")):
        filters = (*block.any, *block.all) if block is not None else ()
        if any(resource_filter.has_user for resource_filter in filters):
            raise NotConvertible(
                "it names users, and a deletion by a cleanup policy has none", place
            )
        if any(resource_filter.namespace_selector is not None for resource_filter in filters):
            named = filters if all(filter_.kinds for filter_ in filters) else matched
            if not Facts(known=_Kinds(named).known).namespaced:
                raise NotConvertible(
                    "a namespaceSelector for kinds that may be cluster-scoped", place
                )
    if exclude is not None and not (exclude.any or exclude.all):
        raise NotConvertible("it excludes everything", "exclude")
    blocks = [None if block is None else _of_any_operation(block) for block in (match, exclude)]
    return _scope(blocks[0] or match, blocks[1], [_ANY], ObjectFacts)


def _of_any_operation(match: Match) -> Match:
    """Return a match without operations, which are not asked of objects that are there."""
    any_, all_ = (
        tuple(resource_filter._replace(operations=()) for resource_filter in filters)
        for filters in (match.any, match.all)
    )
    return replace(match, any=any_, all=all_)


def _scope(
    match: Match,
    exclude: Match | None,
    operations: list[str],
    facts_of: type[Facts],
    reads_version: bool = False,
) -> Scope:
    filters = _filters(match)
    if len({resource_filter.kinds for resource_filter in match.all}) > 1:
        raise NotConvertible("a match of several kinds at once", "match")
    kinds = _Kinds(filters if not match.all else filters[:1], reads_version)
    facts = facts_of(kinds.named, kinds.known, judged_object(operations))
    conditions: list[Condition] = []
    matched = _matched(match, filters, facts)
    if matched != cel.TRUE:
        conditions.append(Condition("match", matched))
    if exclude is not None:
        excluded = _joined(exclude, facts)
        if excluded == cel.TRUE:
            raise NotConvertible("the rule excludes everything that it matches", "exclude")
        if excluded != cel.FALSE:
            conditions.append(Condition("exclude", cel.negate(excluded)))
    selector = _native_selector(filters)
    constraints: Body = {"resourceRules": kinds.rules(operations)}
    if selector is not None:
        constraints["namespaceSelector"] = selector
    carried = kinds.carried
    return Scope(constraints, tuple(conditions), kinds.known, object_of(carried), carried)


def excepted(match: Match, kinds: Sequence[GroupVersionKind]) -> Expr:
    """Report whether an exception's match takes a request about one of several kinds, none for any;
    false where it takes none. Raises `NotConvertible`."""
    facts = Facts(known=tuple(kinds))
    filters = [filter_ for filter_ in (*match.any, *match.all) if filter_ != ResourceFilter()]
    if any(resource_filter.roles or resource_filter.cluster_roles for resource_filter in filters):
        raise NotConvertible("the roles of a user, which an exception cannot ask for", "match")
    if any(filter_.namespace_selector for filter_ in filters) and facts.has_namespaces:
        raise NotConvertible("labels of namespaces, where Namespaces are among the kinds", "match")
    if not filters or (match.all and len(filters) < len(match.all) and not match.any):
        return cel.FALSE
    tests = [filter_test(filter_, facts, kinds=True, operations=False) for filter_ in filters]
    if match.any or not match.all:
        return cel.TRUE if cel.TRUE in tests else cel.any_of(tests)
    return cel.all_of(test for test in tests if test != cel.TRUE)


def operations_of(scope: Scope) -> frozenset[str]:
    """Return the operations that a scope's constraints name."""
    return frozenset(
        name for rule in scope.constraints["resourceRules"] for name in rule["operations"]
    )


def _filters(match: Match) -> tuple[ResourceFilter, ...]:
    return match.any or match.all or (match.direct,)


def _operations(filters: Iterable[ResourceFilter], default: Sequence[str]) -> list[str]:
    filters = list(filters)
    named = list(dict.fromkeys(name for filter_ in filters for name in filter_.operations))
    if all(resource_filter.operations for resource_filter in filters):
        return named
    return list(dict.fromkeys((*default, *named)))


class _Kinds:
    """The kinds that filters name; reads_version: whether the rule reads the version of objects,
    so that versions count which Kubernetes no longer has."""

    def __init__(self, filters: Sequence[ResourceFilter], reads_version: bool = False) -> None:
        named = list(dict.fromkeys(kind for filter_ in filters for kind in filter_.kinds))
        self.named = frozenset(text for text in named if not _is_tested(text))
        if not named or not all(resource_filter.kinds for resource_filter in filters):
            raise NotConvertible("the match names no kinds", "match")
        self._found = [_kinds_of(text, reads_version) for text in named]
        everything = [kind for kinds in self._found for kind in kinds.kinds]
        self.carried = tuple(everything) if all(kinds.kinds for kinds in self._found) else ()
        is_part = any(parse_kind_selector(text).subresource for text in named)
        self.known = () if is_part else self.carried

    def rules(self, operations: list[str]) -> list[Body]:
        """Return the resource rules, a group and its versions each."""
        if not operations:
            raise NotConvertible("it names no operation that the new policy acts at", "match")
        grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for kinds in self._found:
            for group, versions, resource in kinds.resources:
                grouped.setdefault((group, versions), []).append(resource)
        return [
            {
                "apiGroups": [group],
                "apiVersions": list(versions),
                "operations": list(operations),
                "resources": list(dict.fromkeys(resources)),
            }
            for (group, versions), resources in grouped.items()
        ]


@dataclass(frozen=True, slots=True)
class _Found:
    """The meaning of a kind selector: resources, as (group, versions, resource), and the kinds;
    no kinds where they are not known."""

    resources: tuple[tuple[str, tuple[str, ...], str], ...]
    kinds: tuple[GroupVersionKind, ...]


def _kinds_of(text: str, reads_version: bool) -> _Found:
    group, version, kind, sub = parse_kind_selector(text)
    if _is_tested(text):
        # An API server knows no other wildcards: a condition tests both.
        group, version = (_ANY if has_wildcard(part) else part for part in (group, version))
        resources = _kinds_of(f"{group}/{version}/{kind}/{sub}", reads_version=True).resources
        return _Found(resources, ())
    if kind == _ANY:
        resource = f"{_ANY}/{sub}" if sub else _ANY
        return _Found(((group, (version,), resource),), ())
    if any(has_wildcard(part) for part in (kind, sub)):
        raise NotConvertible(f"a kind with wildcards, {text}, has no resource", "match")
    behind = f"/{sub}" if sub else ""
    served = [
        each
        for each in known_kinds()
        if each.kind == kind and group in (_ANY, each.group) and version in (_ANY, each.version)
    ]
    if not served:
        return _Found(((group, (version,), resource_name(kind) + behind),), ())
    resource = resource_name(kind) + behind
    kinds = () if sub and sub not in _WHOLE else tuple(served)
    by_group: dict[str, list[str]] = {}
    for known_kind in served:
        by_group.setdefault(known_kind.group, []).append(known_kind.version)
    if reads_version and group == _ANY and "" not in by_group:
        return _Found(((_ANY, (version,), resource),), kinds)
    resources = tuple(
        (name, _versions(name, version, versions), resource) for name, versions in by_group.items()
    )
    return _Found(resources, kinds)


def _is_tested(text: str) -> bool:
    """Report whether a selector has wildcards in its group or version besides `*`."""
    group, version, _, _ = parse_kind_selector(text)
    return any(has_wildcard(part) and part != _ANY for part in (group, version))


def _versions(group: str, asked: str, versions: Sequence[str]) -> tuple[str, ...]:
    """Return the versions of a group: any, where the rule names none and there were others."""
    return (_ANY,) if asked == _ANY and group not in _ONE_VERSION else tuple(versions)


def _matched(match: Match, filters: Sequence[ResourceFilter], facts: Facts) -> Expr:
    if _native_selector(filters) is not None:
        filters = [resource_filter._replace(namespace_selector=None) for resource_filter in filters]
    selectors = {resource_filter.kinds for resource_filter in filters}
    kinds = len(selectors) > 1 or any(map(_is_tested, next(iter(selectors))))
    operations = len({resource_filter.operations for resource_filter in filters}) > 1
    tests = [filter_test(filter_, facts, kinds=kinds, operations=operations) for filter_ in filters]
    if match.all:
        return cel.all_of(test for test in tests if test != cel.TRUE)
    return cel.TRUE if cel.TRUE in tests else cel.any_of(tests)


def _joined(exclude: Match, facts: Facts) -> Expr:
    filters = _filters(exclude)
    tests = [
        filter_test(resource_filter, facts, kinds=True, operations=True)
        for resource_filter in filters
        if resource_filter != ResourceFilter()
    ]
    if not tests:
        return cel.FALSE
    return cel.all_of(tests) if exclude.all else cel.any_of(tests)


def _native_selector(filters: Sequence[ResourceFilter]) -> Body | None:
    """Return the one namespace selector of a match that Kubernetes itself can have."""
    if len(filters) != 1 or filters[0].namespace_selector is None:
        return None
    selector = filters[0].namespace_selector
    texts = (*selector.labels, *selector.labels.values())
    if any(map(has_wildcard, texts)) or "Namespace" in filters[0].kinds:
        return None
    made: Body = {}
    if selector.labels:
        made["matchLabels"] = dict(selector.labels)
    if selector.expressions:
        made["matchExpressions"] = [
            {"key": expression.key, "operator": expression.operator}
            | ({"values": list(expression.values)} if expression.values else {})
            for expression in selector.expressions
        ]
    return made or None


def filter_test(block: ResourceFilter, facts: Facts, *, kinds: bool, operations: bool) -> Expr:
    """Return a filter as a test; kinds, operations: whether it says them or the constraints do."""
    tests: list[Expr] = []
    if kinds and block.kinds:
        tests.append(facts.is_kind(block.kinds))
    if operations and block.operations:
        tests.append(fits_any(cel.path("request", "operation"), block.operations))
    for names in ((block.name,) if block.name else (), block.names):
        if names:
            tests.append(fits_any(facts.name, names))
    if block.namespaces and facts.outside:
        return cel.FALSE
    if block.namespaces:
        tests.append(fits_any(facts.namespace, block.namespaces))
    for key, text in (block.annotations or {}).items():
        tests.append(_entry(facts.entries("annotations"), key, text))
    if block.selector is not None:
        tests.append(_selected(block.selector, facts.entries("labels")))
    if block.namespace_selector is not None:
        if facts.has_namespaces:
            tests.append(cel.not_equal(facts.kind, NAMESPACE))
        tests.append(cel.filled("namespaceObject != null"))
        labels = Place(cel.ident("namespaceObject"), ("metadata", "labels"), "{}string")
        tests.append(_selected(block.namespace_selector, labels))
    if block.subjects:
        tests.append(cel.any_of(map(_is_subject, block.subjects)))
    tests += has_roles(block, facts)
    return cel.all_of(test for test in tests if test != cel.TRUE)


def _entry(entries: Place, key: str, text: str) -> Expr:
    """Report whether a map has an entry, with wildcards in both."""
    if not has_wildcard(key):
        if not text.strip(_ANY) and has_wildcard(text):
            return entries.child(key).is_present()
        if has_wildcard(text):
            return cel.all_of(
                (entries.child(key).is_present(), fits(entries.child(key).value, text))
            )
        return cel.equal(entries.child(key).or_value(cel.NULL), text)
    inside = cel.index(entries.value, cel.ident("key"))
    test = cel.all_of((fits(cel.ident("key"), key), fits(inside, text)))
    return cel.macro(entries.or_value({}), "exists", "key", test)


def _selected(selector: LabelSelector, labels: Place) -> Expr:
    if selector_problem(LabelSelector(expressions=selector.expressions)):
        return cel.FALSE
    tests = [_entry(labels, key, text) for key, text in selector.labels.items()]
    tests += [_requires(requirement, labels) for requirement in selector.expressions]
    return cel.all_of(tests)


def _requires(requirement: Requirement, labels: Place) -> Expr:
    place = labels.child(requirement.key)
    if requirement.operator in ("Exists", "DoesNotExist"):
        present = place.is_present()
        return present if requirement.operator == "Exists" else cel.negate(present)
    among = cel.contains(cel.list_of(requirement.values), place.or_value(cel.NULL))
    return among if requirement.operator == "In" else cel.negate(among)


def _is_subject(subject: Subject) -> Expr:
    # A background scan has no user.
    name = cel.or_value(cel.optional_field(cel.path("request", "userInfo"), "username"), "")
    if subject.kind == "ServiceAccount":
        return fits(name, f"{_ACCOUNT}:{subject.namespace}:{subject.name}")
    if subject.kind == "Group":
        groups = cel.or_value(cel.optional_field(cel.path("request", "userInfo"), "groups"), [])
        if not has_wildcard(subject.name):
            return cel.contains(groups, subject.name)
        return cel.macro(groups, "exists", "group", fits(cel.ident("group"), subject.name))
    return fits(name, subject.name) if subject.kind == "User" else cel.FALSE


def _namespace(namespace: Place, scope: Scope) -> Place:
    """Return the namespace of a request, which is empty for Kyverno where there is none."""
    resources = (rule["resources"] for rule in scope.constraints["resourceRules"])
    if [_ANY] in resources or any(map(is_cluster_scoped, scope.kinds)):
        return Place(namespace.or_value(""), (), TEXT)
    return namespace.settled() if scope.is_namespaced else namespace


def names_of(scope: Scope, *, is_extended: bool = True) -> Names:
    """Return the names of a rule about a scope; context entries come on top.

    is_extended: whether Kyverno extends a rule about Pods to their controllers.
    """
    is_extended = is_extended and scope.about_pods
    request = cel.ident("request")
    user = cel.path(request, "userInfo")
    old = replace(scope.object, root=cel.ident("oldObject"))
    operations = operations_of(scope)
    if not operations <= {"UPDATE", "DELETE"}:
        old = replace(old, whole=False)
    judged = scope.object
    if "DELETE" in operations:
        # Of a deletion, Kyverno calls the object that goes `request.object`.
        if is_extended:
            raise NotConvertible("a rule about the deletion of Pods, extended to controllers")
        judged = replace(judged, root=judged_object(operations))
    operation = cel.path(request, "operation")
    places = {
        "object": judged,
        "namespace": _namespace(Place(request, ("namespace",), TEXT), scope),
        "operation": Place(operation, (), TEXT, among=tuple(sorted(operations))),
        "userInfo": Place(user, (), "authentication.v1.UserInfo"),
        "dryRun": Place(request, ("dryRun",), "bool"),
        **{field: Place(request, (field,), TEXT) for field in _NAMES},
        **roles_of_user(Facts(known=scope.kinds)),
    }
    if old.whole or not is_extended:
        # Kyverno's extension to controllers knows `oldObject.spec`, and no `oldObject.?spec`.
        places["oldObject"] = old
    terms: dict[str, Term] = {field: Value(place) for field, place in places.items()}
    terms |= {field: Constant(Members(_parts(field))) for field in _KINDS}
    account = cel.call("parseServiceAccount", cel.path(user, "username"))
    accounts = {
        "serviceAccountName": Value(Place(cel.path(account, "Name"), (), TEXT)),
        "serviceAccountNamespace": Value(Place(cel.path(account, "Namespace"), (), TEXT)),
    }
    objects: dict[tuple[str, ...], Term] = {("request", key): term for key, term in terms.items()}
    return Names(objects, {**accounts, **_images(judged, scope)})


_KINDS: Final = ("kind", "requestKind", "requestResource", "resource")
_NAMES: Final = ("name", "requestSubResource", "subResource")


def _parts(field: str) -> dict[str, Term]:
    """Return the parts of a kind or a resource that a request names."""
    parts = ("group", "version", "kind" if field.endswith("ind") else "resource")
    return {part: Value(Place(cel.path("request", field, part), (), TEXT)) for part in parts}


def _images(judged: Place, scope: Scope) -> dict[str, Term]:
    """Return the images of the containers of Pods, or of the templates of one kind of them."""
    paths = {"spec" if kind.kind == "Pod" else POD_SPECS.get(kind.kind) for kind in scope.carried}
    path = paths.pop() if len(paths) == 1 else None
    if path is None or "DELETE" in operations_of(scope):
        return {}
    spec = judged
    for step in path.split("."):
        spec = spec.child(step)
    lists: dict[str, Term] = {key: Constant(Images(spec.child(key))) for key in LISTS}
    return {"images": Constant(Members(lists))}

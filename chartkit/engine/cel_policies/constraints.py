"""Match constraints, as an API server decides them for its webhooks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from chartkit.engine.cel_policies.policy import MatchConstraints, ResourceRule
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.kubernetes.selectors import (
    Labelled,
    LabelSelector,
    compile_selector,
    selector_problem,
)
from chartkit.engine.request import Operation
from chartkit.errors import EvaluationError

_ANY: Final = "*"


class Constraints:
    """Compiled match constraints; what depends on the kind of request alone is remembered."""

    __slots__ = (
        "_excluded",
        "_kinds",
        "_namespaces",
        "_objects",
        "_rules",
        "_selects_nothing",
        "source",
    )

    def __init__(self, constraints: MatchConstraints, *, selects_nothing: bool = True) -> None:
        """selects_nothing: whether an object selector may take the labels that an object which is
        not there does not have, as for Kyverno's own kinds."""
        self.source = constraints
        self._selects_nothing = selects_nothing
        self._rules = constraints.rules
        self._excluded = constraints.excluded
        self._namespaces = _Selector(constraints.namespace_selector)
        self._objects = _Selector(constraints.object_selector)
        self._kinds: dict[tuple[str, ...], tuple[_RulesOfKind, _RulesOfKind]] = {}

    def match(self, request: Attributes) -> bool:
        """Report whether they match the request; raises EvaluationError for a selector that
        Kubernetes refuses, where all else fits."""
        if self.excluding(request) is not None:
            return False
        problem = self._namespaces.problem or self._objects.problem
        if problem:
            raise EvaluationError(f"Internal error occurred: {problem}")
        return True

    def excluding(self, request: Attributes) -> str | None:
        """Return the field that leaves a request out, None if all fit: `resourceRules`,
        `excludeResourceRules`, `namespaceSelector`, `objectSelector`."""
        rules, excluded = self._of_kind(request)
        if not rules.fits(request):
            return "resourceRules"
        if excluded.fits(request):
            return "excludeResourceRules"
        if not (self._namespaces.problem or self._in_namespace(request)):
            return "namespaceSelector"
        if not (self._objects.problem or self._with_labels(request)):
            return "objectSelector"
        return None

    def concern(self, request: Attributes) -> bool:
        """Report whether they match any request of the same kind (`kind_key`)."""
        return not self._of_kind(request)[0].is_empty

    def _of_kind(self, request: Attributes) -> tuple[_RulesOfKind, _RulesOfKind]:
        rules_of_kind = self._kinds.get(request.kind_key)
        if rules_of_kind is None:
            rules = _speaking(self._rules, request) if self._rules else _EVERYTHING
            rules_of_kind = rules, _speaking(self._excluded, request)
            self._kinds[request.kind_key] = rules_of_kind
        return rules_of_kind

    def _in_namespace(self, request: Attributes) -> bool:
        # What is outside namespaces, and is not a namespace itself, is never left out.
        if self._namespaces.fits is None or not (request.namespace or request.is_namespace):
            return True
        return self._namespaces.fits(labels_of_namespace(request))

    def _with_labels(self, request: Attributes) -> bool:
        fits = self._objects.fits
        if fits is None:
            return True
        objects = zip((request.object, request.old), request.labels, strict=True)
        return any(
            fits(labels) for body, labels in objects if body is not None or self._selects_nothing
        )


def of_any_operation(constraints: MatchConstraints) -> MatchConstraints:
    """Return the constraints for existing objects, without a creation or update."""
    rules = tuple(replace(rule, operations=(_ANY,)) for rule in constraints.rules)
    return replace(constraints, rules=rules)


def of_bound_policy(constraints: MatchConstraints) -> MatchConstraints:
    """The constraints of a policy that is bound: rules that name no operation speak of all, as in
    Kyverno's program; an API server takes none."""
    rules = (replace(rule, operations=rule.operations or (_ANY,)) for rule in constraints.rules)
    return replace(constraints, rules=tuple(rules))


def labels_of_namespace(request: Attributes) -> Mapping[str, str]:
    writes = request.operation in (Operation.CREATE, Operation.UPDATE)
    if request.is_namespace and not request.subresource and writes:
        return request.labels[0]
    return request.namespace_labels or {"kubernetes.io/metadata.name": request.namespace}


class _Selector:
    """A compiled selector; fits: None where it takes everything."""

    __slots__ = ("fits", "problem")

    def __init__(self, selector: LabelSelector | None) -> None:
        self.problem = ""
        self.fits: Labelled | None = None
        if selector is not None and (selector.labels or selector.expressions):
            self.problem = selector_problem(selector)
            self.fits = compile_selector(selector)


@dataclass(frozen=True, slots=True)
class _RulesOfKind:
    """The rules that speak of a kind of request, by the names that they are kept to; all: whether
    one of them is kept to none."""

    all: bool
    names: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not (self.all or self.names)

    def fits(self, request: Attributes) -> bool:
        # A name that is not asked for is not read: objects of other names share a verdict.
        return self.all or (bool(self.names) and is_named(self.names, request))


def is_named(names: Collection[str], request: Attributes) -> bool:
    """Report whether an object has, or will get, one of some names."""
    if request.name:
        return request.name in names
    return any(request.generate_name.startswith(name) for name in names)


_EVERYTHING: Final = _RulesOfKind(all=True)


def _speaking(rules: tuple[ResourceRule, ...], request: Attributes) -> _RulesOfKind:
    named = [rule.names for rule in rules if all(part.holds(rule, request) for part in RULE_PARTS)]
    return _RulesOfKind(not all(named), frozenset(name for names in named for name in names))


class RulePart(NamedTuple):
    """A field of a resource rule; holds: whether it takes a request."""

    field: str
    holds: Callable[[ResourceRule, Attributes], bool]


def _is_resource(rule: ResourceRule, request: Attributes) -> bool:
    for resource in rule.resources:
        name, _, subresource = resource.partition("/")
        if name in (_ANY, request.resource) and subresource in (_ANY, request.subresource):
            return True
    return False


def _one_of(items: tuple[str, ...], asked: str) -> bool:
    return _ANY in items or asked in items


def _in_scope(rule: ResourceRule, request: Attributes) -> bool:
    if rule.scope == "Namespaced":
        return not request.is_namespace and bool(request.namespace)
    if rule.scope == "Cluster":
        return request.is_namespace or not request.namespace
    return True


RULE_PARTS: Final = (
    RulePart("resources", _is_resource),
    RulePart("apiGroups", lambda rule, request: _one_of(rule.groups, request.group)),
    RulePart("apiVersions", lambda rule, request: _one_of(rule.versions, request.version)),
    RulePart("operations", lambda rule, request: _one_of(rule.operations, request.operation)),
    RulePart("scope", _in_scope),
)
"""The fields of a resource rule that the kind of a request decides."""

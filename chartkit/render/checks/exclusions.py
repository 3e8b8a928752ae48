"""Exclusions of a project: where each is written, which objects it leaves out, and the policies
without examples that match only objects which Kyverno is not sent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Final

from chartkit.engine import Reason, Request, RunnablePolicy
from chartkit.engine.cluster_policy.match import Facts, bind_match
from chartkit.engine.cluster_policy.policy import Policy, ResourceFilter, read_match
from chartkit.engine.configuration import (
    MATCH_CONDITIONS,
    NAME_LABEL,
    NAMESPACE_SELECTOR,
    RESOURCE_FILTERS,
)
from chartkit.engine.kubernetes.kinds import (
    GroupVersionKind,
    in_namespace,
    is_cluster_scoped,
    kind_of,
)
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.model import Body, Diagnostic, Json, Location, Resource, Severity, mapping_at
from chartkit.render.chart import CheckTarget
from chartkit.render.exceptions import CHECK, heeded
from chartkit.render.model import Outcome, Row, findings
from chartkit.scan.environment import Labels, configuration
from chartkit.scan.exceptions.model import EXPIRED, lifetime
from chartkit.scan.policies import PolicySet
from chartkit.schemas.kind_selectors import parse_kind_selector
from chartkit.wording import abridged

_CONFIG: Final = "config"
_OWN: Final = "excludeKyvernoNamespace"
_EXCLUDE: Final = "resourceFiltersExclude"
_INCLUDE: Final = "resourceFiltersInclude"
_NAMESPACES: Final = "resourceFiltersIncludeNamespaces"
_MILD: Final = {EXPIRED: Severity.WARNING}
_ANY: Final = "\uffff"
"""A name that only the patterns for every name match."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An exclusion as an environment has it.

    filters: as Kyverno's `exclude` has them, all of which must match; location: its line in
    chartkit.yaml, or in the values file where it was added by hand.
    """

    filters: Sequence[Body] = field(repr=False)
    location: Location

    def leaves_out(self, resource: Resource) -> bool:
        """Report whether an object's creation is left out."""
        given = in_namespace(resource)
        match = read_match({"all": list(self.filters)})
        matches = bind_match(match, None, "", kind_of(given), "")
        return matches is not None and matches(Facts(Request(given)))


class Exclusions:
    """The exclusions of one environment, from the values that Helm renders with."""

    def __init__(self, subject: CheckTarget) -> None:
        self._values = subject.policies.lint_subject()
        self._merged = self._values.values
        self._known: dict[str, Sequence[Exclusion]] = {}
        self._written = {
            name: (*subject.environment.exclude, *given.exclude)
            for name, given in (subject.resolved.policies if subject.resolved else {}).items()
        }

    def of(self, policy: str) -> Sequence[Exclusion]:
        """Return the exclusions of a policy: those for every policy first."""
        if policy not in self._known:
            own = ("policies", policy, "exclude")
            if not mapping_at(self._merged, own[0], policy, own[2]):
                own = ("policyExclude", policy, "")
            paths = [("exclude",), own if own[2] else own[:2]]
            written = self._written.get(policy, ())
            places = {repr(dict(item.resources)): item.location for item in written}
            exclusions: list[Exclusion] = []
            for path in paths:
                block: Json = self._merged
                for step in path:
                    block = mapping_at(block, step)
                for at, raw in enumerate(_items(block, "any")):
                    there = places.get(repr(raw.get("resources")))
                    location = there or self._values.locate((*path, "any", at))
                    exclusions.append(Exclusion((raw,), location))
                together = _items(block, "all")
                if together:
                    location = self._values.locate((*path, "all"))
                    exclusions.append(Exclusion(together, location))
            self._known[policy] = exclusions
        return self._known[policy]


def _items(block: Mapping[str, Json], key: str) -> list[Body]:
    return [item for item in block.get(key) or () if isinstance(item, dict)]


def asks_kyverno(policy: RunnablePolicy) -> bool:
    """Report whether Kyverno evaluates a policy, rather than the API server."""
    return not policy.runs_in_api_server


class Unsent:
    """The objects of one environment that are not sent to Kyverno, with the reasons and their
    locations.

    If the project does not install Kyverno, its configuration is unknown and every object counts as
    sent.
    """

    def __init__(self, subject: CheckTarget) -> None:
        rendered = subject.engine.rendered().resources if subject.engine is not None else ()
        self._configuration, self._namespace = configuration(rendered)
        self._values = subject.engine.lint_subject() if subject.engine is not None else None
        self._config = mapping_at(self._values.values, _CONFIG) if self._values is not None else {}

    def reasons(
        self, resource: Resource, labels: Labels, subresource: str = ""
    ) -> Sequence[Reason]:
        """Return the reasons why Kyverno is not sent an object when it is created; none if it is
        sent the object, or the Pods of a controller."""
        return self._configuration.unsent_with_pods(resource, labels, subresource)

    def filtered(self, resource: Resource) -> Sequence[Reason]:
        """Return the resource filters that also keep an object from cleanup policies."""
        return tuple(self._configuration.filtered(in_namespace(resource)))

    def locate(self, reason: Reason) -> Location | None:
        """Return the location of a reason in the values; None without values of Kyverno's chart."""
        if self._values is None:
            return None
        return self._values.locate((_CONFIG, *self._path(reason)))

    def remedy(self, reasons: Sequence[Reason]) -> str:
        """Return the values of Kyverno's chart that would undo reasons."""
        return " and ".join(dict.fromkeys(map(self._remedy, reasons)))

    def _remedy(self, reason: Reason) -> str:
        path = self._path(reason)
        if path == (_OWN,):
            return f"{_CONFIG}.{_OWN}: false"
        if reason.key == RESOURCE_FILTERS and path[0] == RESOURCE_FILTERS and len(path) > 1:
            if _EXCLUDE in self._config:
                return f"{_CONFIG}.{_EXCLUDE}: ['{reason.text}']"
            return f"{_CONFIG}.{RESOURCE_FILTERS} without {reason.text}"
        return f"{_CONFIG}.{'.'.join(map(str, path))} without {reason.text}"

    def _path(self, reason: Reason) -> tuple[str | int, ...]:
        """Return the path below `config` of a reason's value."""
        if reason.key == RESOURCE_FILTERS:
            text = reason.text
            for key in (RESOURCE_FILTERS, _INCLUDE):
                given = self._config.get(key)
                if isinstance(given, list) and text in given:
                    return key, given.index(text)
            listed = self._config.get(_NAMESPACES)
            for at, namespace in enumerate(listed if isinstance(listed, list) else ()):
                if text == f"[*/*,{namespace},*]":
                    return _NAMESPACES, at
            is_own = text == f"[*/*,{self._namespace},*]" and self._config.get(_OWN)
            return (_OWN,) if is_own else (RESOURCE_FILTERS,)
        added = f"{NAME_LABEL} NotIn [{self._namespace}]"
        if reason == Reason(NAMESPACE_SELECTOR, added) and self._config.get(_OWN):
            return (_OWN,)
        if reason.key == MATCH_CONDITIONS:
            return (MATCH_CONDITIONS,)
        return "webhooks", reason.key


def exceptions(subject: CheckTarget, today: date) -> Iterator[Row]:
    """Yield a row for each exception of chartkit.yaml, for those that Kyverno does not read, and
    for what the project wants of them. One that has ended fails nothing: time alone would."""
    env, shipped = subject.environment, subject.exceptions
    if env.exceptions and subject.resolved is None:
        message = "upstream's chart has no exceptions: those of chartkit.yaml are not installed"
        location = env.exceptions[0].location
        hint = "apply the files, or render chartkit's own chart"
        yield Row(env.name, CHECK, Outcome.WARNING, message, location, hint)
    yield from shipped.rows
    now, rules = datetime.combine(today, time.min, UTC), subject.project.exception_rules
    for exception in shipped.filed:
        diagnostics = lifetime(exception, rules, now, 0)
        mild = (replace(row, severity=_MILD.get(row.rule_id, row.severity)) for row in diagnostics)
        yield from findings(env.name, CHECK, mild, exception.resource.location)
    if not shipped.bodies:
        return
    if subject.engine is None:
        namespaces = abridged(sorted(shipped.namespaces))
        message = f"another chart installs Kyverno: it has to read exceptions in {namespaces}"
        hint = "features.policyExceptions: {enabled: true, namespace: …} in Kyverno's chart"
        yield Row(env.name, CHECK, Outcome.NOTE, message, env.exceptions[0].location, hint)
        return
    values = subject.engine.lint_subject()
    features = mapping_at(values.values, "features")
    for namespace in sorted(shipped.namespaces):
        if not heeded(features, namespace):
            message = f"Kyverno does not read exceptions in namespace {namespace}"
            location = values.locate(("features", "policyExceptions"))
            hint = "features.policyExceptions: enabled: true, and its namespace or '*'"
            yield Row(env.name, CHECK, Outcome.FAIL, message, location, hint)


def unreachable(
    compiled: PolicySet, unsent: Unsent, names: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each policy of these names that no object reaches."""
    for policy in compiled.policies:
        if policy.policy.name in names and asks_kyverno(policy):
            reasons = _reasons(policy, unsent)
            if reasons:
                yield never_acts(policy.policy.name, reasons, unsent)


def never_acts(
    name: str, reasons: Collection[Reason], unsent: Unsent, only_reports: bool = False
) -> Diagnostic:
    """Return a warning on a policy that no object reaches; a note where the project sets it to
    only report, which background scans do."""
    unique = list(dict.fromkeys(reasons))
    texts = ", ".join(f"{reason} ({unsent.locate(reason)})" for reason in unique)
    why = f"nothing that it looks at is sent to Kyverno: {texts}"
    location = unsent.locate(unique[0])
    if only_reports:
        message = f"{name} is judged in background scans alone: {why}"
        return Diagnostic(name, Severity.NOTE, message, location)
    message = f"{name} can never act here: {why}; background scans alone may report it"
    hint = (
        f"set {unsent.remedy(unique)} in the values of Kyverno's chart, or switch it off: "
        f"policies: {{{name}: {{enabled: false}}}}"
    )
    return Diagnostic(name, Severity.WARNING, message, location, hint)


def _reasons(policy: RunnablePolicy, unsent: Unsent) -> list[Reason]:
    """Return the reasons why no object reaches a policy; none if one may."""
    all_reasons: list[Reason] = []
    for resource, subresource in _probes(policy):
        reasons = unsent.reasons(resource, {}, subresource)
        if not reasons:
            return []
        all_reasons += reasons
    return all_reasons


def _probes(policy: RunnablePolicy) -> Iterator[tuple[Resource, str]]:
    """An object for each kind, namespace and name of a policy, with its subresource."""
    parsed = policy.policy
    if isinstance(parsed, Policy):
        for rule in parsed.rules:
            for resource_filter in rule.match.any or rule.match.all or (rule.match.direct,):
                yield from _of_filter(resource_filter)
        return
    constraints = parsed.constraints
    selector = constraints.namespace_selector if constraints is not None else None
    kind = GroupVersionKind("", "v1", "Pod")
    for namespace in [parsed.namespace] if parsed.namespace else _selected(selector):
        yield _object(kind, namespace, _ANY), ""


def _of_filter(filter_: ResourceFilter) -> Iterator[tuple[Resource, str]]:
    names = filter_.names or (filter_.name or _ANY,)
    namespaces = filter_.namespaces or _selected(filter_.namespace_selector)
    for text in filter_.kinds:
        group, version, kind, subresource = parse_kind_selector(text)
        version = "v1" if version == "*" else version
        what = GroupVersionKind("" if group == "*" else group, version, kind)
        for namespace in namespaces:
            for name in names:
                yield _object(what, _plain(namespace), _plain(name)), subresource


def _selected(selector: LabelSelector | None) -> Iterable[str]:
    """Return the namespaces that a selector names; one that nothing names where it does not."""
    if selector is None:
        return (_ANY,)
    named = [text for key, text in selector.labels.items() if key == NAME_LABEL]
    for requirement in selector.expressions:
        if requirement.key == NAME_LABEL and requirement.operator == "In":
            named += requirement.values
    return named or (_ANY,)


def _plain(pattern: str) -> str:
    return pattern.replace("*", _ANY).replace("?", _ANY)


def _object(kind: GroupVersionKind, namespace: str, name: str) -> Resource:
    metadata = {"name": name, "namespace": namespace}
    if kind.kind == "Namespace":
        metadata = {"name": name if namespace == _ANY else namespace}
    elif is_cluster_scoped(kind):
        metadata = {"name": name}
    api_version = f"{kind.group}/{kind.version}".removeprefix("/")
    return Resource({"apiVersion": api_version, "kind": kind.kind, "metadata": metadata})

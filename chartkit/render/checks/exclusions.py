"""Exclusions of a project: where each is written, and which objects it leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Final

from chartkit.engine import Reason, Request, RunnablePolicy
from chartkit.engine.cluster_policy.match import Facts, bind_match
from chartkit.engine.cluster_policy.policy import read_match
from chartkit.engine.configuration import (
    MATCH_CONDITIONS,
    NAME_LABEL,
    NAMESPACE_SELECTOR,
    RESOURCE_FILTERS,
)
from chartkit.engine.kubernetes.kinds import in_namespace, kind_of
from chartkit.model import Body, Json, Location, Resource, Severity, mapping_at
from chartkit.render.chart import CheckTarget
from chartkit.render.exceptions import CHECK, heeded
from chartkit.render.model import Outcome, Row, findings
from chartkit.scan.configuration import configuration
from chartkit.scan.environment import Labels
from chartkit.scan.exceptions.model import EXPIRED, lifetime
from chartkit.values.lint.rule import ChartValues
from chartkit.wording import abridged


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An exclusion as an environment has it.

    filters: as Kyverno's `exclude` has them, all of which must match; location: its line in
    chartkit.yaml, or in the values file where it was added by hand; for_all: whether it is for
    every policy.
    """

    filters: Sequence[Body] = field(repr=False)
    location: Location
    for_all: bool

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
            self._known[policy] = self._read(policy)
        return self._known[policy]

    def _read(self, policy: str) -> Sequence[Exclusion]:
        own = ("policies", policy, "exclude")
        if not mapping_at(self._merged, own[0], policy, own[2]):
            own = ("policyExclude", policy, "")
        paths = [("exclude",), own if own[2] else own[:2]]
        return [exclusion for path in paths for exclusion in self._below(path, policy)]

    def _below(self, path: tuple[str, ...], policy: str) -> Iterator[Exclusion]:
        block: Json = self._merged
        for step in path:
            block = mapping_at(block, step)
        places = {
            repr(dict(each.resources)): each.location for each in self._written.get(policy, ())
        }
        for_all = len(path) == 1
        for at, one in enumerate(_items(block, "any")):
            place = places.get(repr(one.get("resources"))) or _place(self._values, *path, "any", at)
            yield Exclusion((one,), place, for_all)
        together = _items(block, "all")
        if together:
            yield Exclusion(together, _place(self._values, *path, "all"), for_all)


def _items(block: Mapping[str, Json], key: str) -> list[Body]:
    return [each for each in block.get(key) or () if isinstance(each, dict)]


def _place(values: ChartValues, *path: str | int) -> Location:
    return values.locate(path)


_CONFIG: Final = "config"
_OWN: Final = "excludeKyvernoNamespace"
_EXCLUDE: Final = "resourceFiltersExclude"
_INCLUDE: Final = "resourceFiltersInclude"
_NAMESPACES: Final = "resourceFiltersIncludeNamespaces"


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


_MILD: Final = {EXPIRED: Severity.WARNING}


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
        mild = (replace(one, severity=_MILD.get(one.rule_id, one.severity)) for one in diagnostics)
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

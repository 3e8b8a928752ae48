"""Objects that an environment's Kyverno is not sent, by the configuration that Helm rendered.

Its resource filters and its webhooks' selectors decide before any policy does. They do not apply to
Kubernetes' own policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.engine import Reason, RunnablePolicy
from chartkit.engine.configuration import (
    MATCH_CONDITIONS,
    NAME_LABEL,
    NAMESPACE_SELECTOR,
    RESOURCE_FILTERS,
)
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.model import Location, Resource, mapping_at
from chartkit.render.chart import CheckTarget
from chartkit.scan.installed.configuration import Labels, configuration

_CONFIG: Final = "config"
_OWN: Final = "excludeKyvernoNamespace"
_EXCLUDE: Final = "resourceFiltersExclude"
_INCLUDE: Final = "resourceFiltersInclude"
_NAMESPACES: Final = "resourceFiltersIncludeNamespaces"


def asks_kyverno(policy: RunnablePolicy) -> bool:
    """Return whether Kyverno evaluates a policy, rather than the API server."""
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
            return self._filter_path(reason.text)
        added = f"{NAME_LABEL} NotIn [{self._namespace}]"
        if reason == Reason(NAMESPACE_SELECTOR, added) and self._config.get(_OWN):
            return (_OWN,)
        if reason.key == MATCH_CONDITIONS:
            return (MATCH_CONDITIONS,)
        return "webhooks", reason.key

    def _filter_path(self, text: str) -> tuple[str | int, ...]:
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

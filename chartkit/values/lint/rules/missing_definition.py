"""CK005: custom resources whose definition the environment does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.model import Diagnostic, leaves
from chartkit.values.lint.rule import ChartValues, Rule

_MONITORING: Final = "monitoring.coreos.com/v1"
_SWITCHES: Final = frozenset({("serviceMonitor", "enabled"), ("prometheusRule", "enabled")})


class MissingDefinition(Rule):
    id = "CK005"
    what = (
        "A custom resource, most often a ServiceMonitor, whose definition the environment does "
        "not have."
    )
    why = "Helm cannot install an object of a kind that the cluster does not know."
    do = (
        "Install the definition first and list it under apis in chartkit.yaml, or disable the "
        "object."
    )
    problematic = "admissionController:\n  serviceMonitor: {enabled: true}\n"
    correct = "admissionController:\n  serviceMonitor: {enabled: false}\n"

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        if subject.apis.get(_MONITORING) is not False:
            return
        for path, value in leaves(subject.values):
            if path[-2:] == ("serviceMonitor", "enabled") and value is True:
                name = ".".join(map(str, path))
                message = f"'{name}' is true, and the environment has no {_MONITORING}"
                hint = "install the Prometheus operator first and say so under apis in "
                hint += f"chartkit.yaml, or set {name}: false"
                yield self.error(message, subject.locate(path), hint)

    def check_rendered(self, subject: ChartValues) -> Iterator[Diagnostic]:
        for resource in subject.resources:
            version = resource.api_version
            if subject.apis.get(version) is False and resource.kind != "ServiceMonitor":
                message = f"{resource.kind} {resource.name} needs {version}, which is not there"
                hint = "install its definition first, and say so under apis in chartkit.yaml"
                yield self.error(message, resource.location, hint)
        if _MONITORING not in subject.apis:
            yield from self._unstated(subject)

    def _unstated(self, subject: ChartValues) -> Iterator[Diagnostic]:
        """Yield a warning where the environment does not say whether monitors have a definition."""
        enabled = [
            path
            for path, value in leaves(subject.values)
            if path[-2:] in _SWITCHES and value is True
        ]
        rendered = [each for each in subject.resources if each.api_version == _MONITORING]
        if not enabled and not rendered:
            return
        if rendered:
            kinds = ", ".join(f"{resource.kind} {resource.name}" for resource in rendered)
            message = f"{kinds}: nothing says whether the cluster has {_MONITORING}, "
            message += "which they need"
        else:
            name = ".".join(map(str, enabled[0]))
            message = f"'{name}' is true and renders nothing: nothing says that there is "
            message += _MONITORING
        hint = f"say under apis in chartkit.yaml whether it is there: {_MONITORING}: true"
        location = subject.locate(enabled[0]) if enabled else rendered[0].location
        yield self.warning(message, location, hint)

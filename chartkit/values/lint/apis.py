"""Checks of custom resources against what the environment says of their definitions."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import Diagnostic, Severity
from chartkit.values.lint.subject import Subject, leaves

NO_DEFINITION = "CK005"
MONITORING = "monitoring.coreos.com/v1"
_SWITCHES = frozenset({("serviceMonitor", "enabled"), ("prometheusRule", "enabled")})


def monitors_without_definition(subject: Subject) -> Iterator[Diagnostic]:
    """CK005: a service monitor where the environment says that its CRD is not there."""
    if subject.apis.get(MONITORING) is not False:
        return
    for path, value in leaves(subject.values):
        if path[-2:] == ("serviceMonitor", "enabled") and value is True:
            name = ".".join(map(str, path))
            message = f"'{name}' is true, and the environment has no {MONITORING}"
            hint = "install the Prometheus operator first and say so under apis in chartkit.yaml, "
            hint += f"or set {name}: false"
            place = subject.locate(path)
            yield Diagnostic(NO_DEFINITION, Severity.ERROR, message, place, hint)


def monitors_without_word(subject: Subject) -> Iterator[Diagnostic]:
    """CK005: service monitors and rules where the environment says nothing of their definitions."""
    if MONITORING in subject.apis:
        return
    asked = [
        path for path, value in leaves(subject.values) if path[-2:] in _SWITCHES and value is True
    ]
    rendered = [each for each in subject.resources if each.api_version == MONITORING]
    if not asked and not rendered:
        return
    if rendered:
        kinds = ", ".join(f"{each.kind} {each.name}" for each in rendered)
        message = f"{kinds}: nothing says whether the cluster has {MONITORING}, which they need"
    else:
        name = ".".join(map(str, asked[0]))
        message = f"'{name}' is true and renders nothing: nothing says that there is {MONITORING}"
    hint = f"say under apis in chartkit.yaml whether it is there: {MONITORING}: true"
    place = subject.locate(asked[0]) if asked else rendered[0].location
    yield Diagnostic(NO_DEFINITION, Severity.WARNING, message, place, hint)


def objects_without_definition(subject: Subject) -> Iterator[Diagnostic]:
    """CK005: any other object of an API version that the environment says it does not have."""
    for resource in subject.resources:
        version = resource.api_version
        if subject.apis.get(version) is False and resource.kind != "ServiceMonitor":
            message = f"{resource.kind} {resource.name} needs {version}, which is not there"
            hint = "install its definition first, and say so under apis in chartkit.yaml"
            yield Diagnostic(NO_DEFINITION, Severity.ERROR, message, resource.location, hint)

"""Kyverno's settings that decide about reports: the flags and resources of its controllers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.go.quantity import quantity_or_none
from chartkit.kyverno.controllers import ADMISSION, Controller, controllers
from chartkit.model import Resource, RuleType, mapping_at, mappings_at, texts_of

REPORTS: Final = "reports-controller"
_REPORTED: Final = {
    "validate": RuleType.VALIDATION,
    "mutate": RuleType.MUTATION,
    "imageVerify": RuleType.IMAGE_VERIFY,
    "generate": RuleType.GENERATION,
}
_RESULTS: Final = ("pass", "fail", "error", "warn", "skip")
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_CONTAINERS: Final = ("spec", "template", "spec", "containers")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an environment's Kyverno; the defaults are those of its programs and chart.

    is_known: whether they are an installation's; results, types: those that are reported;
    admission_limit: how many ephemeral reports may wait; memory_limit: of the reports controller,
    in bytes, None for none; replicas: of the admission controller.
    """

    is_known: bool = False
    has_reports_controller: bool = True
    admission_reports: bool = True
    admission_limit: int = 1000
    aggregate_reports: bool = True
    policy_reports: bool = True
    api_server_policies: bool = True
    background_scan: bool = True
    interval: str = "1h"
    skip_resource_filters: bool = True
    results: frozenset[str] = frozenset(_RESULTS)
    types: frozenset[RuleType] = frozenset(_REPORTED.values())
    memory_limit: int | None = 128 << 20
    replicas: int = 1

    @property
    def writes_reports(self) -> bool:
        """Return whether PolicyReports are written at all."""
        return self.has_reports_controller and self.aggregate_reports and self.policy_reports


def engine_settings(rendered: Sequence[Resource]) -> EngineSettings:
    """Return the settings of Kyverno's chart; rendered: its objects, none where another chart
    installs Kyverno, so that its defaults count."""
    found = {each.component: each for each in controllers(rendered)}
    if not found:
        return EngineSettings()
    defaults = EngineSettings()
    reports, admission = found.get(REPORTS), found.get(ADMISSION)
    flags = _Flags(_arguments(reports))
    admission_flags = _Flags(_arguments(admission))
    results = flags.text("allowedResults", ",".join(_RESULTS)).split(",")
    types = flags.text("enableReporting", ",".join(_REPORTED)).split(",")
    replicas = admission.replicas if admission else 1
    return EngineSettings(
        is_known=True,
        has_reports_controller=reports is not None and reports.replicas != 0,
        admission_reports=admission_flags.is_on("admissionReports"),
        admission_limit=admission_flags.number("maxAdmissionReports", defaults.admission_limit),
        aggregate_reports=flags.is_on("aggregateReports"),
        policy_reports=flags.is_on("policyReports"),
        api_server_policies=flags.is_on("validatingAdmissionPolicyReports"),
        background_scan=flags.is_on("backgroundScan"),
        interval=flags.text("backgroundScanInterval", defaults.interval),
        skip_resource_filters=flags.is_on("skipResourceFilters"),
        results=frozenset(results),
        types=frozenset(_REPORTED[each] for each in types if each in _REPORTED),
        memory_limit=_memory_limit(reports),
        replicas=replicas if isinstance(replicas, int) else 1,
    )


@dataclass(frozen=True, slots=True)
class _Flags:
    """The arguments of a controller, of which the last one of a name counts."""

    arguments: Sequence[str]

    def text(self, name: str, default: str) -> str:
        for argument in reversed(self.arguments):
            given, equals, value = argument.lstrip("-").partition("=")
            if given == name:
                return value if equals else "true"
        return default

    def is_on(self, name: str) -> bool:
        return self.text(name, "true") in _TRUE

    def number(self, name: str, default: int) -> int:
        text = self.text(name, str(default))
        return int(text) if text.isdecimal() else default


def _arguments(controller: Controller | None) -> list[str]:
    if controller is None:
        return []
    containers = mappings_at(controller.deployment.body, *_CONTAINERS)
    return [text for each in containers for text in texts_of(each.get("args"))]


def _memory_limit(controller: Controller | None) -> int | None:
    for each in mappings_at(controller.deployment.body, *_CONTAINERS) if controller else ():
        value = mapping_at(each, "resources", "limits").get("memory")
        quantity = quantity_or_none(str(value)) if value is not None else None
        limit = None if quantity is None else int(float(quantity))
        if limit is not None:
            return limit
    return None

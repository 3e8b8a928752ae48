"""Values from chartkit.yaml, in the keys of upstream's charts.

A chart of another version has other keys: only those are written that its values.yaml has. What
chartkit.yaml says and the chart has no key for becomes a warning, with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.charts.engine import controllers as engine_source
from chartkit.charts.engine import high_availability, monitoring
from chartkit.charts.engine.monitoring import monitoring_values
from chartkit.charts.engine.values import own_values
from chartkit.charts.plan import ENGINE, POLICIES, REPORTER
from chartkit.charts.policies.values_schema import overrides
from chartkit.charts.upstream.chart_files import ChartFiles
from chartkit.errors import InputError
from chartkit.helm.chart_values import merge
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.kyverno.versions import parse_version
from chartkit.library.profiles import read_profile
from chartkit.model import Body, Diagnostic, Location, Severity
from chartkit.project.environment import Environment
from chartkit.project.monitoring import KEY as MONITORING
from chartkit.project.monitoring import POLICY_REPORTER
from chartkit.project.settings import Exclusion, PolicyType

_STANDARDS: Final = ("restricted", "baseline")
"""Values of podSecurityStandard by the built-in profiles `pss-…`, the stricter one first."""
_FORMS: Final = (PolicyType.CLUSTER, PolicyType.VALIDATING)
"""The forms of policies; charts before 3.7 have the first alone."""
_NAMESPACES: Final = "namespaces"
_WILDCARDS: Final = frozenset("*?!")


@dataclass(frozen=True, slots=True)
class Said:
    """values: an environment's values file; left: warnings of what the chart has no key for."""

    values: Body
    left: tuple[Diagnostic, ...] = ()


def environment_values(chart: ChartFiles, environment: Environment, root: Path) -> Said:
    """Return an environment's values for a vendored chart; root: the project's folder. Raises
    InputError for a profile that is not there, and for a form of policies that the chart does not
    have."""
    writer = _WRITERS.get(chart.name)
    return Said({}) if writer is None else writer(chart, environment, root)


def _engine(chart: ChartFiles, environment: Environment, root: Path) -> Said:  # noqa: ARG001
    values: Body = {}
    if environment.high_availability:
        values = {
            key: {"replicas": high_availability.minimum(component)}
            for component, key in kyverno_controllers.CONTROLLERS.items()
            if isinstance(chart.defaults.get(key), dict)
        }
    left = []
    monitored: Body = {}
    if environment.monitoring is not None:
        controllers = engine_source.describe()["controllers"]
        monitored = monitoring_values(environment.monitoring, controllers, metrics_apart=False)
    for key, given in monitored.items():
        if key in chart.defaults:
            values[key] = {**values.get(key, {}), **given}
        else:
            left.append(_left(f"no key {key} in this version", environment.locate(MONITORING)))
    return Said(merge(values, own_values(environment).merged), tuple(left))


def _reporter(chart: ChartFiles, environment: Environment, root: Path) -> Said:  # noqa: ARG001
    wanted = environment.policy_reporter
    if wanted is None:
        return Said({})
    version = parse_version(chart.version, "policy-reporter's chart")
    if version.major != wanted.version.major:
        what = f"the vendored chart {chart.name} is {chart.version}, not {wanted.version}"
        location = environment.locate(POLICY_REPORTER, "version")
        raise InputError(what, location, f'write version: "{chart.version}"')
    return Said(monitoring.chart_values(wanted, environment.monitoring))


def _policies(chart: ChartFiles, environment: Environment, root: Path) -> Said:
    defaults = chart.defaults
    # The policies of the chart: a template each, and one more in CEL.
    named = frozenset(
        parts[2].partition(".")[0]
        for parts in (name.split("/") for name in chart.files)
        if len(parts) == 3 and parts[0] == "templates" and not parts[2].startswith("_")
    )
    left: list[Diagnostic] = []
    values: Body = {"validationFailureAction": _cased(environment.action.value, defaults)}
    by_policy = {}
    for reference, settings in environment.policies.items():
        name = reference.rpartition("/")[2]
        if name not in named:
            left.append(_left(f"no policy '{name}'", settings.location))
            continue
        if settings.action is not None:
            by_policy[name] = _cased(settings.action.value, defaults)
        if settings.enabled is not None:
            left.append(_left("no switch for a policy", settings.places["enabled"]))
        if settings.parameters:
            left.append(_left("no parameters", settings.places["parameters"]))
    if by_policy:
        values["validationFailureActionByPolicy"] = by_policy
    given = {"all": environment.actions}
    for reference, settings in environment.policies.items():
        given[reference.rpartition("/")[2]] = settings.actions
    by_namespace = {
        name: [{**row, "action": _cased(row["action"], defaults)} for row in overrides(actions)]
        for name, actions in given.items()
        if actions and (name == "all" or name in named)
    }
    if by_namespace:
        values["validationFailureActionOverrides"] = by_namespace
    standard, without = _standard(environment, root)
    left += without
    if standard:
        values["podSecurityStandard"] = standard
    form = _form(chart, environment)
    if environment.policy_type is not None and "policyType" in defaults:
        values["policyType"] = form.value
    excluded, without = _exclusions(form, environment, named)
    values |= excluded
    left += without
    if environment.parameters:
        left.append(_left("no parameters", environment.locate("parameters")))
    for key in [key for key in values if key not in defaults]:
        del values[key]
        left.append(_left(f"no key {key} in this version", environment.locate()))
    return Said(values, tuple(left))


_Writer = Callable[[ChartFiles, Environment, Path], Said]
_WRITERS: Final[Mapping[str, _Writer]] = {ENGINE: _engine, POLICIES: _policies, REPORTER: _reporter}
"""The writer of each chart's values."""


def _left(what: str, location: Location) -> Diagnostic:
    message = f"upstream's chart has {what}: what chartkit.yaml says here has no effect"
    hint = "write it into the chart's values file, or render chartkit's own chart"
    return Diagnostic("vendored", Severity.WARNING, message, location, hint)


def _cased(action: str, defaults: Body) -> str:
    """Charts before 3.1 write actions in small letters."""
    default = defaults.get("validationFailureAction")
    return action.lower() if isinstance(default, str) and default.islower() else action


def _standard(environment: Environment, root: Path) -> tuple[str, list[Diagnostic]]:
    """The Pod Security Standard that the profiles extend, empty without one."""
    names: set[str] = set()
    left: list[Diagnostic] = []
    for index, reference in enumerate(environment.profiles):
        own = "profiles" in environment.keys.body
        if own:
            location = environment.locate("profiles", index)
        else:
            location = environment.keys.document.locate("profiles", index)
        profile = read_profile(reference, root, location)
        names |= {member.name for member in profile.lineage()}
        if profile.name not in {f"pss-{standard}" for standard in _STANDARDS}:
            what = f"no profile '{profile.name}', and only podSecurityStandard can replace it"
            left.append(_left(what, location))
    return next((standard for standard in _STANDARDS if f"pss-{standard}" in names), ""), left


def _form(chart: ChartFiles, environment: Environment) -> PolicyType:
    """The form of the policies; raises InputError for one that the chart does not offer."""
    wanted = environment.policy_type
    default = chart.defaults.get("policyType", PolicyType.CLUSTER.value)
    offered = _FORMS if "policyType" in chart.defaults else _FORMS[:1]
    if wanted is None:
        return next((form for form in offered if form.value == default), PolicyType.CLUSTER)
    if wanted not in offered:
        what = f"the vendored chart {chart.name} {chart.version} has no policies of type {wanted}"
        hint = f"it has {' and '.join(offered)}; chartkit's own chart has every type"
        raise InputError(what, environment.locate_policy_type(), hint)
    return wanted


def _exclusions(
    form: PolicyType, environment: Environment, named: frozenset[str]
) -> tuple[Body, list[Diagnostic]]:
    own = {
        reference.rpartition("/")[2]: settings.exclude
        for reference, settings in environment.policies.items()
        if settings.exclude and reference.rpartition("/")[2] in named
    }
    shared = environment.exclude
    if form is PolicyType.CLUSTER:
        # The chart has exclusions for each policy and none for all of them: each policy gets them.
        excluded = {
            name: {"any": [{"resources": row.resources} for row in (*shared, *own.get(name, ()))]}
            for name in sorted(named if shared else own)
        }
        return {"policyExclude": excluded} if excluded else {}, []
    # In CEL the chart leaves namespaces alone, by name. A policy's own take the shared ones'
    # place there, so that each has both.
    left = [
        _left("exclusions by name of namespace alone in CEL", exclusion.location)
        for exclusion in (*shared, *(exclusion for given in own.values() for exclusion in given))
        if not _plain_namespaces(exclusion)
    ]
    values: Body = {}
    if common := _namespaces(shared):
        values["vpolExclude"] = {"excludeNamespaces": common}
    by_policy = {
        name: {"excludeNamespaces": _namespaces((*shared, *exclusions))}
        for name, exclusions in own.items()
        if _namespaces(exclusions)
    }
    if by_policy:
        values["vpolExcludeByPolicy"] = by_policy
    return values, left


def _plain_namespaces(exclusion: Exclusion) -> bool:
    names = exclusion.resources.get(_NAMESPACES, [])
    return exclusion.resources.keys() == {_NAMESPACES} and not any(
        _WILDCARDS & set(name) for name in names
    )


def _namespaces(exclusions: Sequence[Exclusion]) -> list[str]:
    named = [row.resources[_NAMESPACES] for row in exclusions if _plain_namespaces(row)]
    return list(dict.fromkeys(name for names in named for name in names))

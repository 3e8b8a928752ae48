"""The project file `chartkit.yaml`: environments, and what each of them gets.

The file's format is `schemas/project.schema.json`; whether the profiles, policies and parameters
that it names exist is for `chartkit.library.profiles` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.kyverno.versions import Release, Version, parse_release, parse_version
from chartkit.model import Body, Json, Location
from chartkit.project.chart_metadata import ChartMetadata, read_metadata
from chartkit.project.monitoring import Monitoring, read_monitoring
from chartkit.project.policy_reporter import PolicyReporter, read_policy_reporter
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion

FILE_NAME = "chartkit.yaml"
SCHEMA = "project.schema.json"
DEFAULT_PROFILES = ("pss-restricted",)


class Action(StrEnum):
    """The effect of a violation: Kyverno reports it, or refuses the request, too."""

    AUDIT = "Audit"
    ENFORCE = "Enforce"


class PolicyType(StrEnum):
    """The form of the policies; the values of the chart's `policyType`."""

    CLUSTER = "ClusterPolicy"
    VALIDATING = "ValidatingPolicy"
    ADMISSION = "ValidatingAdmissionPolicy"
    BOTH = "both"
    """ClusterPolicies that act, each with a ValidatingPolicy that only reports."""


DEFAULT_ACTIONS = {"dev": Action.ENFORCE, "qa": Action.ENFORCE, "prd": Action.AUDIT}
"""The action of an environment that names none; any other environment audits."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Objects that policies exclude.

    resources: a resource description as Kyverno's `exclude.any[].resources` has it (kinds,
    namespaces, names, selector, namespaceSelector; all must fit); reason: why, may be empty.
    """

    resources: Body
    reason: str
    location: Location


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The settings of one policy in a profile, a project or an environment; None: not set.

    action_at: the place of its action; places: those of `enabled`, `parameters` and each parameter
    (`parameters.NAME`); everywhere: only the project sets it, for all its environments.
    """

    location: Location
    enabled: bool | None = None
    action: Action | None = None
    action_at: Location | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)
    exclude: tuple[Exclusion, ...] = ()
    places: Mapping[str, Location] = field(default_factory=dict, repr=False)
    everywhere: bool = False

    def over(self, other: PolicySettings | None) -> PolicySettings:
        """Return these settings on top of others; exclusions add up."""
        if other is None:
            return self
        return PolicySettings(
            location=self.location,
            enabled=other.enabled if self.enabled is None else self.enabled,
            action=self.action or other.action,
            action_at=self.action_at or other.action_at,
            parameters=MappingProxyType({**other.parameters, **self.parameters}),
            exclude=other.exclude + self.exclude,
            places=MappingProxyType({**other.places, **self.places}),
        )


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload of an environment: a manifest, a folder of manifests, or a chart with values."""

    path: Path
    location: Location
    values: tuple[Path, ...] = ()
    namespace: str = "default"
    release: str = "release"


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment.

    kyverno, kubernetes: the versions that run there; release: Kyverno's with its patch, None where
    it names none; eks: whether the cluster is Amazon's;
    engine: whether the engine chart installs Kyverno there; policy_type: the form of its policies,
    None where it leaves that to the chart;
    profiles: names of built-in profiles or paths as written; parameters: for every policy that
    has them; policies: settings of single policies by name, the project's under its own; exclude:
    for every policy, the project's first;
    baseline: known violations of its workloads, None without; suppressions: whether objects may
    let findings about themselves off;
    apis: API versions of custom resources (`monitoring.coreos.com/v1`) to whether they are there;
    monitoring: how Prometheus comes to the engine's metrics, policy_reporter: what is wanted of it,
    None where the environment says nothing.
    """

    name: str
    kyverno: Version
    kubernetes: Version
    eks: bool
    engine: bool
    high_availability: bool
    action: Action
    policy_type: PolicyType | None
    profiles: tuple[str, ...]
    parameters: Mapping[str, Json]
    policies: Mapping[str, PolicySettings]
    exclude: tuple[Exclusion, ...]
    apis: Mapping[str, bool]
    workloads: tuple[Workload, ...]
    baseline: Path | None
    suppressions: bool
    monitoring: Monitoring | None
    policy_reporter: PolicyReporter | None
    document: Document = field(repr=False, compare=False)
    release: Release | None = None

    @property
    def kube_version(self) -> str:
        """The cluster's version as Helm is told it: `v1.34.0`, or `v1.34.0-eks` on EKS."""
        return f"v{self.kubernetes}.0" + ("-eks" if self.eks else "")

    def locate(self, *path: str | int) -> Location:
        """The place of one of the environment's keys in chartkit.yaml."""
        return self.document.locate("environments", self.name, *path)

    def locate_policy_type(self) -> Location:
        """Return the place of its `policyType`: its own, or the project's."""
        own = "policyType" in self.document.body["environments"][self.name]
        return self.locate("policyType") if own else self.document.locate("policyType")


@dataclass(frozen=True, slots=True)
class Project:
    """A project file.

    root: the folder it stands in, which its paths start from; library: folders with policies of
    the project's own; policies, exclude: settings of single policies by name, and exclusions for
    every policy, in all environments; charts: where charts are written; manifests: where rendered
    manifests are written (None: nowhere); environments: by name, in the file's order; metadata: of
    the charts.
    """

    file: Path
    root: Path
    library: tuple[Path, ...]
    policies: Mapping[str, PolicySettings]
    exclude: tuple[Exclusion, ...]
    charts: Path
    manifests: Path | None
    environments: Mapping[str, Environment]
    metadata: ChartMetadata
    document: Document = field(repr=False, compare=False)

    def environment(self, name: str) -> Environment:
        """An environment by name; raises InputError for a name that is not there."""
        found = self.environments.get(name)
        if found is None:
            known = ", ".join(self.environments)
            hint = suggestion(name, self.environments) or f"it has {known}"
            place = self.document.locate("environments")
            raise InputError(f"there is no environment '{name}'", place, hint)
        return found

    def locate(self, *path: str | int) -> Location:
        """The place of a key in chartkit.yaml."""
        return self.document.locate(*path)


def read_project(path: Path) -> Project:
    """Reads a project file; path: the file, or the folder it stands in. Raises InputError."""
    file = path / FILE_NAME if path.is_dir() else path
    if not file.exists():
        hint = "`chartkit init` writes one" if file.name == FILE_NAME else None
        raise InputError("there is no project file", Location(str(file)), hint)
    documents = read_file(file)
    if len(documents) != 1:
        what = "is empty" if not documents else "has more than one YAML document"
        hint = "`chartkit init` in an empty folder writes an example"
        raise InputError(what, Location(str(file)), hint)
    return parse_project(documents[0], file)


def parse_project(document: Document, file: Path) -> Project:
    """The project in a document; file: where it stands. Raises InputError for the first mistake."""
    json_schema.require_single_keys(document)
    json_schema.require(document, json_schema.load(SCHEMA))
    body = document.body
    root = file.parent
    charts, manifests = body.get("charts", "charts"), body.get("manifests", "rendered")
    if manifests is not None and (root / charts).resolve() == (root / manifests).resolve():
        hint = "an environment could have a chart's name: choose another folder"
        raise InputError(
            "'manifests' and 'charts' are one folder", document.locate("manifests"), hint
        )
    return Project(
        file=file,
        root=root,
        library=tuple(root / folder for folder in body.get("library", ())),
        policies=_policies(document, ()),
        exclude=_exclusions(document, (), body),
        charts=root / charts,
        manifests=None if manifests is None else root / manifests,
        environments=MappingProxyType(
            {name: _environment(name, document, root) for name in body["environments"]}
        ),
        metadata=read_metadata(document),
        document=document,
    )


def _environment(name: str, document: Document, root: Path) -> Environment:
    project, body = document.body, document.body["environments"][name]
    place = ("environments", name)
    workloads = (
        *_workloads(document, ("workloads",), project.get("workloads", ()), root),
        *_workloads(document, (*place, "workloads"), body.get("workloads", ()), root),
    )
    kyverno_at = document.locate(*place, "kyverno")
    return Environment(
        name=name,
        kyverno=parse_version(body["kyverno"], "Kyverno", kyverno_at),
        kubernetes=_kubernetes(document, name),
        eks="eks" in body,
        engine=body.get("engine", True),
        high_availability=body.get("highAvailability", False),
        action=_action(body) or DEFAULT_ACTIONS.get(name, Action.AUDIT),
        policy_type=_policy_type(body) or _policy_type(project),
        profiles=tuple(body.get("profiles", project.get("profiles", DEFAULT_PROFILES))),
        parameters=MappingProxyType(dict(body.get("parameters", {}))),
        policies=_all_policies(document, place),
        exclude=_exclusions(document, (), project) + _exclusions(document, place, body),
        apis=MappingProxyType(dict(body.get("apis", {}))),
        workloads=workloads,
        baseline=root / body["baseline"] if "baseline" in body else None,
        suppressions=body.get("suppressions", project.get("suppressions", True)),
        monitoring=read_monitoring(document, place),
        policy_reporter=read_policy_reporter(document, place),
        document=document,
        release=parse_release(body["kyverno"]),
    )


def _kubernetes(document: Document, name: str) -> Version:
    body = document.body["environments"][name]
    given = [key for key in ("kubernetes", "eks") if key in body]
    if len(given) != 1:
        what = "both 'kubernetes' and 'eks'" if given else "neither 'kubernetes' nor 'eks'"
        hint = 'give one of them, such as kubernetes: "1.34"'
        place = document.locate("environments", name, *given[1:])
        raise InputError(f"environment '{name}' has {what}", place, hint)
    place = document.locate("environments", name, given[0])
    return parse_version(body[given[0]], "Kubernetes", place)


def _action(body: Body) -> Action | None:
    return Action(body["action"]) if "action" in body else None


def _policy_type(body: Body) -> PolicyType | None:
    return PolicyType(body["policyType"]) if "policyType" in body else None


def _all_policies(document: Document, place: tuple[str, str]) -> Mapping[str, PolicySettings]:
    """Return an environment's settings of single policies on top of the project's."""
    settings = {
        name: replace(each, everywhere=True) for name, each in _policies(document, ()).items()
    }
    for name, each in _policies(document, place).items():
        settings[name] = each.over(settings.get(name))
    return MappingProxyType(settings)


def _policies(document: Document, place: tuple[str, ...]) -> Mapping[str, PolicySettings]:
    """Return the settings under `policies`, of an environment or the project (an empty place)."""
    body = document.body["environments"][place[1]] if place else document.body
    return MappingProxyType(
        {
            name: _settings(document, (*place, "policies", name), given)
            for name, given in body.get("policies", {}).items()
        }
    )


def _settings(document: Document, place: tuple[str, ...], body: Body) -> PolicySettings:
    parameters = body.get("parameters", {})
    places = {key: document.locate(*place, key) for key in body}
    for name in parameters:
        places[f"parameters.{name}"] = document.locate(*place, "parameters", name)
    return PolicySettings(
        location=document.locate(*place),
        enabled=body.get("enabled"),
        action=_action(body),
        action_at=document.locate(*place, "action") if "action" in body else None,
        parameters=MappingProxyType(dict(parameters)),
        exclude=_exclusions(document, place, body),
        places=MappingProxyType(places),
    )


def _exclusions(document: Document, place: tuple[str, ...], body: Body) -> tuple[Exclusion, ...]:
    """Return the exclusions under `exclude`; place: that of body."""
    return tuple(
        Exclusion(
            {key: value for key, value in each.items() if key != "reason"},
            each.get("reason", ""),
            document.locate(*place, "exclude", index),
        )
        for index, each in enumerate(body.get("exclude", ()))
    )


def _workloads(
    document: Document, place: tuple[str, ...], bodies: list[str | Body] | tuple[()], root: Path
) -> tuple[Workload, ...]:
    workloads = []
    for index, given in enumerate(bodies):
        body: Body = {"path": given} if isinstance(given, str) else given
        workloads.append(
            Workload(
                path=root / body["path"],
                location=document.locate(*place, index),
                values=tuple(root / values for values in body.get("values", ())),
                namespace=body.get("namespace", "default"),
                release=body.get("release", "release"),
            )
        )
    return tuple(workloads)

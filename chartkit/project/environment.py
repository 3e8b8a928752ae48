"""The environments of a project and their clusters, with what they inherit.

From the first to the last word: the project's keys, `defaults`, the environment that one extends,
the environment, its cluster. `keys` says how they are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.kyverno import matrix
from chartkit.kyverno.releases import BUILT_IN, ReleaseData
from chartkit.kyverno.versions import Release, Version, parse_release, parse_version
from chartkit.model import Body, FieldPath, Json, Location
from chartkit.project.monitoring import (
    Monitoring,
    PolicyReporter,
    read_monitoring,
    read_policy_reporter,
)
from chartkit.project.settings import (
    Action,
    Exclusion,
    Keys,
    NamedFile,
    NamespaceAction,
    PolicySettings,
    PolicyType,
    Workload,
    inherited,
    read_action,
    read_actions,
    read_exclusions,
    read_files,
    read_policies,
    read_workloads,
    whole,
)
from chartkit.suggestions import suggestion

DEFAULT_PROFILES: Final = ("pss-restricted",)
DEFAULT_ACTIONS: Final = {"dev": Action.ENFORCE, "qa": Action.ENFORCE, "prd": Action.AUDIT}
"""The action of an environment that names none; any other environment audits."""
DEFAULTS: Final = "defaults"
EXTENDS: Final = "extends"
CLUSTERS: Final = "clusters"
_ENGINE_VALUES: Final = "engineValues"


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment, or one cluster of an environment that has several.

    name: `prd`, or `prd/east` for a cluster; cluster: its name, empty without clusters;
    region: of the cluster, may be empty;
    kyverno, kubernetes: the versions that run there; release: Kyverno's with its patch, None where
    it names none; eks: whether the cluster is Amazon's;
    engine: whether the engine chart installs Kyverno there; engine_values: values files of the
    project's own for it; policy_type: the form of its policies, None where it leaves that to the
    chart; actions: those of single namespaces, for all policies;
    profiles: names of built-in profiles or paths as written; parameters: for every policy that
    has them; policies: settings of single policies by name, the project's under its own; exclude:
    for every policy, the project's first; exceptions: files and folders of PolicyExceptions;
    baseline: known violations of its workloads, None without; suppressions: whether objects may
    let findings about themselves off;
    apis: API versions of custom resources (`monitoring.coreos.com/v1`) to whether they are there;
    monitoring: how Prometheus comes to the engine's metrics, policy_reporter: what is wanted of it,
    None where the environment says nothing; versions: the releases that are known; accepted: why
    its pair of versions is taken although Kyverno does not support it, empty without.
    """

    name: str
    cluster: str
    region: str
    kyverno: Version
    kubernetes: Version
    eks: bool
    engine: bool
    engine_values: tuple[NamedFile, ...]
    high_availability: bool
    action: Action
    actions: tuple[NamespaceAction, ...]
    policy_type: PolicyType | None
    profiles: tuple[str, ...]
    parameters: Mapping[str, Json]
    policies: Mapping[str, PolicySettings]
    exclude: tuple[Exclusion, ...]
    exceptions: tuple[NamedFile, ...]
    apis: Mapping[str, bool]
    workloads: tuple[Workload, ...]
    baseline: Path | None
    suppressions: bool
    monitoring: Monitoring | None
    policy_reporter: PolicyReporter | None
    keys: Keys = field(repr=False, compare=False)
    release: Release | None = None
    versions: ReleaseData = BUILT_IN
    accepted: str = ""

    @property
    def is_unsupported(self) -> bool:
        """True where its pair of versions is accepted, and not one that Kyverno supports."""
        if not self.accepted:
            return False
        row = matrix.compatibility(self.kyverno, self.locate("kyverno"), self.versions)
        return row.support(self.kubernetes) is not matrix.Support.SUPPORTED

    @property
    def kube_version(self) -> str:
        """The cluster's version as it is passed to Helm: `v1.34.0`, or `v1.34.0-eks` on EKS."""
        return f"v{self.kubernetes}.0" + ("-eks" if self.eks else "")

    @property
    def group(self) -> str:
        """Return the environment's name, without the name of the cluster."""
        return self.name.partition("/")[0]

    @property
    def file_name(self) -> str:
        """Return its name in file names: `prd`, or `prd_east` for a cluster."""
        return self.name.replace("/", "_")

    @property
    def values_files(self) -> tuple[str, ...]:
        """Return the names of its values files in a chart, in the order for Helm."""
        names = dict.fromkeys((self.group, self.file_name))
        return tuple(f"values_{name}.yaml" for name in names)

    def locate(self, *path: str | int) -> Location:
        """The place of one of the environment's keys in chartkit.yaml."""
        return self.keys.locate(*path)

    def locate_policy_type(self) -> Location:
        """Return the place of its `policyType`: its own, or the project's."""
        own = "policyType" in self.keys.body
        return self.locate("policyType") if own else self.keys.document.locate("policyType")


def read_environments(document: Document, root: Path) -> Mapping[str, Environment]:
    """Return the environments of a project file by name, in place of one that has clusters its
    clusters (`prd/east`); root: its folder. Raise InputError for the first mistake."""
    environments = dict[str, Environment]()
    for name, body in document.body["environments"].items():
        # The places whose keys an environment has, the last word last.
        places: list[FieldPath] = [(DEFAULTS,)] if DEFAULTS in document.body else []
        places += (("environments", ancestor) for ancestor in reversed(_chain(document, name)))
        if CLUSTERS not in body:
            environments[name] = _environment(name, inherited(document, places), root)
        for cluster in body.get(CLUSTERS, ()):
            below = (*places, ("environments", name, CLUSTERS, cluster))
            keys = inherited(document, below)
            environments[f"{name}/{cluster}"] = _environment(f"{name}/{cluster}", keys, root)
    return MappingProxyType(environments)


def _chain(document: Document, name: str) -> list[str]:
    """Return an environment and the ones that it extends, the nearest first."""
    environments, chain = document.body["environments"], [name]
    while (parent := environments[chain[-1]].get(EXTENDS)) is not None:
        location = document.locate("environments", chain[-1], EXTENDS)
        if parent in chain:
            names = " → ".join((*chain[chain.index(parent) :], parent))
            raise InputError(f"environment '{parent}' extends itself: {names}", location)
        if parent not in environments:
            hint = suggestion(parent, environments) or f"there are {', '.join(environments)}"
            raise InputError(f"there is no environment '{parent}'", location, hint)
        chain.append(parent)
    return chain


def _environment(name: str, keys: Keys, root: Path) -> Environment:
    body, project = keys.body, whole(keys.document)
    general: Json = project.body
    if "kyverno" not in body:
        hint = "give it there or under defaults, its version in quotes"
        raise InputError(f"environment '{name}' has no 'kyverno'", keys.locate(), hint)
    engine_values = read_files(keys, _ENGINE_VALUES, root)
    if engine_values and not body.get("engine", True):
        hint = "give the values to the chart that installs Kyverno there, or leave the key out"
        message = f"'{_ENGINE_VALUES}' needs the engine's chart, and engine is false"
        raise InputError(message, keys.locate(_ENGINE_VALUES), hint)
    group, _, cluster = name.partition("/")
    given = [key for key in ("kubernetes", "eks") if key in keys.body]
    if len(given) != 1:
        what = "both 'kubernetes' and 'eks'" if given else "neither 'kubernetes' nor 'eks'"
        hint = 'give one of them, such as kubernetes: "1.34"'
        raise InputError(f"environment '{name}' has {what}", keys.locate(*given[1:]), hint)
    # An environment's settings of single policies on top of the project's.
    settings = {
        policy_name: replace(policy, everywhere=True)
        for policy_name, policy in read_policies(project).items()
    }
    for policy_name, policy_settings in read_policies(keys).items():
        settings[policy_name] = policy_settings.over(settings.get(policy_name))
    return Environment(
        name=name,
        cluster=cluster,
        region=body.get("region", ""),
        kyverno=parse_version(body["kyverno"], "Kyverno", keys.locate("kyverno")),
        kubernetes=parse_version(keys.body[given[0]], "Kubernetes", keys.locate(given[0])),
        eks="eks" in body,
        engine=body.get("engine", True),
        engine_values=engine_values,
        high_availability=body.get("highAvailability", False),
        action=read_action(body)
        or DEFAULT_ACTIONS.get(_chain(keys.document, group)[-1], Action.AUDIT),
        actions=read_actions(keys),
        policy_type=_policy_type(body) or _policy_type(general),
        profiles=tuple(body.get("profiles", general.get("profiles", DEFAULT_PROFILES))),
        parameters=MappingProxyType(dict(body.get("parameters", {}))),
        policies=MappingProxyType(settings),
        exclude=read_exclusions(project) + read_exclusions(keys),
        exceptions=read_files(keys, "exceptions", root),
        apis=MappingProxyType(dict(body.get("apis", {}))),
        workloads=read_workloads(project, root) + read_workloads(keys, root),
        baseline=root / body["baseline"] if "baseline" in body else None,
        suppressions=body.get("suppressions", general.get("suppressions", True)),
        monitoring=read_monitoring(keys),
        policy_reporter=read_policy_reporter(keys),
        keys=keys,
        release=parse_release(body["kyverno"]),
        accepted=body.get("compatibility", {}).get("accept", ""),
    )


def _policy_type(body: Body) -> PolicyType | None:
    return PolicyType(body["policyType"]) if "policyType" in body else None

"""The files of an adopted project: chartkit.yaml, its profile, policies, exceptions, values and
baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.operate.adopt.chart_values import ChartSettings
from chartkit.addons.operate.adopt.engine import Versions
from chartkit.addons.operate.adopt.policies import LIBRARY, AdoptedPolicy, settings_of
from chartkit.charts.new_project import schema_text
from chartkit.documents.yaml_dump import comment, commented
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.model import Body, FieldPath
from chartkit.project.project import FILE_NAME, SCHEMA
from chartkit.project.settings import Action

PROFILE: Final = "profiles/adopted.yaml"
_BASELINES: Final = "baselines"
_MODELINE: Final = f"# yaml-language-server: $schema=.chartkit/{SCHEMA}"
_HEAD: Final = (
    "The project file, written by `chartkit adopt` of what was in use. `chartkit render` writes "
    "charts/ and checks every environment."
)
_SHARED_EXCEPTIONS: Final = "exceptions/all"
_COMMENTS: Final[Mapping[str, str]] = {
    "library": "The policies that were in use, each as it was written.",
    "profiles": "Every policy of the library; built-in profiles can be added.",
    "engine": "Kyverno is installed by another chart; `chartkit plan` shows the way to chartkit's.",
    "action": "For policies of chartkit's libraries: those in policies/ keep their own actions.",
    "engineValues": "The values of the release, as today's chart takes them.",
    "policyType": "The form that the policies of chartkit's library had.",
    "exceptions": "The exceptions that were in use; the chart installs them.",
    "baseline": "What violated the policies already.",
    "workloads": "The manifests that were read.",
    "exclude": "The files that were left out.",
}
PathWriter = Callable[[str], str]
"""Writes the path of a workload as chartkit.yaml names it."""


@dataclass(frozen=True, slots=True)
class AdoptedEnvironment:
    """An environment of the project.

    values: the paths of its engine's values files; exceptions: the folder of its exceptions, empty
    for none; has_baseline: whether it has one; workloads: paths as the user wrote them; chart: what
    values of upstream's chart of policies come to, None without any.
    """

    name: str
    versions: Versions
    values: tuple[str, ...] = ()
    exceptions: str = ""
    has_baseline: bool = False
    workloads: tuple[str, ...] = ()
    chart: ChartSettings | None = None


@dataclass(slots=True)
class AdoptedProject:
    """A project about to be written; texts: of all files but chartkit.yaml and the profile;
    exclude: patterns of paths to leave out."""

    environments: list[AdoptedEnvironment]
    policies: Sequence[AdoptedPolicy]
    texts: dict[str, str] = field(default_factory=dict)
    exclude: Sequence[str] = ()

    def share(self) -> Mapping[str, str]:
        """Keep values and exceptions that are the same in all environments once; return the new
        path of each file that moved."""
        moved: dict[str, str] = {}
        if len(self.environments) > 1:
            moved |= self._moved(
                [own.values for own in self.environments],
                lambda name, at: (
                    f"{name.partition('/')[0]}/values{f'-{at + 1}' if at else ''}.yaml"
                ),
            )
            folders = [f"{own.exceptions}/" for own in self.environments if own.exceptions]
            if len(folders) == len(self.environments):
                names = [[n for n in self.texts if n.startswith(folder)] for folder in folders]
                moved |= self._moved(
                    names, lambda name, _at: f"{_SHARED_EXCEPTIONS}/{name.rpartition('/')[2]}"
                )
        self.texts = {moved.get(name, name): text for name, text in self.texts.items()}
        afters: list[AdoptedEnvironment] = []
        for environment in self.environments:
            folder = environment.exceptions
            if folder and any(name.startswith(f"{folder}/") for name in moved):
                folder = _SHARED_EXCEPTIONS
            values = tuple(moved.get(name, name) for name in environment.values)
            afters.append(replace(environment, values=values, exceptions=folder))
        self.environments = afters
        return moved

    def set_baselines(self, texts: Mapping[str, str]) -> None:
        """Give the named environments a baseline, and its file a text unless it is empty."""
        self.environments = [
            replace(own, has_baseline=own.name in texts) for own in self.environments
        ]
        files = {baseline_file(name.replace("/", "_")): text for name, text in texts.items()}
        self.texts |= {file: text for file, text in files.items() if text}

    def _moved(
        self, names: Sequence[Sequence[str]], rename: Callable[[str, int], str]
    ) -> Mapping[str, str]:
        """The new names of files whose texts are the same in all environments."""
        texts = [[self.texts[name] for name in row] for row in names]
        if not texts[0] or any(text != texts[0] for text in texts):
            return {}
        return {name: rename(name, at) for row in names for at, name in enumerate(row)}

    def files(self, path_of: PathWriter) -> dict[str, str]:
        """Return all files by path, chartkit.yaml last."""
        same = {policy.reference: policy.same_as for policy in self.policies}
        added = dict.fromkeys(name for settings in self._charts() for name in settings.added)
        body: Body = {
            "apiVersion": "chartkit.dev/v1",
            "kind": "Profile",
            "metadata": {"name": "adopted"},
            "spec": {
                "title": "The policies that were in use",
                "policies": {name: {} for name in (*same, *added)},
            },
        }

        def comments(path: FieldPath) -> str:
            names = same.get(str(path[-1]), ()) if path[:2] == ("spec", "policies") else ()
            return f"Means the same as {' and '.join(names)}." if names else ""

        return {
            **self.texts,
            **{policy.file: policy.text for policy in self.policies if not policy.replaced_by},
            f".chartkit/{SCHEMA}": schema_text(),
            PROFILE: commented(body, comments).replace("\n\n", "\n"),
            FILE_NAME: self._project(path_of),
        }

    def _project(self, path_of: PathWriter) -> str:
        body: Body = {}
        if any(not policy.replaced_by for policy in self.policies):
            body |= {"library": [LIBRARY]}
        body |= {"profiles": [f"./{PROFILE}"]}
        if self.exclude:
            body |= {"exclude": list(self.exclude)}
        environments = self._environments(path_of)
        if shared := _in_common(list(environments.values())):
            body["defaults"] = shared
        body["environments"] = {
            name: {key: value for key, value in own.items() if key not in shared}
            for name, own in environments.items()
        }
        said: dict[str, FieldPath] = {}

        def comments(path: FieldPath) -> str:
            key = str(path[-1])
            of_policy = "policies" in path[:-1]
            is_first = not of_policy and said.setdefault(key, path) == path
            if not is_first or (key == "engine" and self.environments[0].versions.has_engine):
                return ""
            values = self.environments[0].values if key == "engine" else ()
            later = f" Then: engineValues: [{', '.join(values)}]." if values else ""
            return _COMMENTS.get(key, "") + later

        return f"{_MODELINE}\n{comment(_HEAD)}\n\n{commented(body, comments)}"

    def _environments(self, path_of: PathWriter) -> Body:
        """Return the value of `environments`; what all clusters of one have in common is its."""
        environments: Body = {}
        groups: dict[str, Body] = {}
        for environment in self.environments:
            name, _, cluster = environment.name.partition("/")
            body = self._environment(environment, path_of)
            if cluster:
                groups.setdefault(name, {})[cluster] = body
                environments[name] = {}
            else:
                environments[name] = body
        for name, clusters in groups.items():
            shared = _in_common(list(clusters.values()))
            own = {
                cluster: {key: own[key] for key in own if key not in shared}
                for cluster, own in clusters.items()
            }
            environments[name] = {**shared, "clusters": own}
        return environments

    def _environment(self, environment: AdoptedEnvironment, path_of: PathWriter) -> Body:
        versions, name = environment.versions, environment.name.replace("/", "_")
        body: Body = {
            "kyverno": str(versions.release or versions.kyverno),
            "eks" if versions.eks else "kubernetes": str(versions.kubernetes),
            "engine": versions.has_engine,
            "action": str(Action.AUDIT),
        }
        if environment.values and versions.has_engine:
            body["engineValues"] = list(environment.values)
        if environment.exceptions:
            body["exceptions"] = [environment.exceptions]
        if environment.has_baseline:
            body["baseline"] = baseline_file(name)
        if environment.workloads:
            body["workloads"] = [path_of(workload) for workload in environment.workloads]
        settings: Body = dict(settings_of(self.policies, environment.name))
        chart = environment.chart or ChartSettings()
        missing = {name for plan in self._charts() for name in plan.added} - set(chart.added)
        settings |= chart.policies | {name: {"enabled": False} for name in sorted(missing)}
        if chart.profiles:
            body["profiles"] = [*chart.profiles, f"./{PROFILE}"]
        replaced = [policy for policy in self.policies if policy.replaced_by]
        if any(is_legacy(policy.piece.resource) for policy in replaced):
            body["policyType"] = "ClusterPolicy"
        return body | chart.environment | ({"policies": settings} if settings else {})

    def _charts(self) -> Iterator[ChartSettings]:
        return (other.chart for other in self.environments if other.chart is not None)


def _in_common(bodies: Sequence[Body]) -> Body:
    """The keys that all mappings have with the same value."""
    first, *others = bodies
    if not others:
        return {}
    return {
        key: value
        for key, value in first.items()
        if all(key in other and other[key] == value for other in others)
    }


def baseline_file(environment: str) -> str:
    """Return the path of an environment's baseline in the project."""
    return f"{_BASELINES}/{environment}.yaml"

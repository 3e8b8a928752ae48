"""The files of an adopted project: chartkit.yaml, its profile, policies, exceptions, values and
baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.model import Body
from chartkit.output.commented_yaml import Path as KeyPath
from chartkit.output.commented_yaml import comment, commented
from chartkit.project.project import FILE_NAME, SCHEMA
from chartkit.project.settings import Action
from chartkit.rollout.adopt.policies import LIBRARY, AdoptedPolicy, settings_of
from chartkit.rollout.adopt.versions import Versions
from chartkit.schemas import json_schema

PROFILE: Final = "profiles/adopted.yaml"
_BASELINES: Final = "baselines"
_EXCEPTIONS: Final = "exceptions"
_MODELINE: Final = f"# yaml-language-server: $schema=.chartkit/{SCHEMA}"
_HEAD: Final = (
    "The project file, written by `chartkit adopt` of what was in use. `chartkit render` writes "
    "charts/ and checks every environment."
)
_COMMENTS: Final[Mapping[str, str]] = {
    "library": "The policies that were in use, each as it was written.",
    "profiles": "Every policy of the library; built-in profiles can be added.",
    "engine": "Kyverno is installed by another chart; `chartkit plan` shows the way to chartkit's.",
    "action": "For policies of chartkit's libraries: those in policies/ keep their own actions.",
    "engineValues": "The values of the release, as today's chart takes them.",
    "exceptions": "The exceptions that were in use; the chart installs them.",
    "baseline": "What violated the policies already.",
    "workloads": "The manifests that were read.",
}
PathWriter = Callable[[str], str]
"""Writes the path of a workload as chartkit.yaml names it."""


@dataclass(frozen=True, slots=True)
class AdoptedEnvironment:
    """An environment of the project; values: the paths of its engine's values files; exceptions,
    baseline: whether it has any; workloads: paths as the user wrote them."""

    name: str
    versions: Versions
    values: tuple[str, ...] = ()
    has_exceptions: bool = False
    has_baseline: bool = False
    workloads: tuple[str, ...] = ()


@dataclass(slots=True)
class AdoptedProject:
    """A project about to be written; texts: of all files but chartkit.yaml and the profile."""

    environments: list[AdoptedEnvironment]
    policies: Sequence[AdoptedPolicy]
    texts: dict[str, str] = field(default_factory=dict)

    def files(self, path_of: PathWriter) -> dict[str, str]:
        """Return all files by path, chartkit.yaml last."""
        return {
            **self.texts,
            **{each.file: each.text for each in self.policies},
            f".chartkit/{SCHEMA}": json_schema.text(SCHEMA),
            PROFILE: self._profile(),
            FILE_NAME: self._project(path_of),
        }

    def _profile(self) -> str:
        same = {each.name: each.same_as for each in self.policies}
        body: Body = {
            "apiVersion": "chartkit.dev/v1",
            "kind": "Profile",
            "metadata": {"name": "adopted"},
            "spec": {
                "title": "The policies that were in use",
                "policies": {each.name: {} for each in self.policies},
            },
        }

        def comments(path: KeyPath) -> str:
            names = same.get(str(path[-1]), ()) if path[:2] == ("spec", "policies") else ()
            return f"Means the same as {' and '.join(names)}." if names else ""

        return commented(body, comments).replace("\n\n", "\n")

    def _project(self, path_of: PathWriter) -> str:
        body: Body = {}
        if self.policies:
            body |= {"library": [LIBRARY]}
        body |= {"profiles": [f"./{PROFILE}"]}
        body["environments"] = self._environments(path_of)
        said: dict[str, KeyPath] = {}

        def comments(path: KeyPath) -> str:
            key = str(path[-1])
            of_policy = "policies" in path[:-1]
            is_first = not of_policy and said.setdefault(key, path) == path
            is_last_word = key != "engine" or not self.environments[0].versions.has_engine
            return _COMMENTS.get(key, "") if is_first and is_last_word else ""

        text = commented(body, comments)
        return f"{_MODELINE}\n{comment(_HEAD)}\n\n{text}"

    def _environments(self, path_of: PathWriter) -> Body:
        """Return the value of `environments`; what all clusters of one have in common is its."""
        found: Body = {}
        groups: dict[str, Body] = {}
        for each in self.environments:
            name, _, cluster = each.name.partition("/")
            body = self._environment(each, path_of)
            if cluster:
                groups.setdefault(name, {})[cluster] = body
                found[name] = {}
            else:
                found[name] = body
        for name, clusters in groups.items():
            first = next(iter(clusters.values()))
            shared = {
                key: value
                for key, value in first.items()
                if all(key in one and one[key] == value for one in clusters.values())
            }
            own = {
                cluster: {key: one[key] for key in one if key not in shared}
                for cluster, one in clusters.items()
            }
            found[name] = {**shared, "clusters": own}
        return found

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
        if environment.has_exceptions:
            body["exceptions"] = [f"{_EXCEPTIONS}/{name}"]
        if environment.has_baseline:
            body["baseline"] = baseline_file(name)
        if environment.workloads:
            body["workloads"] = [path_of(each) for each in environment.workloads]
        if settings := settings_of(self.policies, environment.name):
            body["policies"] = dict(settings)
        return body


def baseline_file(environment: str) -> str:
    """Return the path of an environment's baseline in the project."""
    return f"{_BASELINES}/{environment}.yaml"

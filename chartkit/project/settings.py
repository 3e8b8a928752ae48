"""Settings of an environment for its policies and workloads: actions, exclusions, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from chartkit.model import Body, Json, Location
from chartkit.project.inheritance import Keys


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


class Exclusion(NamedTuple):
    """Objects that policies exclude.

    resources: a resource description as Kyverno's `exclude.any[].resources` has it (kinds,
    namespaces, names, selector, namespaceSelector; all must fit); reason: why, may be empty.
    """

    resources: Body
    reason: str
    location: Location


class NamespaceAction(NamedTuple):
    """Another action in some namespaces (`actions`).

    namespaces: names, wildcards among them; selector: of the namespaces' labels, None for any;
    both must fit.
    """

    action: Action
    namespaces: tuple[str, ...]
    selector: Body | None
    location: Location


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The settings of one policy in a profile, a project or an environment; None: not set.

    action_at: the place of its action; actions: those of single namespaces; places: those of
    `enabled`, `parameters` and each parameter (`parameters.NAME`); everywhere: the environment
    does not name it itself, so that it may have no such policy.
    """

    location: Location
    enabled: bool | None = None
    action: Action | None = None
    action_at: Location | None = None
    actions: tuple[NamespaceAction, ...] = ()
    parameters: Mapping[str, Json] = field(default_factory=dict)
    exclude: tuple[Exclusion, ...] = ()
    places: Mapping[str, Location] = field(default_factory=dict, repr=False)
    everywhere: bool = False

    def over(self, other: PolicySettings | None) -> PolicySettings:
        """Return these settings on top of others; exclusions and actions of namespaces add up."""
        if other is None:
            return self
        return PolicySettings(
            location=self.location,
            enabled=other.enabled if self.enabled is None else self.enabled,
            action=self.action or other.action,
            action_at=self.action_at or other.action_at,
            actions=other.actions + self.actions,
            parameters=MappingProxyType({**other.parameters, **self.parameters}),
            exclude=other.exclude + self.exclude,
            places=MappingProxyType({**other.places, **self.places}),
            everywhere=self.everywhere,
        )


class Workload(NamedTuple):
    """A workload of an environment: a manifest, a folder of manifests, or a chart with values."""

    path: Path
    location: Location
    values: tuple[Path, ...] = ()
    namespace: str = "default"
    release: str = "release"


class NamedFile(NamedTuple):
    """A file or folder that chartkit.yaml names; location: its place there."""

    path: Path
    location: Location


def read_action(body: Body) -> Action | None:
    """Return the action under `action`, None where it is not given."""
    return Action(body["action"]) if "action" in body else None


def read_policies(keys: Keys) -> Mapping[str, PolicySettings]:
    """Return the settings of single policies by name, of a project or an environment."""
    return MappingProxyType(
        {
            name: _settings(keys, ("policies", name), given or {})
            for name, given in keys.body.get("policies", {}).items()
        }
    )


def _settings(keys: Keys, path: tuple[str, str], body: Body) -> PolicySettings:
    parameters = body.get("parameters", {})
    places = {key: keys.locate(*path, key) for key in body}
    for name in parameters:
        places[f"parameters.{name}"] = keys.locate(*path, "parameters", name)
    return PolicySettings(
        location=keys.locate(*path),
        enabled=body.get("enabled"),
        action=read_action(body),
        action_at=keys.locate(*path, "action") if "action" in body else None,
        actions=read_actions(keys, *path),
        parameters=MappingProxyType(dict(parameters)),
        exclude=read_exclusions(keys, *path),
        places=MappingProxyType(places),
        everywhere=not keys.says(*path),
    )


def read_exclusions(keys: Keys, *path: str) -> tuple[Exclusion, ...]:
    """Return the exclusions under `exclude` at a path of the keys."""
    return tuple(
        Exclusion(
            {key: value for key, value in each.items() if key != "reason"},
            each.get("reason", ""),
            keys.locate(*path, "exclude", index),
        )
        for index, each in enumerate(_below(keys, *path).get("exclude", ()))
        if isinstance(each, dict)  # Texts are patterns of paths.
    )


def read_actions(keys: Keys, *path: str) -> tuple[NamespaceAction, ...]:
    """Return the actions of namespaces under `actions` at a path of the keys."""
    return tuple(
        NamespaceAction(
            Action(action["action"]),
            tuple(action.get("namespaces", ())),
            action.get("namespaceSelector"),
            keys.locate(*path, "actions", index),
        )
        for index, action in enumerate(_below(keys, *path).get("actions", ()))
    )


def read_workloads(keys: Keys, root: Path) -> tuple[Workload, ...]:
    """Return the workloads of a project or an environment; root: the project's folder."""
    workloads = []
    for index, given in enumerate(keys.body.get("workloads", ())):
        body: Body = {"path": given} if isinstance(given, str) else given
        workloads.append(
            Workload(
                path=root / body["path"],
                location=keys.locate("workloads", index),
                values=tuple(root / values for values in body.get("values", ())),
                namespace=body.get("namespace", "default"),
                release=body.get("release", "release"),
            )
        )
    return tuple(workloads)


def read_files(keys: Keys, key: str, root: Path) -> tuple[NamedFile, ...]:
    """Return the files that a list of the keys names; root: the project's folder."""
    return tuple(
        NamedFile(root / name, keys.locate(key, index))
        for index, name in enumerate(keys.body.get(key, ()))
    )


def _below(keys: Keys, *path: str) -> Body:
    body: Body = keys.body
    for step in path:
        body = body.get(step) or {}
    return body

"""Settings of an environment for its policies and workloads: actions, exclusions, parameters; with
what it inherits, below its own keys.

Maps are merged key by key, single values and lists are replaced, and the lists of `ADDED` are added
up. A parameter's value is replaced as a whole. null takes away what is inherited.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Body, FieldPath, Json, Location

ADDED: Final = frozenset({"exclude", "workloads", "actions", "exceptions", "engineValues"})
"""The lists that add up: those of an environment, and `exclude` and `actions` of its policies."""
_OF_ONE: Final = frozenset({"extends", "clusters"})
"""The keys that nothing inherits."""
_VERSIONS: Final = ("kubernetes", "eks")
_MODE: Final = "mode"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one place of a document, and those that it inherits.

    body: merged; own: the places that are the environment's, rather than inherited; places: the
    path in the document of what is at a path of the body, where that is not below its parent's.
    """

    body: Body
    document: Document = field(repr=False)
    own: tuple[FieldPath, ...] = ((),)
    places: Mapping[FieldPath, FieldPath] = field(default_factory=lambda: {(): ()}, repr=False)

    def locate(self, *path: str | int) -> Location:
        """Return the place of the key or list item at a path, or of its nearest parent."""
        for length in range(len(path), -1, -1):
            above = self.places.get(path[:length])
            if above is not None:
                return self.document.locate(*above, *path[length:])
        return self.document.location

    def says(self, *path: str | int) -> bool:
        """Report whether a key is the environment's own, rather than inherited."""
        return any(_has(self.document.body, (*above, *path)) for above in self.own)


def whole(document: Document) -> Keys:
    """Return the keys of a whole document."""
    return Keys(document.body, document)


def inherited(document: Document, places: Sequence[FieldPath]) -> Keys:
    """Return the keys of several places of a document, merged; the last one has the last word."""
    merged = _Merged(document)
    for path in places:
        merged.add(path)
    own = tuple(path for path in places if path[:2] == places[-1][:2])
    return Keys(merged.body, document, own, merged.places)


def required(keys: Keys, name: str, key: str) -> Json:
    """Return a key that a map of the keys must have, inherited or not; raise InputError."""
    body: Body = keys.body[name]
    if key not in body:
        raise InputError(f"'{name}' has no '{key}'", keys.locate(name))
    return body[key]


class _Merged:
    """Keys being merged, with their places."""

    def __init__(self, document: Document) -> None:
        self.body: Body = {}
        self.places: dict[FieldPath, FieldPath] = {}
        self._document = document

    def add(self, path: FieldPath) -> None:
        """Put the keys of a place over those that are there."""
        body = self._document.body
        for step in path:
            body = body[step]
        given: Body = body
        self.places[()] = path
        if any(key in given for key in _VERSIONS):
            for key in _VERSIONS:
                self._forget(self.body, (key,))
        self._merge(self.body, {k: v for k, v in given.items() if k not in _OF_ONE}, (), path)

    def _merge(self, below: Body, over: Body, path: FieldPath, place: FieldPath) -> None:
        for key, value in over.items():
            self._set(below, value, (*path, key), (*place, key))

    def _set(self, below: Body, value: Json, path: FieldPath, place: FieldPath) -> None:
        key, before = path[-1], below.get(str(path[-1]))
        if value is None and not _is_parameter(path):
            self._forget(below, path)
        elif isinstance(value, list) and isinstance(before, list) and _adds_up(path):
            for index in range(len(value)):
                self.places[*path, len(before) + index] = (*place, index)
            below[str(key)] = [*before, *value]
        elif isinstance(value, dict) and isinstance(before, dict) and _merges(path, value, before):
            below[str(key)] = own = dict(before)
            for name in before:
                length = next(at for at in range(len(path), -1, -1) if path[:at] in self.places)
                self.places.setdefault(
                    (*path, name), (*(*self.places[path[:length]], *path[length:]), name)
                )
            self.places[path] = place
            self._merge(own, value, path, place)
        else:
            self._forget(below, path)
            below[str(key)] = value
            self.places[path] = place

    def _forget(self, below: Body, path: FieldPath) -> None:
        below.pop(str(path[-1]), None)
        for inner in [inner for inner in self.places if inner[: len(path)] == path]:
            del self.places[inner]


def _adds_up(path: FieldPath) -> bool:
    """Report whether a list is added to the inherited one."""
    of_policy = len(path) == 3 and path[0] == "policies"
    return path[-1] in ADDED and (len(path) == 1 or of_policy)


def _is_parameter(path: FieldPath) -> bool:
    return len(path) > 1 and path[-2] == "parameters" and path[0] in ("parameters", "policies")


def _merges(path: FieldPath, value: Body, before: Body) -> bool:
    """Report whether a map is merged with another one: it takes the place of one that is the value
    of a parameter, or settings for another mode."""
    return not _is_parameter(path) and value.get(_MODE, before.get(_MODE)) == before.get(_MODE)


def _has(body: Json, path: FieldPath) -> bool:
    for step in path:
        if not isinstance(body, dict) or step not in body:
            return False
        body = body[str(step)]
    return True


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
    """Another action in some namespaces (`actions`). namespaces: names, wildcards among them;
    selector: of the namespaces' labels, None for any; both must fit."""

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
    settings: dict[str, PolicySettings] = {}
    for name, given in keys.body.get("policies", {}).items():
        body, path = given or {}, ("policies", name)
        parameters = body.get("parameters", {})
        places = {key: keys.locate(*path, key) for key in body}
        for parameter in parameters:
            places[f"parameters.{parameter}"] = keys.locate(*path, "parameters", parameter)
        settings[name] = PolicySettings(
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
    return MappingProxyType(settings)


def read_exclusions(keys: Keys, *path: str) -> tuple[Exclusion, ...]:
    """Return the exclusions under `exclude` at a path of the keys."""
    return tuple(
        Exclusion(
            {key: value for key, value in body.items() if key != "reason"},
            body.get("reason", ""),
            keys.locate(*path, "exclude", index),
        )
        for index, body in enumerate(_below(keys, *path).get("exclude", ()))
        if isinstance(body, dict)  # Texts are patterns of paths.
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
                path=below_root(root, body["path"]),
                location=keys.locate("workloads", index),
                values=tuple(root / values for values in body.get("values", ())),
                namespace=body.get("namespace", "default"),
                release=body.get("release", "release"),
            )
        )
    return tuple(workloads)


def below_root(root: Path, name: str) -> Path:
    """Return a path of a project, without `..` where no link is on the way."""
    path = root / name
    short = Path(os.path.normpath(path))
    return short if os.path.realpath(short) == os.path.realpath(path) else path


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

"""Everything a test runs with, loaded from what its file names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chartkit.engine.kinds import kind_of
from chartkit.engine.request import Operation, Request, User
from chartkit.engine.user_info import read_user_info
from chartkit.engine.user_values import UserLookups, UserValues, read_values
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, Resource
from chartkit.testing.model import TestFile
from chartkit.testing.sources import Policies, Sources

_OPERATION = "request.operation"


@dataclass(frozen=True, slots=True)
class World:
    """A test's policies and objects, and what the user said about the rest."""

    test: TestFile
    policies: Policies
    resources: tuple[Resource, ...]
    targets: tuple[Resource, ...]
    values: UserValues
    lookups: UserLookups
    user: User | None
    cluster: bool = False
    labels: dict[str, dict[str, str]] = field(default_factory=dict)

    def request(self, resource: Resource, operation: str) -> Request:
        """The admission of an object; operation: that of an expectation, or empty."""
        variables: dict[str, dict[str, Json]] = {}
        for compiled in self.policies.compiled:
            name = compiled.policy.name
            given = dict(self.values.for_resource(name, resource.name))
            if operation:
                given[_OPERATION] = operation
            if given:
                variables[name] = given
        kind, subresource = None, ""
        if not self.cluster:
            kind, subresource = self.values.parent(kind_of(resource))
        return Request(
            resource,
            None,
            Operation.CREATE,
            self.user,
            self._namespace_labels(resource),
            subresource,
            kind,
            variables,
        )

    def _namespace_labels(self, resource: Resource) -> dict[str, str]:
        given = self.values.namespace_labels(resource.namespace)
        if given or not self.cluster or resource.kind == "Namespace":
            return dict(given)
        return self.labels.get(resource.namespace, {})


def load_world(test: TestFile, sources: Sources) -> World:
    """Loads a test; raises ChartkitError for what is not there or cannot be read."""
    folder = test.folder
    values = test.values or _values(test, sources)
    exceptions = sources.exceptions(_paths(folder, test.exceptions))
    policies = sources.policies(_paths(folder, test.policies), exceptions)
    resources = _unique(_objects(test.folder, test.resources, sources))
    targets = _objects(folder, test.targets, sources)
    cluster = _cluster_objects(test, sources)
    objects = [*resources, *targets, *cluster]
    lookups = UserLookups(
        values,
        api_calls=test.api_calls,
        global_entries=_global_entries(test, sources),
        configmaps=[one.body for one in cluster if one.kind == "ConfigMap"],
        values_answer_calls=not test.cluster_resources,
    )
    return World(
        test=test,
        policies=policies,
        resources=tuple(resources),
        targets=tuple(targets),
        values=values,
        lookups=lookups,
        user=_user(test, sources),
        cluster=bool(test.cluster_resources),
        labels=_labels(objects),
    )


def _values(test: TestFile, sources: Sources) -> UserValues:
    if not test.variables:
        return UserValues()
    path = test.folder / test.variables
    body = _single(path, sources)
    return read_values(body, Location(str(path)))


def _user(test: TestFile, sources: Sources) -> User | None:
    if not test.user_info:
        return None
    path = test.folder / test.user_info
    return read_user_info(_single(path, sources), Location(str(path)))


def _single(path: Path, sources: Sources) -> Body:
    """The one document of a file of the command-line program's own kinds."""
    bodies = sources.bodies(path)
    if not bodies:
        raise InputError("is empty", Location(str(path)))
    body = bodies[0]
    if not body.get("apiVersion") or not body.get("kind"):
        hint = "write apiVersion: cli.kyverno.io/v1alpha1 and its kind"
        raise InputError("uses a deprecated schema", Location(str(path)), hint)
    return body


def _cluster_objects(test: TestFile, sources: Sources) -> list[Resource]:
    found: list[Resource] = []
    for path in _paths(test.folder, test.cluster_resources):
        spec = _single(path, sources).get("spec") or {}
        location = Location(str(path))
        if not isinstance(spec, dict) or not isinstance(spec.get("resources") or [], list):
            raise InputError("spec must hold a list of resources", location)
        for body in spec.get("resources") or []:
            if not isinstance(body, dict):
                raise InputError("each of resources must be an object", location)
            found.append(Resource(body, location))
        for crd in spec.get("crds") or []:
            found.extend(sources.objects(test.folder / str(crd)))
    return found


def _global_entries(test: TestFile, sources: Sources) -> list[Body]:
    entries: list[Body] = []
    for entry in test.global_entries:
        files = entry.get("resourceFiles")
        if files is None:
            entries.append(entry)
            continue
        bodies = [
            body for path in _paths(test.folder, tuple(files)) for body in sources.bodies(path)
        ]
        kept = {key: value for key, value in entry.items() if key != "resourceFiles"}
        entries.append({**kept, "resources": bodies})
    return entries


def _paths(folder: Path, names: Sequence[str]) -> list[Path]:
    return [folder / name for name in names]


def _objects(folder: Path, names: Sequence[str], sources: Sources) -> list[Resource]:
    return [one for path in _paths(folder, names) for one in sources.objects(path)]


def _unique(found: Sequence[Resource]) -> list[Resource]:
    """The first of each group, kind, namespace and name, as Kyverno's test command keeps them."""
    unique: dict[tuple[str, str, str, str], Resource] = {}
    for one in found:
        kind = kind_of(one)
        unique.setdefault((kind.group, kind.kind, one.namespace, one.name), one)
    return list(unique.values())


def _labels(found: Sequence[Resource]) -> dict[str, dict[str, str]]:
    labels: dict[str, dict[str, str]] = {}
    for one in found:
        if one.kind == "Namespace" and one.api_version == "v1":
            metadata = one.body.get("metadata") or {}
            labels[one.name] = dict(metadata.get("labels") or {})
    return labels

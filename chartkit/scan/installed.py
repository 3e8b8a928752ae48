"""The policies of a cluster and the configuration of its Kyverno, for objects of files."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qs

from chartkit.engine import World, as_submitted
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.errors import InputError
from chartkit.kyverno.controllers import allows_http, controllers
from chartkit.model import Body, Diagnostic, Resource, mapping_at, mappings_at
from chartkit.network.cluster.reader import Discovery, Reader, config_map_path, policies_there
from chartkit.network.cluster.source import RefusedError, Source, SourceError
from chartkit.scan.cluster import Survey, open_cluster, served_names
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.environment import ProjectEnvironment, config_names, configuration
from chartkit.scan.inputs import Note
from chartkit.scan.requests import RequestOptions, Requests, load_surroundings

_DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
_SELECTED: Final = "labelSelector=app.kubernetes.io%2Fcomponent%3Dadmission-controller"
_VERSION: Final = "/version"
_RELEASE: Final = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+")
_PAGING: Final = frozenset({"limit", "continue"})


def engine_there(reader: Reader) -> list[Resource]:
    """Return the Deployments of Kyverno's admission controllers, and the ConfigMaps that they read;
    what cannot be read is noted."""
    what = "Kyverno's configuration, without which every object counts as sent to it"
    try:
        listed = reader.source.get(f"{_DEPLOYMENTS}?{_SELECTED}")
    except RefusedError as error:
        reader.note(what, error)
        return []
    typed = {"apiVersion": "apps/v1", "kind": "Deployment"}
    resources = [Resource({**item, **typed}) for item in mappings_at(listed, "items")]
    for controller in controllers(resources):
        namespace = controller.deployment.namespace
        for name in config_names(controller):
            try:
                body = reader.source.get(config_map_path(namespace, name))
            except RefusedError as error:
                reader.note(what, error)
                continue
            resources.append(Resource({**body, "apiVersion": "v1", "kind": "ConfigMap"}))
    return resources


def keep_engine(reader: Reader) -> None:
    """Read Kyverno's configuration and the server's version for a recording; what cannot be read
    does not matter to the scan that is recorded."""
    noted = dict(reader.unread)
    engine_there(reader)
    server_version(reader)
    reader.unread = noted


def server_version(reader: Reader) -> str:
    """Return the version of the server without a provider's suffix; empty where it has none."""
    try:
        answer = reader.source.get(_VERSION)
    except RefusedError:
        return ""
    match = _RELEASE.match(str(answer.get("gitVersion")))
    return match[0] if match else ""


class OverlaidSource:
    """The answers of a source, with objects that it need not have. Lists that are chosen by more
    than paging are the source's own."""

    def __init__(self, source: Source, discovery: Discovery, objects: Iterable[Resource]) -> None:
        self._source = source
        self._named: dict[str, Body] = {}
        self._listed: dict[str, dict[tuple[str, str], Body]] = {}
        for resource in objects:
            kind = kind_of(resource)
            served = discovery.of_kind(resource.api_version, kind.kind)
            if served is None or not resource.name:
                continue
            self._named[served.path(resource.namespace, resource.name)] = resource.body
            key = (resource.namespace, resource.name)
            for path in dict.fromkeys((served.path(), served.path(resource.namespace))):
                self._listed.setdefault(path, {})[key] = resource.body

    @property
    def fault(self) -> SourceError | None:
        """The fault of the source."""
        return self._source.fault

    def get(self, path: str, /) -> Body:
        base, _, query = path.partition("?")
        named = self._named.get(base)
        if named is not None:
            return named
        own = self._listed.get(base)
        answer = self._source.get(path)
        if own is None or not _PAGING.issuperset(parse_qs(query, keep_blank_values=True)):
            return answer
        items = answer.get("items")
        there = [item for item in items or () if _key(item) not in own]
        if not mapping_at(answer, "metadata").get("continue"):
            there += own.values()
        return {**answer, "items": there}


def _key(body: Body) -> tuple[str, str]:
    metadata = mapping_at(body, "metadata")
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


@dataclass(frozen=True, slots=True)
class InstalledPolicies:
    """environment: the cluster's policies and its Kyverno; survey: what else was read there;
    diagnostics: what could not be used."""

    environment: ProjectEnvironment
    survey: Survey
    diagnostics: tuple[Diagnostic, ...]

    def completed(self, requests: Requests) -> Requests:
        """Return requests with the namespaces and custom kinds of the cluster; those of files go
        before them."""
        return requests._replace(
            namespace_objects={**self.survey.namespace_objects, **requests.namespace_objects},
            served=served_names(self.survey.reader),
        )

    def world(self, requests: Requests) -> World:
        """Return the cluster as policies would see it with the objects."""
        reader = self.survey.reader
        objects = [as_submitted(resource, custom=requests.names) for resource in requests.objects]
        reader.source = OverlaidSource(reader.source, reader.discovery, objects)
        return self.survey.world(requests.inputs)

    def unread(self) -> list[str]:
        """Return a line for everything that could not be read."""
        return list(self.survey.unread())


@contextlib.contextmanager
def open_installed(
    source: ClusterSource, options: RequestOptions, note: Note
) -> Iterator[InstalledPolicies]:
    """Read the policies of a cluster, or of a recording of one; options: of the exceptions besides.
    Raise InputError where there are none, and SourceError where the cluster does not answer."""
    with open_cluster(source) as reader:
        survey = Survey(reader, load_surroundings(options, note))
        resources = policies_there(reader)
        if not resources:
            hint = "a recording has them if it was made with --cluster-policies"
            raise InputError("the cluster has no policy that can be read", hint=hint)
        name = str(source.recording) if source.recording else source.context or "the cluster"
        yield InstalledPolicies(
            installed_environment(name, survey, resources), survey, survey.diagnostics
        )


def installed_environment(
    name: str, survey: Survey, resources: Sequence[Resource]
) -> ProjectEnvironment:
    """Return the policies of a cluster and the configuration of its Kyverno."""
    engine = engine_there(survey.reader)
    config, _ = configuration(engine)

    discovery = survey.reader.discovery
    return ProjectEnvironment(
        name=name,
        resources=resources,
        configuration=config,
        kube_version=server_version(survey.reader),
        api_versions=tuple(dict.fromkeys(resource.api_version for resource in discovery.all)),
        allows_http=allows_http(engine),
        attachments=replace(survey.around, names=served_names(survey.reader)),
    )

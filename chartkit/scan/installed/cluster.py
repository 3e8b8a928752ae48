"""The policies of a cluster, with its exceptions, namespaces and Kyverno's configuration, as an
environment that judges files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chartkit.engine import World, as_submitted
from chartkit.errors import InputError
from chartkit.kyverno.controllers import allows_http
from chartkit.model import Diagnostic, Resource
from chartkit.network.cluster.installed import policies_there
from chartkit.scan.cluster import Survey, open_cluster, served_names
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.inputs import Note
from chartkit.scan.installed.configuration import configuration
from chartkit.scan.installed.engine import engine_there, server_version
from chartkit.scan.installed.overlay import OverlaidSource
from chartkit.scan.options import ScanOptions
from chartkit.scan.requests import Requests, load_surroundings


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
        return replace(
            requests,
            namespaces={**self.survey.namespaces, **requests.namespaces},
            namespace_objects={**self.survey.namespace_objects, **requests.namespace_objects},
            served=served_names(self.survey.reader),
        )

    def world(self, requests: Requests) -> World:
        """Return the cluster as policies would see it with the objects."""
        reader = self.survey.reader
        objects = [as_submitted(each, custom=requests.names) for each in requests.objects]
        reader.source = OverlaidSource(reader.source, reader.discovery, objects)
        return self.survey.world(requests.inputs)

    def unread(self) -> list[str]:
        """Return a line for everything that could not be read."""
        return list(self.survey.unread())


@contextlib.contextmanager
def open_installed(
    source: ClusterSource, options: ScanOptions, note: Note
) -> Iterator[InstalledPolicies]:
    """Read the policies of a cluster, or of a recording of one. Raise InputError where there are
    none, and SourceError where the cluster does not answer."""
    with open_cluster(source) as reader:
        survey = Survey(reader, load_surroundings(options.request, note))
        found = policies_there(reader)
        if not found:
            hint = "a recording has them if it was made with --cluster-policies"
            raise InputError("the cluster has no policy that can be read", hint=hint)
        name = str(source.recording) if source.recording else source.context or "the cluster"
        yield InstalledPolicies(
            installed_environment(name, survey, found), survey, survey.diagnostics
        )


def installed_environment(
    name: str, survey: Survey, found: Sequence[Resource]
) -> ProjectEnvironment:
    """Return the policies of a cluster and the configuration of its Kyverno."""
    engine = engine_there(survey.reader)
    config, _ = configuration(engine)

    discovery = survey.reader.discovery
    return ProjectEnvironment(
        name=name,
        resources=found,
        configuration=config,
        kube_version=server_version(survey.reader),
        api_versions=tuple(dict.fromkeys(each.api_version for each in discovery.all)),
        allows_http=allows_http(engine),
        attachments=replace(survey.around, names=served_names(survey.reader)),
    )

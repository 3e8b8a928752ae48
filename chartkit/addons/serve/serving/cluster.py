"""Policies of a server from a cluster, read again when any of them changes there."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chartkit.addons.serve.admission.review import is_role_binding
from chartkit.addons.serve.admission.served_policies import Served
from chartkit.addons.serve.serving.surroundings import served
from chartkit.documents.unread import strict
from chartkit.engine import World, is_exception, is_policy
from chartkit.engine.context.global_context import is_global_context_entry
from chartkit.engine.kubernetes.kinds import is_binding
from chartkit.model import Diagnostic, Resource
from chartkit.network.cluster.discovery import NAMESPACES, ApiResource, Discovery, sample
from chartkit.network.cluster.installed import policies_there
from chartkit.network.cluster.reader import Reader
from chartkit.scan.cluster import Survey, answers
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.installed.cluster import InstalledPolicies, installed_environment
from chartkit.scan.options import RequestOptions
from chartkit.scan.requests import Requests, load_requests, load_surroundings

if TYPE_CHECKING:
    from chartkit.network.cluster.watching import Watches


@dataclass
class ClusterPolicies:
    """The policies of a live cluster, or of a recording of one; options: for objects and settings
    besides."""

    options: RequestOptions
    source: ClusterSource
    _watches: Watches | None = None

    def load(self) -> Served:
        """Return the policies of the cluster; those that do not compile are left out and named.
        Raise ChartkitError where it does not answer."""
        found, namespace = answers(self.source)
        reader = Reader(found, namespace)
        if self._watches is None and self.source.recording is None:
            self._watches = self._watch(reader.discovery)
        notes: list[Diagnostic] = []
        survey = Survey(reader, load_surroundings(self.options, notes.append))
        environment = installed_environment("the cluster", survey, policies_there(reader))
        installed = InstalledPolicies(environment, survey, survey.diagnostics)
        notes += survey.diagnostics
        requests = load_requests(
            self.options,
            io.StringIO(),
            strict(notes.append),
            environment=environment,
            needs_objects=False,
        )
        requests = installed.completed(requests)
        bindings = list(_bindings(reader))
        world = self._world(installed, requests)

        unread = [f"not read: {what}: {reason}" for what, reason in reader.unread.items()]
        result = served(requests, world, environment, notes, bindings)
        return replace(result, notes=(*result.notes, *unread))

    def _world(self, installed: InstalledPolicies, requests: Requests) -> Callable[[], World]:
        """Return what gives the cluster as it is now, below the objects of files."""
        reader, survey = installed.survey.reader, installed.survey
        if requests.objects:
            installed.world(requests)

        def world() -> World:
            if reader.source.fault is not None:
                reader.source, _ = answers(self.source)
                if requests.objects:
                    return installed.world(requests)
            return survey.world(requests.inputs)

        return world

    def changed(self) -> bool:
        """Return whether policies, exceptions, namespaces or bindings changed in the cluster."""
        return self._watches is not None and self._watches.changed()

    def close(self) -> None:
        """End the watches."""
        if self._watches is not None:
            self._watches.close()
            self._watches = None

    def _watch(self, discovery: Discovery) -> Watches:
        from chartkit.network.cluster.client import connect
        from chartkit.network.cluster.watching import Watches

        paths = [each.path() for each in _watched(discovery)]
        return Watches(connect(self.source.context), paths)


def _watched(discovery: Discovery) -> Iterator[ApiResource]:
    """Yield the resources whose objects decide verdicts, each in one version."""
    known: set[tuple[str, str]] = set()
    for served_kind in discovery.all:
        group, _, kind = served_kind.kind
        one = Resource(sample(served_kind))
        decides = (
            is_policy(one)
            or is_binding(one)
            or is_exception(one)
            or is_global_context_entry(one)
            or is_role_binding(one)
            or served_kind.kind == NAMESPACES.kind
        )
        if decides and (group, kind) not in known:
            known.add((group, kind))
            yield served_kind


def _bindings(reader: Reader) -> Iterator[Resource]:
    for each in reader.discovery.all:
        if is_role_binding(Resource(sample(each))):
            yield from reader.everywhere(each)

"""A scan of a cluster put together: what is read for it, and what is said at its end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chartkit.engine.policies import AnyPolicy, Surroundings
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.model import Body, Diagnostic, Resource
from chartkit.network.cluster.installed import (
    entries_there,
    exceptions_there,
    joined,
    policies_there,
)
from chartkit.network.cluster.kinds import kinds_to_read
from chartkit.network.cluster.reader import Reader
from chartkit.network.cluster.recorded_calls import services_of
from chartkit.network.cluster.recording import RecordedSource, recorder
from chartkit.network.cluster.source import Source
from chartkit.network.cluster.world import live_world
from chartkit.scan.run import namespaces_among
from chartkit.scan.statements import Statements


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user names: a kubeconfig's context (None: the current one), or a recording in the
    place of a cluster; a namespace, empty for all; a folder to record into."""

    context: str | None = None
    recording: Path | None = None
    namespace: str = ""
    record: Path | None = None


@contextlib.contextmanager
def opened(wanted: Wanted) -> Iterator[Reader]:
    """A cluster to read. What is recorded is there when this ends well, and else not.

    Raises InputError for a kubeconfig, recording or namespace that cannot be used, and SourceError
    where the cluster does not answer.
    """
    source, namespace = _source(wanted)
    if wanted.record is None:
        yield Reader(source, namespace)
        return
    with recorder(source, wanted.record, namespace) as recording:
        yield Reader(recording, namespace)


def _source(wanted: Wanted) -> tuple[Source, str]:
    if wanted.recording is not None:
        recorded = RecordedSource(wanted.recording)
        return recorded, wanted.namespace or recorded.namespace
    from chartkit.network.cluster.client import connect
    from chartkit.network.cluster.live import LiveSource

    return LiveSource(connect(wanted.context)), wanted.namespace


class Surveyed:
    """What stands around the objects: the cluster's exceptions, entries and namespaces."""

    def __init__(self, reader: Reader, given: Surroundings) -> None:
        """given: what the user gave beside the cluster's."""
        self.reader = reader
        there, wrong = exceptions_there(reader)
        self.around = joined(given, there)
        self._entries, wrong_too = entries_there(reader)
        self.diagnostics: tuple[Diagnostic, ...] = (*wrong, *wrong_too)
        found = [Resource(body) for body in reader.namespaces.values()]
        self.namespace_objects: Mapping[str, Body] = namespaces_among(found)

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of each namespace."""
        objects = self.namespace_objects
        return {name: body["metadata"]["labels"] for name, body in objects.items()}

    def policies(self) -> list[Resource]:
        """The policies that are installed."""
        return policies_there(self.reader)

    def world(self, statements: Statements) -> World:
        """The cluster as policies ask it, below what the user says."""
        services = services_of(self.reader.source, statements.services)
        given = replace(statements.given, services=services or OFFLINE.services)
        return live_world(self.reader, given, self._entries)

    def objects(self, policies: Sequence[AnyPolicy]) -> Iterator[Resource]:
        """The objects that the policies speak of, kind by kind, as they are read; raises
        SourceError once the cluster does not answer, a policy's question or the scan's own."""
        for served in kinds_to_read(policies, self.reader.discovery):
            for found in self.reader.objects(served):
                yield found
                if self.reader.source.fault is not None:
                    raise self.reader.source.fault

    def unread(self) -> Iterator[str]:
        """A line for everything that could not be read."""
        for what, reason in self.reader.unread.items():
            yield f"not read: {what}: {reason}"

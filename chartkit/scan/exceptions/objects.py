"""The objects that exceptions are checked with: files, or a recording of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from chartkit.engine import NO_ATTACHMENTS, RunnablePolicy
from chartkit.errors import InputError
from chartkit.network.cluster.recording import is_recording
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.exceptions.need import Needs
from chartkit.scan.inputs import Note
from chartkit.scan.requests import RequestOptions, load_named_policies, load_requests
from chartkit.scan.run import ScanContext
from chartkit.scan.user_inputs import load_user_inputs


@contextmanager
def needs_of(
    options: RequestOptions, environment: ProjectEnvironment | None, stdin: TextIO, note: Note
) -> Iterator[tuple[Sequence[RunnablePolicy], Needs | None]]:
    """Yield policies without exceptions, and what the objects at the paths need of those; None
    without paths. Raise InputError."""
    recordings = [path for path in map(Path, options.inputs.paths) if is_recording(path)]
    if recordings and len(options.inputs.paths) > 1:
        raise InputError("a recording is read alone", hint="leave the other PATHs out")
    without = replace(options, policies=replace(options.policies, exceptions=()))
    if options.inputs.paths and not recordings:
        requests = load_requests(without, stdin, note, environment=environment)
        policies = requests.policies.policies
        yield policies, Needs(policies, requests.objects, requests.context(requests.world()))
        return
    if environment is not None:
        policies = environment.policies(NO_ATTACHMENTS).policies
    else:
        policies = load_named_policies(without, NO_ATTACHMENTS).policies
    if not recordings:
        yield policies, None
        return
    with _recorded(recordings[0], without, policies, note) as needs:
        yield policies, needs


@contextmanager
def _recorded(
    recording: Path, options: RequestOptions, policies: Sequence[RunnablePolicy], note: Note
) -> Iterator[Needs]:
    from chartkit.scan.cluster import Survey, open_cluster
    from chartkit.scan.cluster_source import ClusterSource

    source = ClusterSource(recording=recording, namespace=options.inputs.only_namespace)
    with open_cluster(source) as reader:
        survey = Survey(reader, NO_ATTACHMENTS)
        context = ScanContext(
            survey.namespaces,
            survey.namespace_objects,
            survey.world(load_user_inputs(options.world, note)),
            plural_of=reader.discovery.plural,
        )
        yield Needs(policies, list(survey.objects(policies)), context)

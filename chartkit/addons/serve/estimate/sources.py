"""The objects and policies of an estimate: files, a recording of a cluster, or a live one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from chartkit.addons.serve.estimate.run import EstimateInput
from chartkit.errors import InputError
from chartkit.network.cluster.recording import is_recording
from chartkit.scan.cluster import Survey, open_cluster, served_names
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.inputs import Note
from chartkit.scan.requests import (
    RequestOptions,
    load_named_policies,
    load_requests,
    load_surroundings,
)
from chartkit.scan.user_inputs import load_user_inputs


@contextmanager
def open_input(
    options: RequestOptions,
    live: ClusterSource | None,
    environment: ProjectEnvironment | None,
    nodes: int | None,
    stdin: TextIO,
    note: Note,
) -> Iterator[tuple[EstimateInput, list[str]]]:
    """Yield what to estimate, with a line for everything that could not be read; live: the cluster
    to read, None for the paths. Raise InputError, and SourceError where a cluster does not
    answer."""
    recordings = [path for path in map(Path, options.inputs.paths) if is_recording(path)]
    if recordings and (len(options.inputs.paths) > 1 or live is not None):
        raise InputError("a recording is read alone", hint="leave the other PATHs out")
    if live is not None and options.inputs.paths:
        raise InputError("--cluster and PATH do not go together", hint="leave one of them out")
    if recordings:
        live = ClusterSource(recording=recordings[0], namespace=options.inputs.only_namespace)
    if live is None:
        requests = load_requests(options, stdin, note, environment=environment)
        context = requests.context(requests.world())
        policies, objects = requests.policies, requests.objects
        yield (
            EstimateInput(policies, objects, context, requests.names, False, environment, nodes),
            [],
        )
        return
    with open_cluster(live) as reader:
        survey = Survey(reader, load_surroundings(options, note))
        if environment is not None:
            policies = environment.policies(survey.around)
        else:
            policies = load_named_policies(options, survey.around)
        for diagnostic in (*survey.diagnostics, *policies.diagnostics, *policies.remarks):
            note(diagnostic)
        inputs = load_user_inputs(options.world, note)
        context = survey.context(policies, inputs)
        running = [policy for policy in policies.policies if not policy.judges_json]
        objects = list(survey.objects(running))
        names = served_names(reader)
        estimate_input = EstimateInput(policies, objects, context, names, True, environment, nodes)
        yield estimate_input, list(survey.unread())

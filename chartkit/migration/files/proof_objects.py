"""The objects that the user gives for proofs: of files, or of a recorded cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.policy_reader import KINDS
from chartkit.migration.plan.inventory import LegacyObject
from chartkit.model import Resource
from chartkit.network.cluster.recording import is_recording
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.inputs import Note, read_inputs


def given_objects(
    paths: Sequence[str], legacy: Sequence[LegacyObject], stdin: TextIO, note: Note
) -> list[Resource]:
    """Return the objects at paths; of a recording, those of kinds that the policies match.

    Raise InputError and SourceError for what cannot be read.
    """
    found: list[Resource] = []
    for path in paths:
        if is_recording(Path(path)):
            found += _recorded(Path(path), legacy)
        else:
            found += read_inputs([path], stdin, note)
    return found


def _recorded(folder: Path, legacy: Sequence[LegacyObject]) -> Iterator[Resource]:
    from chartkit.network.cluster.installed import kinds_to_read
    from chartkit.scan.cluster import open_cluster

    policies = [compile_policy(one.resource) for one in legacy if one.resource.kind in KINDS]
    with open_cluster(ClusterSource(None, folder, "", None)) as reader:
        for served in kinds_to_read(policies, reader.discovery):
            yield from reader.objects(served)

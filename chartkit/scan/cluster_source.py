"""The cluster that the options of a scan name: a live one, or a recording of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.scan.inputs import is_remote

LIVE: Final = "cluster"
"""The value of `--policies-from` for the live cluster."""


class ClusterSource(NamedTuple):
    """context: of the kubeconfig, None for the current one; recording: a folder to read instead of
    a cluster; namespace: empty for all; record: the folder to record into."""

    context: str | None = None
    recording: Path | None = None
    namespace: str = ""
    record: Path | None = None


def recordings_among(paths: Sequence[str]) -> list[Path]:
    """Return the recordings of clusters among paths of objects."""
    return list(filter(_is_recording, (Path(path) for path in paths if not is_remote(path))))


def _is_recording(path: Path) -> bool:
    from chartkit.documents.input_files import is_folder

    if not is_folder(path):
        return False
    from chartkit.network.cluster.recording import is_recording

    return is_recording(path)


def recorded(given: str) -> ClusterSource:
    """Return the recording of a cluster in a folder; raise InputError for another folder."""
    folder = Path(given)
    if not _is_recording(folder):
        hint = f"'{LIVE}' is the live one; scan --cluster --cluster-policies --record DIR makes one"
        raise InputError("is not a recording of a cluster", Location(given), hint)
    return ClusterSource(recording=folder)

"""The cluster that the options of a scan name: a live one, or a recording of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Options of a scan of a live cluster, or of a recording of one; context: of the kubeconfig;
    record: the folder to record into; policies_from: `cluster` or a recording, whose policies judge
    files."""

    cluster: bool = False
    context: str | None = None
    cluster_policies: bool = False
    reports: bool = False
    fail_on_differences: bool = False
    record: Path | None = None
    policies_from: str | None = None

    @property
    def compares_reports(self) -> bool:
        """True if the cluster's reports are compared with the results."""
        return self.reports or self.fail_on_differences

    def source(self, recording: Path | None, namespace: str) -> ClusterSource:
        """Return what to read; raise InputError for options of a live cluster with a recording."""
        self._require_live(recording)
        return ClusterSource(self.context, recording, namespace, self.record)

    def policies_source(self) -> ClusterSource:
        """Return the cluster or recording whose policies judge files, by `--policies-from`; raise
        InputError for what is neither."""
        given = self.policies_from or ""
        if given == LIVE:
            return ClusterSource(self.context, None, "", self.record)
        source = recorded(given)
        self._require_live(source.recording)
        return source

    def _require_live(self, recording: Path | None) -> None:
        if recording is not None and (self.context or self.record):
            raise InputError("--context and --record are for a live cluster, not for a recording")


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

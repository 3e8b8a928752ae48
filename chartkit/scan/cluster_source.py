"""The cluster that the options of a scan name: a live one, or a recording of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.scan.inputs import is_remote
from chartkit.scan.options import ScanOptions

LIVE: Final = "cluster"
"""The value of `--policies-from` for the live cluster."""


@dataclass(frozen=True, slots=True)
class ClusterSource:
    """context: of the kubeconfig, None for the current one; recording: a folder to read instead of
    a cluster; namespace: empty for all; record: the folder to record into."""

    context: str | None = None
    recording: Path | None = None
    namespace: str = ""
    record: Path | None = None


def _is_recording(path: Path) -> bool:
    from chartkit.documents.input_files import is_folder

    if not is_folder(path):
        return False
    from chartkit.network.cluster.recording import is_recording

    return is_recording(path)


def cluster_source(options: ScanOptions) -> ClusterSource | None:
    """Return what to read, None where the options name files alone.

    Raise InputError for options that cannot be combined.
    """
    cluster = options.cluster
    paths = [Path(path) for path in options.request.paths if not is_remote(path)]
    recordings = [path for path in paths if _is_recording(path)]
    if cluster.policies_from is not None:
        if cluster.cluster or recordings:
            message = "--policies-from is for files, and a cluster has its own policies"
            raise InputError(message, hint="--cluster-policies uses them")
        return None
    if not cluster.cluster and not recordings:
        for name in _given(_needing_cluster(options)):
            raise InputError(f"{name} needs --cluster, or a recording of one as PATH")
        return None
    if len(options.request.paths) > (0 if cluster.cluster else 1):
        raise InputError("a cluster is scanned alone", hint="leave the other PATHs out")
    for name in _given(_for_files(options)):
        raise InputError(f"{name} is not for a scan of a cluster")
    if options.audit_warn and cluster.compares_reports:
        raise InputError("--audit-warn changes results, and --reports compares them")
    if recordings and (cluster.context or cluster.record):
        raise InputError("--context and --record are for a live cluster, not for a recording")
    recording = recordings[0] if recordings else None
    namespace = options.request.named_namespace or ""
    return ClusterSource(cluster.context, recording, namespace, cluster.record)


def policies_source(options: ScanOptions) -> ClusterSource:
    """Return the cluster or recording whose policies judge files, by `--policies-from`; raise
    InputError for what is neither."""
    cluster, given = options.cluster, options.cluster.policies_from or ""
    needless = {**_needing_cluster(options), "--context": None, "--record": None}
    for name in _given(needless):
        raise InputError(f"{name} needs --cluster, or a recording of one as PATH")
    if given == LIVE:
        return ClusterSource(cluster.context, None, "", cluster.record)
    found = recorded(given)
    if cluster.context or cluster.record:
        raise InputError("--context and --record are for a live cluster, not for a recording")
    return found


def recorded(given: str) -> ClusterSource:
    """Return the recording of a cluster in a folder; raise InputError for another folder."""
    folder = Path(given)
    if not _is_recording(folder):
        hint = f"'{LIVE}' is the live one; scan --cluster --cluster-policies --record DIR makes one"
        raise InputError("is no recording of a cluster", Location(given), hint)
    return ClusterSource(recording=folder)


def _needing_cluster(options: ScanOptions) -> Mapping[str, object]:
    cluster = options.cluster
    return {
        "--context": cluster.context,
        "--cluster-policies": cluster.cluster_policies,
        "--reports": cluster.reports,
        "--fail-on-differences": cluster.fail_on_differences,
        "--record": cluster.record,
    }


def _for_files(options: ScanOptions) -> Mapping[str, object]:
    return {
        "--kube-version": options.request.kube_version,
        "--json": options.is_json,
        "--at": options.at,
        "--api-defaults": options.request.api_defaults,
    }


def _given(options: Mapping[str, object]) -> list[str]:
    return [name for name, value in options.items() if value]

"""All options of `chartkit scan`, by the part of a scan that they are for, and which of them do not
go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chartkit.errors import InputError
from chartkit.scan.gate import GateOptions
from chartkit.scan.inputs import STDIN, is_remote, matching
from chartkit.scan.reporting import OutputOptions
from chartkit.scan.requests import RequestOptions
from chartkit.scan.run import RunOptions

if TYPE_CHECKING:
    from chartkit.scan.cluster_source import ClusterSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """The options of each part of a scan."""

    request: RequestOptions
    cluster: ClusterOptions
    gate: GateOptions
    outputs: OutputOptions
    run: RunOptions

    def deciding(self) -> Iterator[Path]:
        """Yield the files and folders, besides the objects', on which all verdicts depend."""
        inputs, policies, world = self.request.inputs, self.request.policies, self.request.world
        yield from (path for path in map(Path, policies.named_policies) if path.exists())
        yield from map(Path, (*policies.exceptions, *world.values, *matching(inputs.crds)))
        given = (world.userinfo, world.context_file, self.gate.baseline)
        yield from (path for path in given if path is not None and path.exists())

    def require_combinable(self, has_environment: bool, recordings: Sequence[Path]) -> None:
        """Raise InputError for options that do not go together; has_environment: whether policies
        of a project judge; recordings: of clusters, among the paths."""
        request, cluster, run = self.request, self.cluster, self.run
        if has_environment:
            request.policies.require_none_named()
            _forbid("--env", {"--cluster": cluster.cluster})
        if run.is_json and run.at is not None:
            message = "--at is about Kubernetes objects, and --json says that there are none"
            raise InputError(message)
        if run.changed_since is not None and cluster.cluster:
            raise InputError("--changed-since is about files, and --cluster about none")
        if run.executor is not None:
            _forbid(
                "--executor",
                {
                    "--cluster": cluster.cluster,
                    "--policies-from": cluster.policies_from is not None,
                    "--env": has_environment,
                    "--exceptions URL": any(map(is_remote, request.policies.exceptions)),
                    "-o html": any(
                        output.partition("=")[0] == "html" for output in self.outputs.outputs
                    ),
                },
            )
        if cluster.policies_from is not None:
            if self.cluster.cluster or recordings:
                message = "--policies-from is for files, and a cluster has its own policies"
                raise InputError(message, hint="--cluster-policies uses them")
            if has_environment:
                message = "--policies-from and --env do not go together"
                raise InputError(message, hint="leave one out")
            self.request.policies.require_none_named("--policies-from")
            if self.run.changed_since is not None or self.run.is_json:
                message = "--policies-from does not go together with --changed-since and --json"
                raise InputError(message)
            _require_no_cluster(self._of_clusters())
        elif cluster.cluster or recordings:
            inputs, cluster, run = self.request.inputs, self.cluster, self.run
            if len(inputs.paths) > (0 if cluster.cluster else 1):
                raise InputError("a cluster is scanned alone", hint="leave the other PATHs out")
            for_files = {
                "--kube-version": inputs.kube_version,
                "--json": run.is_json,
                "--at": run.at,
                "--api-defaults": inputs.api_defaults,
            }
            for name, value in for_files.items():
                if value:
                    raise InputError(f"{name} is not for a scan of a cluster")
            if run.audit_warn and cluster.compares_reports:
                raise InputError("--audit-warn changes results, and --reports compares them")
        else:
            _require_no_cluster(
                {"--context": cluster.context, **self._of_clusters(), "--record": cluster.record}
            )

    def _of_clusters(self) -> Mapping[str, object]:
        return {
            "--cluster-policies": self.cluster.cluster_policies,
            "--reports": self.cluster.reports,
            "--fail-on-differences": self.cluster.fail_on_differences,
        }

    def require_changes(self) -> None:
        """Raise InputError for options that do not go together with changes of files."""
        if self.run.is_json or self.run.at is not None:
            raise InputError("--changed-since does not go together with --json and --at")
        inputs, policies, world = self.request.inputs, self.request.policies, self.request.world
        named = (*inputs.paths, *policies.named_policies, *inputs.crds)
        if any(map(is_remote, (*named, *policies.exceptions, *world.values))):
            raise InputError("--changed-since is about files, and a URL names none")

    def require_watchable(self) -> None:
        """Raise InputError for options that do not go together with `--watch`."""
        inputs, cluster, run = self.request.inputs, self.cluster, self.run
        _forbid(
            "--watch",
            {
                "--cluster": cluster.cluster,
                "--policies-from": cluster.policies_from is not None,
                "--changed-since": run.changed_since is not None,
                "--update-baseline": self.gate.update_baseline,
                "--at": run.at is not None,
                "--json": run.is_json,
                "- (standard input)": STDIN in inputs.paths,
                "-o FORMAT=FILE": any("=" in output for output in self.outputs.outputs),
            },
        )
        named = (*inputs.paths, *self.request.policies.named_policies, *inputs.crds)
        if any(map(is_remote, named)):
            raise InputError("--watch is about files, and a URL names none")


def _forbid(option: str, others: Mapping[str, bool]) -> None:
    for name, is_given in others.items():
        if is_given:
            first, second = (name, option) if option == "--env" else (option, name)
            message = f"{first} and {second} do not go together"
            raise InputError(message, hint="leave one of them out")


def _require_no_cluster(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value:
            raise InputError(f"{name} needs --cluster, or a recording of one as PATH")


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
        """Return the cluster or recording to read; raise InputError for options of a live cluster
        with a recording."""
        from chartkit.scan.cluster_source import ClusterSource

        self._require_live(recording)
        return ClusterSource(self.context, recording, namespace, self.record)

    def policies_source(self) -> ClusterSource:
        """Return the cluster or recording whose policies judge files, by `--policies-from`; raise
        InputError for what is neither."""
        from chartkit.scan.cluster_source import LIVE, ClusterSource, recorded

        given = self.policies_from or ""
        if given == LIVE:
            return ClusterSource(self.context, None, "", self.record)
        source = recorded(given)
        self._require_live(source.recording)
        return source

    def _require_live(self, recording: Path | None) -> None:
        if recording is not None and (self.context or self.record):
            raise InputError("--context and --record are for a live cluster, not for a recording")

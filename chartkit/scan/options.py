"""The options of `chartkit scan` and `chartkit preview`, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.scan.gate.options import GateOptions

DEFAULT_PROFILE: Final = "pss-restricted"
DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """Options for asking registries about images. All but `asks_registries` need that one."""

    asks_registries: bool
    registry_mirrors: tuple[str, ...]
    registry_authorities: Path | None
    registry_plain: tuple[str, ...]
    registry_cache: Path | None
    trusted_root: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """Options for calling the services that policies ask; allows_http: whether policies of a
    namespace may do so."""

    allowed_hosts: tuple[str, ...]
    allows_http: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Options that say which objects are put before which policies.

    paths, named_policies, exceptions, values: as the user wrote them, URLs among them; parameters,
    settings: `NAME=VALUE`; crds: files, folders and charts with definitions of custom kinds;
    named_namespace: None if not given; exclude: patterns of paths that are left out.
    """

    paths: tuple[str, ...]
    named_policies: tuple[str, ...]
    parameters: tuple[str, ...]
    policy_type: str
    exceptions: tuple[str, ...]
    crds: tuple[str, ...]
    values: tuple[str, ...]
    settings: tuple[str, ...]
    userinfo: Path | None
    context_file: Path | None
    named_namespace: str | None
    release: str
    kube_version: str | None
    api_defaults: bool
    exclude: tuple[str, ...] = ()
    registry: RegistryOptions
    network: NetworkOptions

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies to load: a profile if none are named."""
        return self.named_policies or (DEFAULT_PROFILE,)

    @property
    def namespace(self) -> str:
        """The namespace that charts are rendered for."""
        return DEFAULT_NAMESPACE if self.named_namespace is None else self.named_namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Options of a scan of a live cluster, or of a recording of one; context: of the kubeconfig;
    record: the folder to record into; policies_from: `cluster` or a recording, whose policies judge
    files."""

    cluster: bool
    context: str | None
    cluster_policies: bool
    reports: bool
    fail_on_differences: bool
    record: Path | None
    policies_from: str | None = None

    @property
    def compares_reports(self) -> bool:
        """True if the cluster's reports are compared with the results."""
        return self.reports or self.fail_on_differences


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """All options of `chartkit scan`.

    outputs: `FORMAT` or `FORMAT=FILE`; query: a JMESPath expression over the JSON report;
    owner_label: the label of objects by which HTML counts; is_json: whether the inputs are any JSON
    rather than Kubernetes objects; at: the time for which deletions are planned; changed_since: the
    revision since which objects must have changed to be judged; env, path: the environment whose
    policies judge them, and its project; jobs: the most processes that judge at a time;
    watch: whether to scan again whenever files change; timings: whether to measure what policies
    take; executor: the address of other machines that judge.
    """

    request: RequestOptions
    cluster: ClusterOptions
    gate: GateOptions
    outputs: tuple[str, ...]
    query: str | None
    owner_label: str
    is_json: bool
    report_per: str
    detailed: bool
    audit_warn: bool
    at: str | None
    changed_since: str | None
    env: str | None
    path: Path
    jobs: int = 1
    watch: bool = False
    timings: bool = False
    executor: str | None = None

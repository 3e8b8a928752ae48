"""The options of `chartkit serve`, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """The options about the socket, its certificate, the bounds on what is in flight, and the
    webhooks in a cluster.

    policies_from: `cluster` or a recording; reports: a folder, or `cluster`; excluded: namespaces
    that webhooks leave out; context: of the kubeconfig, None for the current one.
    """

    policies_from: str | None
    host: str
    port: int
    workers: int
    tls_cert: Path | None
    tls_key: Path | None
    tls_ca: Path | None
    tls_folder: Path | None
    names: tuple[str, ...]
    max_body: int
    max_in_flight: int
    body_timeout: float
    drain: float
    log_level: str
    reports: str | None
    traces: bool
    print_webhooks: bool
    apply_webhooks: bool
    webhook_url: str | None
    webhook_service: str | None
    excluded: tuple[str, ...]
    context: str | None

"""The options of `chartkit promote`, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteOptions:
    """policies: by name; candidates: all that only audit; source: the environment that enforces
    candidates already, None for any; target: the environment to promote in; namespaces: names with
    wildcards, none for all; evidence: manifests, charts, recordings and reports; cluster, context:
    a live cluster; reporter: the URL of policy-reporter; allowed_hosts: those that may be called;
    days: how far reports must reach back; owner_label: of objects and namespaces; unmatched:
    whether a policy without any object may be promoted; with_exceptions: whether exceptions are
    written; exception_days: how long they hold; back: whether to take promotions back; write:
    whether to change files; path: of the project."""

    policies: tuple[str, ...]
    candidates: bool
    source: str | None
    target: str
    namespaces: tuple[str, ...]
    evidence: tuple[str, ...]
    cluster: bool
    context: str | None
    reporter: str | None
    allowed_hosts: tuple[str, ...]
    days: int | None
    owner_label: str
    unmatched: bool
    with_exceptions: bool
    exception_days: int
    back: bool
    write: bool
    path: Path

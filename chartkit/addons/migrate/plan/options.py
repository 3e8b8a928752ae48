"""The options of `chartkit migrate plan`, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chartkit.scan import DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryOptions:
    """paths: as the user wrote them; values: of the charts among them, the last file wins;
    named_namespace: None if not given; context: of the kubeconfig; record: the folder to record
    into."""

    paths: tuple[str, ...]
    values: tuple[Path, ...]
    named_namespace: str | None
    release: str
    kube_version: str | None
    cluster: bool
    context: str | None
    record: Path | None

    @property
    def namespace(self) -> str:
        """The namespace that charts are rendered for."""
        return DEFAULT_NAMESPACE if self.named_namespace is None else self.named_namespace

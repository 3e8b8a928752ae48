"""The options of `chartkit adopt`, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEFAULT_ENVIRONMENT: Final = "prd"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptOptions:
    """paths: what every environment has; environments: `NAME` or `NAME=PATH`, the latter with what
    that one has besides; kyverno, kubernetes, eks: versions where nothing tells them; values: of
    the engine's chart; chart_version: of the engine's chart that the values are for; cluster,
    context, record, exclude: as for a scan; folder: the project's; force: whether to overwrite;
    dry_run: whether to write nothing."""

    paths: tuple[str, ...]
    environments: tuple[str, ...]
    folder: Path
    kyverno: str | None
    kubernetes: str | None
    eks: str | None
    values: tuple[Path, ...]
    chart_version: str | None
    cluster: bool
    context: str | None
    record: Path | None
    exclude: tuple[str, ...]
    force: bool
    dry_run: bool

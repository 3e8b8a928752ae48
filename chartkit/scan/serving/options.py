"""The options of `chartkit serve`, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """The options about the socket, its certificate, and the bounds on what is in flight."""

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
    reports: Path | None

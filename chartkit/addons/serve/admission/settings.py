"""The settings of an admission server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """host, port: to listen at; certificate, key: PEM files; workers: processes.

    max_body: bytes of a review; max_in_flight: reviews of one worker that are read or judged at
    once, and max_memory the bytes of their bodies; body_timeout: seconds that a client may take
    until its first request, and to send a review; drain: seconds that the server may take to end;
    threads: of one worker, for policies that ask a cluster, a registry or a service; log_level:
    `debug`, `info`, `warning` or `error`;
    metrics_folder: where workers keep their counts; poll: seconds between looks at the files;
    traces: whether spans are sent to OpenTelemetry.
    """

    host: str
    port: int
    certificate: Path
    key: Path
    workers: int = 1
    max_body: int = 7 * MEGABYTE
    max_in_flight: int = 1000
    max_memory: int = 256 * MEGABYTE
    body_timeout: float = 10.0
    drain: float = 30.0
    threads: int = 16
    log_level: str = "info"
    metrics_folder: Path = Path()
    poll: float = 1.0
    traces: bool = False

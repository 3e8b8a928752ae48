"""Structured logs: one JSON object a line, on standard error."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from chartkit.model import Json

LEVELS: Final = ("debug", "info", "warning", "error")
_STDERR: Final = 2


def _write(line: bytes) -> None:
    os.write(_STDERR, line)


class Log:
    """A log of one process; lines below its level are left out."""

    __slots__ = ("_least", "_write", "is_debug")

    def __init__(self, level: str, write: Callable[[bytes], object] = _write) -> None:
        self._least = LEVELS.index(level)
        self._write = write
        self.is_debug = level == "debug"

    def debug(self, message: str, **fields: Json) -> None:
        """Write what is of interest when looking for a mistake."""
        self._line("debug", message, fields)

    def info(self, message: str, **fields: Json) -> None:
        """Write what happened."""
        self._line("info", message, fields)

    def warning(self, message: str, **fields: Json) -> None:
        """Write what somebody should look at."""
        self._line("warning", message, fields)

    def error(self, message: str, **fields: Json) -> None:
        """Write what went wrong."""
        self._line("error", message, fields)

    def _line(self, level: str, message: str, fields: dict[str, Json]) -> None:
        if LEVELS.index(level) < self._least:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": now, "level": level, "message": message, "process": os.getpid(), **fields}
        # Escaped, so that the text of an object never moves a terminal's cursor.
        self._write(json.dumps(line).encode("ascii") + b"\n")

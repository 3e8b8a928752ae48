"""The exit codes with which a child reports why it stopped itself."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Go's runtime uses 2, shells 126 and above."""

    CPU = 101
    MEMORY = 102
    NOT_STARTED = 103

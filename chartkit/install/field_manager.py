"""The name under which Helm's library writes fields.

Under server-side apply a list such as `validationActions` belongs to those who wrote its items:
what two managers wrote adds up. Helm in a library calls itself as the process is called, `python`,
and would share every list with the program `helm`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

from chartkit.network.cluster.client import MANAGER

_STAT: Final = Path("/proc/self/stat")
_ARG_START: Final = 48
"""The number of the field that says where the process's arguments begin; see proc(5)."""


def write_as_helm() -> bool:
    """Name the process `helm` before Helm's library is loaded, which reads the name once; returns
    whether that worked, as it does on Linux."""
    given = os.fsencode(sys.orig_argv[0]) if sys.orig_argv else b""
    name = given.rpartition(b"/")[2]
    if len(name) < len(MANAGER):
        return False
    try:
        fields = _STAT.read_text("ascii", "replace").rpartition(")")[2].split()
        start = int(fields[_ARG_START - 3])
    except (OSError, ValueError, IndexError):
        return False
    if not start or ctypes.string_at(start, len(given) + 1) != given + b"\0":
        return False
    ctypes.memmove(start + len(given) - len(name), MANAGER.encode() + b"\0", len(MANAGER) + 1)
    return True

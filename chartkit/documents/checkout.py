"""The git checkout that a path is in."""

from __future__ import annotations

import os
from pathlib import Path


def checkout_top(path: Path) -> Path | None:
    """Return the nearest folder with `.git`, of a path and those above it; None outside of any
    checkout. In worktrees and submodules `.git` is a file."""
    return next((file for file in (path, *path.parents) if os.path.lexists(file / ".git")), None)

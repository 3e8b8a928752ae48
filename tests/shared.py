"""Finds the recorded facts that stand beside the project; a user's clone has none."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = Path(os.environ.get("CHARTKIT_SHARED", ROOT.parent / "shared"))


def shared(name: str) -> Path:
    """The path of a recorded fact; skips the test where it is not there."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"recorded facts are not here: {name}")
    return path

"""When rules run in an admission, and what a failure does."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

ENFORCE: Final = "Enforce"
AUDIT: Final = "Audit"


class Phase(IntEnum):
    """When a rule runs in an admission, in order; each phase runs over all policies."""

    MUTATE = 0
    IMAGES = 1
    VALIDATE = 2
    GENERATE = 3

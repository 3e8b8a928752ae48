"""The phases of an admission, and the effect of a failure."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

ENFORCE: Final = "Enforce"
AUDIT: Final = "Audit"


class Phase(IntEnum):
    """The phase of a rule in an admission, in order; each phase runs over all policies."""

    MUTATE = 0
    IMAGES = 1
    VALIDATE = 2
    GENERATE = 3

"""When policies speak in an admission."""

from __future__ import annotations

from enum import IntEnum


class Phase(IntEnum):
    """When a rule runs in an admission, in order; each phase runs over all policies."""

    MUTATE = 0
    IMAGES = 1
    VALIDATE = 2
    GENERATE = 3

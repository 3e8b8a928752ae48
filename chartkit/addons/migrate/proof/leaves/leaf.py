"""A place of a request that a policy looks at."""

from __future__ import annotations

from dataclasses import dataclass

from chartkit.addons.migrate.proof.leaves.cluster import Lookup
from chartkit.addons.migrate.proof.leaves.paths import Path
from chartkit.model import Json


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place of a request that a policy looks at, and the values to try there.

    values: those that meet it first, as far as that is known; met: how many of them meet it; group:
    the rule or expression that it belongs to; legacy: which form it was read from; lookup: the
    objects of the cluster that the place is in, where the policy looks them up.
    """

    path: Path
    values: tuple[Json, ...]
    group: str
    met: int = 0
    legacy: bool = True
    lookup: Lookup | None = None

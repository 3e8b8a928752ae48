"""The shortest order of upgrades between two pairs of Kyverno and Kubernetes versions.

A step upgrades one of the two: Kubernetes by one minor version, as its own version skew policy has
it, Kyverno by one as well unless minor versions may be skipped. Every step ends in a pair that
the compatibility matrix supports.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chartkit.errors import InputError
from chartkit.kyverno.changes import announced
from chartkit.kyverno.matrix import Support, compatibility, matrix
from chartkit.kyverno.releases import BUILT_IN, ReleaseData
from chartkit.kyverno.versions import Version, parse_version

_MAJOR = 1


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """A Kyverno version on a cluster's version."""

    kyverno: Version
    kubernetes: Version

    def __str__(self) -> str:
        return f"Kyverno {self.kyverno} on Kubernetes {self.kubernetes}"

    @property
    def supported(self) -> bool:
        """True if the matrix supports it."""
        return self.is_supported()

    def is_supported(self, data: ReleaseData = BUILT_IN) -> bool:
        """Return whether the matrix supports it."""
        row = matrix(data).get(self.kyverno)
        return row is not None and row.support(self.kubernetes) is Support.SUPPORTED


@dataclass(frozen=True, slots=True)
class Route:
    """The pairs from the first to the last, both among them; empty where no order exists.

    stuck: where no order exists, the pairs from which no step leads on; the first pair alone
    where it cannot be left at all.
    """

    pairs: tuple[Pair, ...]
    stuck: tuple[Pair, ...] = ()

    @property
    def exists(self) -> bool:
        """True if there is such an order."""
        return bool(self.pairs)

    @property
    def steps(self) -> Sequence[tuple[Pair, Pair]]:
        """Each upgrade: the pair before it and the pair after it."""
        return tuple(zip(self.pairs, self.pairs[1:], strict=False))


def check(start: Pair, target: Pair, data: ReleaseData = BUILT_IN) -> None:
    """Raises InputError for a version that is not known, and where the way leads down.

    A target that is announced is known, though no order leads to it.
    """
    for pair in (start, target):
        if pair is start or pair.kyverno not in announced(data):
            compatibility(pair.kyverno, None, data)
        if pair.kubernetes.major != _MAJOR:
            hint = "Kubernetes versions begin with 1, such as 1.34"
            raise InputError(f"Kubernetes {pair.kubernetes} is not known", None, hint)
    if target.kubernetes < start.kubernetes:
        message = f"Kubernetes {start.kubernetes} cannot go back to {target.kubernetes}"
        raise InputError(message, None, "a cluster's version only rises")
    if target.kyverno < start.kyverno:
        message = f"Kyverno {start.kyverno} cannot be planned back to {target.kyverno}"
        hint = "its custom resources are stored in versions that an older one does not know"
        raise InputError(message, None, hint)


def shortest(
    start: Pair, target: Pair, skip_minors: bool = False, data: ReleaseData = BUILT_IN
) -> Route:
    """The order with the fewest steps; among equals Kyverno goes before the cluster.

    The first pair need not be supported: there may be a way out of it. Raises InputError, see
    `check`.
    """
    check(start, target, data)
    came_from: dict[Pair, Pair | None] = {start: None}
    ends: list[Pair] = []
    waiting = deque([start])
    while waiting:
        pair = waiting.popleft()
        if pair == target:
            return Route(tuple(_back(target, came_from)))
        following = list(_following(pair, target, skip_minors, data))
        if not following:
            ends.append(pair)
        for each in following:
            if each not in came_from:
                came_from[each] = pair
                waiting.append(each)
    # The ends that no other end lies beyond, in order.
    furthest = tuple(
        sorted(
            pair
            for pair in ends
            if not any(
                other != pair
                and other.kyverno >= pair.kyverno
                and other.kubernetes >= pair.kubernetes
                for other in ends
            )
        )
    )
    return Route((), furthest)


def _following(pair: Pair, target: Pair, skip_minors: bool, data: ReleaseData) -> Iterator[Pair]:
    """The supported pairs one step on, none beyond the target."""
    newer = [each for each in matrix(data) if pair.kyverno < each <= target.kyverno]
    # The largest leap first, so that it is the one that is kept among orders of one length.
    for version in reversed(newer) if skip_minors else newer[:1]:
        if (after := Pair(version, pair.kubernetes)).is_supported(data):
            yield after
    cluster = pair.kubernetes.next_minor()
    if cluster <= target.kubernetes and (after := Pair(pair.kyverno, cluster)).is_supported(data):
        yield after


def _back(target: Pair, came_from: dict[Pair, Pair | None]) -> list[Pair]:
    found: list[Pair] = []
    pair: Pair | None = target
    while pair is not None:
        found.append(pair)
        pair = came_from[pair]
    return found[::-1]


def parse_pair(text: str) -> Pair:
    """Return the Kyverno and the Kubernetes version of `1.12/1.29`; raise InputError."""
    kyverno, slash, kubernetes = text.partition("/")
    if not slash:
        newest = list(matrix().values())[-1]
        hint = f"write Kyverno's version, a slash, Kubernetes': {newest.kyverno}/{newest.newest}"
        raise InputError(f"'{text}' is not a pair of versions", None, hint)
    return Pair(parse_version(kyverno, "Kyverno"), parse_version(kubernetes, "Kubernetes"))

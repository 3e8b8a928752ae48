"""Differences between the generations of policies that no conversion can take away.

They hold for every converted rule that they are about, so they are told once and not with each
rule. The proof knows them and does not count them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference; id: its name in outputs; text: a sentence."""

    id: str
    text: str


EXISTING: Final = Difference(
    "existing-violations",
    "An update of an object that violates already is refused: a ClusterPolicy lets it through "
    "unless allowExistingViolations is false.",
)
FIRST_FAILURE: Final = Difference(
    "first-failure",
    "A policy gives one result and the message of its first failure, where a ClusterPolicy gives "
    "one for each rule.",
)
REPLICATION_CONTROLLERS: Final = Difference(
    "replication-controllers",
    "Kyverno extends policies in CEL to six pod controllers, and not to ReplicationControllers.",
)
ANCHOR_ERRORS: Final = Difference(
    "anchor-errors",
    "Where no object has the key of an anchor, a pattern that does not match is an error in a "
    "ClusterPolicy and a failure here; both refuse.",
)
GENERAL: Final = (EXISTING, FIRST_FAILURE, REPLICATION_CONTROLLERS, ANCHOR_ERRORS)
"""In the order in which they matter."""

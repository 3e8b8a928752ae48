"""The failure of a pattern: inside the matcher, and for its caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from chartkit.engine.cluster_policy.pattern.anchors import AnchorKind


class MismatchKind(StrEnum):
    """The effect of a mismatch on the rule."""

    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The reason why a pattern does not hold.

    path: where, as `/spec/containers/0/image/`; empty unless the kind is FAIL. message: Kyverno's
    text of the reason, which skips and errors show.
    """

    kind: MismatchKind
    path: str
    message: str


CONDITION_TEXT: Final = "conditional anchor mismatch"
GLOBAL_TEXT: Final = "global anchor mismatch"
NEGATION_TEXT: Final = "negation anchor matched in resource"


class Failure:
    """A mismatch on its way up through the pattern.

    anchor: the anchor that makes it a condition unmet, or a key that must not be; None for any
    other reason. combined: whether it stands for several that were skipped below. skips: whether
    it means that the pattern does not apply.
    """

    __slots__ = ("anchor", "combined", "path", "skips", "text")

    def __init__(
        self, path: str, text: str, anchor: AnchorKind | None = None, combined: bool = False
    ) -> None:
        self.path = path
        self.text = text
        self.anchor = anchor
        self.combined = combined
        # Kyverno tells them apart by their text once the type is lost, so a value that holds
        # such a text counts as well.
        if anchor is None:
            self.skips = CONDITION_TEXT in text or GLOBAL_TEXT in text
        else:
            self.skips = anchor is not AnchorKind.NEGATION

    @property
    def forbids(self) -> bool:
        """Return whether it means that a key is there which must not be."""
        if self.anchor is None:
            return NEGATION_TEXT in self.text
        return self.anchor is AnchorKind.NEGATION


def unmet_condition(inner: str, path: str) -> Failure:
    """A `( )` anchor whose key is missing or does not match."""
    return Failure(path, f"{CONDITION_TEXT}: {inner}", AnchorKind.CONDITION)


def unmet_global(inner: str, path: str) -> Failure:
    """A `<( )` anchor that does not match."""
    return Failure(path, f"{GLOBAL_TEXT}: {inner}", AnchorKind.GLOBAL)


def forbidden_key(path: str) -> Failure:
    """An `X( )` anchor whose key is there."""
    return Failure(path, f"{NEGATION_TEXT}: {path} is not allowed", AnchorKind.NEGATION)


def combine(failures: Sequence[Failure], path: str) -> Failure:
    """Those that were skipped, as one."""
    return Failure(path, "; ".join(failure.text for failure in failures), combined=True)

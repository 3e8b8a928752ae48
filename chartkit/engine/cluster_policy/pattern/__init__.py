"""Patterns of validate rules: anchors, operators, paths and messages as Kyverno has them."""

from chartkit.engine.cluster_policy.pattern.build import (
    Mismatch,
    MismatchKind,
    PatternDepthError,
)
from chartkit.engine.cluster_policy.pattern.match import Pattern, compile_pattern

__all__ = ["Mismatch", "MismatchKind", "Pattern", "PatternDepthError", "compile_pattern"]

"""Patterns of validate rules: anchors, operators, paths and messages as Kyverno has them."""

from chartkit.engine.cluster_policy.pattern.match import Pattern, PatternDepthError, compile_pattern
from chartkit.engine.cluster_policy.pattern.mismatch import Mismatch, MismatchKind

__all__ = ["Mismatch", "MismatchKind", "Pattern", "PatternDepthError", "compile_pattern"]

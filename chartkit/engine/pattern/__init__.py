"""Patterns of validate rules: anchors, operators, and where an object departs from them."""

from chartkit.engine.pattern.compiler import Pattern, compile_pattern, compile_pattern_cached
from chartkit.engine.pattern.mismatch import Mismatch, MismatchKind

__all__ = ["Mismatch", "MismatchKind", "Pattern", "compile_pattern", "compile_pattern_cached"]

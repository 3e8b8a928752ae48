"""Preconditions and deny conditions: any/all blocks, the old flat list, and their operators."""

from chartkit.engine.cluster_policy.conditions.blocks import Conditions, compile_conditions

__all__ = ["Conditions", "compile_conditions"]

"""Preconditions and deny conditions: any/all blocks, the old flat list, and their operators."""

from chartkit.engine.cluster_policy.conditions.blocks import Conditions, Outcome, compile_conditions
from chartkit.engine.cluster_policy.conditions.parse import ConditionsMalformed, check_conditions

__all__ = ["Conditions", "ConditionsMalformed", "Outcome", "check_conditions", "compile_conditions"]

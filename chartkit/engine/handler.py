"""What a compiled rule body is: the part of a rule that is left when match, exclude, context and
preconditions have been dealt with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chartkit.model import RuleResult

if TYPE_CHECKING:
    from chartkit.engine.context import Context
    from chartkit.engine.policy import Policy, Rule
    from chartkit.engine.request import Request

Handler = Callable[["Context", "Request"], RuleResult | None]
"""Judges one request; None where the rule has nothing to say of it.

The context is the rule's own: its entries are there and its preconditions hold. May raise
EvaluationError, which becomes an error result.
"""

Compiler = Callable[["Rule", "Policy"], Handler]
"""Makes a rule's handler, once; the rule may be one generated for pod controllers."""

"""The body of a compiled rule: the part that is left after match, exclude, context and
preconditions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from chartkit.model import RuleResult

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.exceptions import PolicyException
    from chartkit.engine.cluster_policy.policy import Policy, Rule
    from chartkit.engine.context.context import Context
    from chartkit.engine.request.request import Request

Handler = Callable[["Context", "Request"], RuleResult | None]
"""Judges one request; None where the rule has nothing to say of it.

The context is the rule's own: its entries are there and its preconditions hold. May raise
EvaluationError, which becomes an error result.
"""

Compiler = Callable[["Rule", "Policy"], Handler]
"""Makes a rule's handler, once; the rule may be one generated for pod controllers."""


class ExceptedHandler(ABC):
    """A handler that deals with PolicyExceptions itself; every other one is not asked then."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, context: Context, request: Request) -> RuleResult | None:
        """Judges a request that no exception applies to."""

    @abstractmethod
    def excepted(
        self, context: Context, request: Request, exceptions: Sequence[PolicyException]
    ) -> RuleResult | None:
        """Judges a request that these exceptions apply to, at least one."""

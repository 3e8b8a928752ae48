"""The body of a compiled rule: the part that is left after match, exclude, context and
preconditions; and the decision of a validate rule, or of a foreach inside one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.exceptions import PolicyException
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.request.request import Request
from chartkit.errors import ChartkitError
from chartkit.model import Body, FieldPath, Json, RuleResult, Status

if TYPE_CHECKING:
    from chartkit.engine.context.origins import Origins

FindFields = Callable[["Origins"], Iterable[FieldPath]]
"""Finds the fields of the object that a failure is about, the most telling first."""


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A decision without the names that a result carries.

    Two are equal only if they are one object: a rule makes those that pass when it is compiled.
    """

    status: Status
    message: str
    fields: FindFields | None = None

    def pointers(self, context: Context, judged: Json) -> tuple[str, ...]:
        """Return the fields that a failure in a context is about, as JSON pointers; judged: the
        object."""
        if self.fields is None or self.status in _UNFIELDED:
            return ()
        from chartkit.engine.context.origins import origins_of, pointers

        try:
            return pointers(self.fields(origins_of(context, judged)))
        except (ChartkitError, RecursionError):
            # What takes too long, or cannot be evaluated once more, is told of no field.
            return ()


_UNFIELDED: Final = frozenset({Status.PASS, Status.SKIP})
NO_ELEMENT: Final = object()
"""Stands for the object itself where no foreach element takes its place."""

Check = Callable[["Context", "Request", Json], Checked | None]
"""Decides in a context for a request; the last argument is the element that patterns look at.

None: there is nothing to say. May raise EvaluationError."""


@dataclass(frozen=True, slots=True)
class Block:
    """The deciding part of a rule or of a foreach. deny before patterns before foreach.

    nesting: how many foreach there are around it.
    """

    pattern: Json = None
    any_pattern: Json = None
    deny: Body | None = None
    foreach: tuple[Body, ...] = ()
    nesting: int = 0


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

"""The decision of a validate rule, or of a foreach inside one, about a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chartkit.model import Body, Json, Status

if TYPE_CHECKING:
    from chartkit.engine.context.context import Context
    from chartkit.engine.request.request import Request


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A decision without the names that a result carries.

    Two are equal only if they are one object: a rule makes those that pass when it is compiled.
    """

    status: Status
    message: str


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

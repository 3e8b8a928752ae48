"""What a validate rule, or a foreach inside one, decides of a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chartkit.model import Body, Json, Status

if TYPE_CHECKING:
    from chartkit.engine.context import Context
    from chartkit.engine.request import Request


@dataclass(frozen=True, slots=True)
class Checked:
    """A decision without the names that a result carries."""

    status: Status
    message: str


NO_ELEMENT: Final = object()
"""Stands for the object itself where no foreach element takes its place."""

Check = Callable[["Context", "Request", Json], Checked | None]
"""Decides in a context for a request; the last argument is the element that patterns look at."""


@dataclass(frozen=True, slots=True)
class Block:
    """What decides: of a rule or of a foreach. deny before patterns before foreach."""

    pattern: Json
    any_pattern: Json
    deny: Body | None
    foreach: tuple[Body, ...]

"""A deferred value of a context: fetched when an expression first names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from chartkit.model import Json

if TYPE_CHECKING:
    from chartkit.engine.context.context import Context


class Loader(Protocol):
    """A compiled context entry; one serves every resource."""

    name: str

    @property
    def replaces(self) -> bool:
        """Return whether its value replaces the value under the name, or is merged
        in."""
        ...

    @property
    def cached(self) -> bool:
        """Return whether what was fetched once holds for the rest of the rule."""
        ...

    def matches(self, query: str, /) -> bool:
        """Return whether a query's text names this entry."""
        ...

    def fetch(self, context: Context, /) -> Json:
        """The entry's value (`NOTHING` for none); raises `EvaluationError`."""
        ...


NOTHING: Final = object()
"""The result of a loader that adds nothing to the context."""

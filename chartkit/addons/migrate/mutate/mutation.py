"""One entry of a MutatingPolicy's `mutations`."""

from __future__ import annotations

from dataclasses import dataclass

from chartkit.engine.cel.syntax import Expr
from chartkit.model import Body


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation.

    is_json_patch: whether its expression gives operations, and no apply configuration; conditions:
    what must hold for it; replaces: whether it replaces what server-side apply calls atomic.
    """

    expression: Expr
    is_json_patch: bool = False
    conditions: tuple[Expr, ...] = ()
    replaces: bool = False

    @property
    def body(self) -> Body:
        """Return the mutation as the policy holds it, with its expression as a tree."""
        if self.is_json_patch:
            return {"patchType": "JSONPatch", "jsonPatch": {"expression": self.expression}}
        applied = {"expression": self.expression}
        return {"patchType": "ApplyConfiguration", "applyConfiguration": applied}

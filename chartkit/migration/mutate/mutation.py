"""One entry of a MutatingPolicy's `mutations`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chartkit.engine.cel.syntax import Expr
from chartkit.model import Body


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation.

    body: as the policy holds it, with its expression as a tree; conditions: what must hold for it;
    replaces: whether it replaces what server-side apply calls atomic.
    """

    body: Body
    conditions: tuple[Expr, ...] = ()
    replaces: bool = False


def applied(configuration: Expr, conditions: Sequence[Expr] = (), *, replaces: bool) -> Mutation:
    """Return the mutation of an apply configuration."""
    body = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": configuration},
    }
    return Mutation(body, tuple(conditions), replaces)


def patched(operations: Expr) -> Mutation:
    """Return the mutation of a list of JSON patches."""
    return Mutation({"patchType": "JSONPatch", "jsonPatch": {"expression": operations}})

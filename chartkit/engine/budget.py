"""The work and the memory that one rule, and all rules of one request, may take.

Everything that can multiply what a policy or an object says counts here: elements of a loop,
members of a projection, values that are copied, texts that are made. The counts depend on the
input alone, never on a clock, so a rule that is stopped is stopped everywhere. The limits leave a
hundred times what rules of public libraries take for the largest object of a cluster.
"""

from __future__ import annotations

import json
import marshal
from typing import Final

from chartkit.errors import ChartkitError
from chartkit.model import Json

MAX_STEPS: Final = 10_000_000
"""Steps of one rule for one object: about a second or two. A step is a value that is looked at."""

MAX_BYTES: Final = 16 * 1024 * 1024
"""Bytes of the texts and copies that one rule makes for one object."""

RULES: Final = 4
"""The number of rules of one request that may use the whole budget of a rule."""

MAX_OBJECT: Final = 3 * 1024 * 1024
"""Bytes of an object after a mutation, as JSON: the longest request that an API server reads."""

ITERATION: Final = 80
"""Steps of an element of a foreach, in addition to its own work."""

QUERY: Final = 5
"""Steps of a variable that is looked up, in addition to its expression."""

PATCH: Final = 800
"""Steps of a patch, in addition to what it writes and compares."""

FEW: Final = 1000
"""Steps of a rule that do not count for the request: no number of rules makes them many."""

_MEMBER: Final = 32
"""Bytes of a member of a list or object that is copied."""

_ADVICE: Final = "let it look at fewer elements or smaller values, or split it into several rules"


class BudgetError(ChartkitError):
    """A rule that takes more than it may; it is not a verdict that a policy can go on from."""


def check_object(body: Json, name: str) -> None:
    """Raises `BudgetError` for an object that no API server would read; body is plain JSON.

    name: what the object is, as the message says it.
    """
    # Another writer, five times as fast, needs at least a sixth of JSON's bytes.
    try:
        is_small = len(marshal.dumps(body, 0)) < MAX_OBJECT // 6
    except ValueError:
        is_small = False
    if is_small:
        return
    size = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    if size > MAX_OBJECT:
        raise BudgetError(
            f"{name} would have {size:,} bytes, and an API server takes {MAX_OBJECT:,} at most: "
            "let the rule write less into it"
        )


class Budget:
    """The remaining work and bytes of the rules of one request.

    steps: what the current rule has left, for callers that count often and check once: below 0, the
    next `spend` raises. whole: the steps that it began with; bytes_left and whole_bytes: as these,
    for bytes.
    """

    __slots__ = (
        "_all_bytes",
        "_all_steps",
        "_problem",
        "bytes_left",
        "steps",
        "whole",
        "whole_bytes",
    )

    def __init__(self) -> None:
        self._all_steps = RULES * MAX_STEPS
        self._all_bytes = RULES * MAX_BYTES
        self.steps = self.whole = MAX_STEPS
        self.bytes_left = self.whole_bytes = MAX_BYTES
        self._problem: BudgetError | None = None

    def end(self) -> BudgetError | None:
        """End a rule: the next one has its own budget, out of what the request has left.

        Return why the rule was stopped, None if it was not, however the policy handled the error.
        """
        problem, self._problem = self._problem, None
        self._all_steps -= self.whole - self.steps
        self.steps = self.whole = max(min(MAX_STEPS, self._all_steps), 0)
        self._all_bytes -= self.whole_bytes - self.bytes_left
        self.bytes_left = self.whole_bytes = max(min(MAX_BYTES, self._all_bytes), 0)
        return problem

    def spend(self, steps: int, user: str) -> None:
        """Count steps; raises `BudgetError` with the user's name if there are too many."""
        self.steps -= steps
        if self.steps < 0:
            raise self._exceeded(self.whole, MAX_STEPS, "steps", user)

    def take(self, size: int, user: str) -> None:
        """Counts bytes that are about to be made; raises `BudgetError`."""
        self.steps -= 1
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise self._exceeded(self.whole_bytes, MAX_BYTES, "bytes", user)

    def weigh(self, value: Json, user: str) -> None:
        """Count a value that is about to be copied or written; raises `BudgetError`."""
        self.take(self.visit(value, user), user)

    def visit(self, value: Json, user: str) -> int:
        """Count a look at all of a value; return its size in bytes.

        A value in many places counts in each: a short expression makes lists that hold one
        another so often that no one could write them. Raises `BudgetError`.
        """
        size = 0
        pending = [value]
        while pending:
            part = pending.pop()
            kind = part.__class__
            if kind is str:
                size += len(part)
            elif isinstance(part, dict):
                self.spend(len(part) + 4, user)
                size += _MEMBER * len(part) + sum(map(len, part))
                pending += part.values()
            elif isinstance(part, list):
                self.spend(len(part) + 4, user)
                size += _MEMBER * len(part)
                pending += part
        return size

    def _exceeded(self, limit: int, most: int, unit: str, user: str) -> BudgetError:
        whose = "the rule takes" if limit == most else "the rules of this request together take"
        limit = most if limit == most else RULES * most
        problem = self._problem = BudgetError(
            f"{whose} more than {limit:,} {unit}, the last of them for {user}: {_ADVICE}"
        )
        return problem

"""The names that queries see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.migrate.expressions.presence import NOTHING, Known
from chartkit.addons.migrate.jmespath.terms import Term

REQUEST_KIND: Final = ("request", "requestKind")
"""The path of the kind that was asked for, before an API server converted the object."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names at the root of an expression.

    objects: `request.object` and so on, by their path; others: context variables, `element` and
    what else a rule may name; taken: the names of loop variables in use; embedded: the variables
    that placeholders in a query stand for; changes: behaviour that differs, noted for all of a
    rule's expressions; known: the paths that are there where an expression is evaluated.
    """

    objects: Mapping[tuple[str, ...], Term]
    others: Mapping[str, Term] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    embedded: Mapping[str, Term] = field(default_factory=dict)
    known: Known = NOTHING
    changes: dict[str, None] = field(default_factory=dict, compare=False, repr=False)

    def with_others(self, **named: Term) -> Names:
        """Return the names with others, which go first."""
        return replace(self, others={**self.others, **named})

    def with_object(self, term: Term) -> Names:
        """Return the names with another object of the request."""
        return replace(self, objects={**self.objects, ("request", "object"): term})

    def with_embedded(self, terms: Mapping[str, Term]) -> Names:
        """Return the names with variables that placeholders stand for."""
        return replace(self, embedded={**self.embedded, **terms})

    def note(self, change: str) -> None:
        """Note a behaviour that differs."""
        self.changes[change] = None

    def without(self, variable: str) -> Names:
        """Return the names with a loop's variable in use."""
        return replace(self, taken=self.taken | {variable})

"""The ways in which decisions are taken: one by one, with those under which they count, and the
policies that there are with them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, filterfalse

from chartkit.addons.migrate.charts.marks import ITEMS, MARK
from chartkit.addons.migrate.charts.template import NotPlacedError
from chartkit.addons.migrate.charts.variants import Variants


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways to take the decisions of a template. looping: the lists whose loops are open."""

    variants: Variants
    looping: list[str]

    def documents(self) -> list[str]:
        """Return the new policies that any variant has, and refuse decisions that together make
        others."""
        variants = self.variants
        documents = dict.fromkeys(variants.bodies({}))
        for key in variants.choices[1:]:
            for value in variants.others(key)[:1]:
                documents |= dict.fromkeys(variants.bodies({key: value}))
        named = [name for name in documents if all(at == "0" for _, at in MARK.findall(name))]
        self._check(named)
        return named

    def now(self, key: str, fixed: dict[str, int]) -> int:
        return fixed.get(key, self.variants.default(key))

    def values(self, key: str) -> tuple[int, int]:
        return (0, ITEMS) if self.variants.is_list(key) else (0, 1)

    def others(
        self, fixed: dict[str, int], is_alone: bool = False
    ) -> list[tuple[str, dict[str, int]]]:
        """Return the decisions that are not taken, each taken the other way, with those under which
        it counts; is_alone: no more than those with which it comes up."""
        owners = self.variants.template.items
        others = [
            (key, {**{name: context[name] for name in context if name not in fixed}, key: other})
            for key in self.variants.choices
            if key not in fixed
            for other in (self.other(key, fixed),)
            for context in self.variants.contexts(key)[: 1 if is_alone else None]
            # Those about the items of a list come up in its loop.
            if all(owners.get(name) in (None, *self.looping) for name in (key, *context))
        ]
        return [way for way in others if not self.variants.is_refused({**fixed, **way[1]})]

    def other(self, key: str, fixed: dict[str, int]) -> int:
        return next(value for value in self.values(key) if value != self.now(key, fixed))

    def of(self, document: str) -> list[dict[str, int]]:
        """Return the ways to take decisions with which there is a policy."""
        loop = self.variants.list_of(document)
        here = document in self.variants.bodies({})
        other = [
            (key, taken)
            for key, taken in self.others({loop: ITEMS} if loop else {}, is_alone=True)
            if (document in self.variants.bodies(taken)) != here
        ]
        now = {key: self.now(key, {}) for key, _ in other}
        ways = [now] if here else list[dict[str, int]]()
        for at, (_, taken) in enumerate([] if here else other):
            before = dict(list(now.items())[:at])
            if all(taken.get(key, value) == value for key, value in before.items()):
                ways.append({**before, **taken})
        return ways

    def needed(self, document: str) -> list[str]:
        """Return the decisions of which one is taken where there is a policy: the others change
        nothing of that."""
        base, bodies = self.variants.base, self.variants.bodies
        none = {key: 0 for key, value in base.items() if value and key in self.variants.choices}
        with suppress(NotPlacedError):
            if document in bodies({}) and document not in bodies(none):
                for key in list(none):
                    others = {name: 0 for name in none if name != key}
                    none = none if document in bodies(others) else others
                return list(none)
        return []

    def _check(self, documents: Sequence[str]) -> None:
        """Refuse decisions that have new forms alone and none together, and those that together
        make other policies than each alone."""
        variants = self.variants
        alone = [taken for _, taken in self.others({}, is_alone=True)]
        pairs = [{**own, **two} for own, two in combinations(alone, 2) if not {*own} & {*two}]
        ways = {
            document: self.of(document) for document in documents if not variants.list_of(document)
        }
        needed = {document: self.needed(document) for document in ways}
        for variant in (*(taken for _, taken in self.others({})), *pairs):
            if variants.is_refused(variant):
                continue
            try:
                made = set(filterfalse(variants.list_of, variants.bodies(variant)))
            except NotPlacedError as error:
                variants.refuse_together(variant, error.message)
                continue
            expected = {
                document
                for document in ways
                if any(
                    all(self.now(key, variant) == value for key, value in way.items())
                    for way in ways[document]
                )
                if not needed[document] or any(self.now(key, variant) for key in needed[document])
            }
            if made != expected:
                variants.is_divided = True
                variants.refuse_together(variant, "together they divide the policy otherwise")

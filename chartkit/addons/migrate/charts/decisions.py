"""Conditions in a policy's template, decided as a variant says or as constants do."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Final

from chartkit.addons.migrate.charts.marks import INDEX, ITEMS, PolicyTemplate, Variant
from chartkit.addons.migrate.charts.scope import is_empty_constant
from chartkit.addons.migrate.charts.template import NotPlacedError, show, value_path
from chartkit.documents.reader import parse_yaml
from chartkit.helm.syntax import Call, Inner, Literal, Path, Term, terms
from chartkit.model import Json

_ITEM: Final = "$item"
_MAP_KEY: Final = "$key"


class Decisions:
    """Decides the conditions of a template, and keeps what they are and where they count."""

    def __init__(self, policy: PolicyTemplate, variant: Variant) -> None:
        self._policy = policy
        self._variant = variant
        self._loop: tuple[str, int] | None = None
        self._line = 0
        self._around: dict[str, int] = {}
        self._consulted: dict[str, int] = {}

    def _list(self, value: Term, declared: Sequence[str] = ()) -> tuple[str, int]:
        """Return a list's key among the decisions, and the number of its items.

        declared: the variables of a loop over it; of a map that the chart has, key and value.
        """
        key = show(value)
        if self._uses_item(value):
            raise NotPlacedError("a list within the items of another", self._line)
        names = (*declared[-1:],) or (_ITEM,)
        if isinstance(self._sample(value), dict):
            names = declared[0] if len(declared) > 1 else _MAP_KEY, names[0]
        self._policy.lists.setdefault(key, names)
        count = self._decided(key, ITEMS)
        return key, ITEMS if count == 1 else count

    def _sample(self, term: Term) -> Json:
        """Return what a term is by the chart's values, of items by the first; None where they do
        not say."""
        if isinstance(term, Literal) and not term.is_text:
            return parse_yaml(term.value)
        value: Json = self._policy.values
        for step in value_path(term, self._policy.variables) or [""]:
            items = list(value.values()) if isinstance(value, dict) else value
            if isinstance(items, list) and items and all(isinstance(item, dict) for item in items):
                value = value if isinstance(value, dict) and step in value else items[0]
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def _decided(self, key: str, default: int) -> int:
        """Return how a condition is decided; default: of one that is new."""
        self._policy.lines.setdefault(key, self._line)
        self._remember(key, self._around)
        return self._variant.get(key, self._policy.decisions.setdefault(key, default))

    def _holds(self, term: Term, default: int = 0) -> bool:
        """Report whether a condition holds: as constants say, or as the variant decides."""
        match term:
            case Literal():
                return not is_empty_constant(term)
            case Call(name, (number,)) if name == INDEX:
                return self._holds(number)
            case Inner(value, ()):
                return self._holds(value)
            case Call("or" | "and" as name, arguments):
                # Each of them is a decision, whatever the ones before say, and tells where the
                # others let it.
                holding = list(map(self._holds, arguments))
                letting = [self._letting(part, name == "and") for part in arguments]
                for own in letting:
                    others = [part for part in letting if part is not own]
                    context = reduce(operator.or_, others, self._around)
                    for key in own:
                        self._remember(key, context)
                return any(holding) if name == "or" else all(holding)
            case Call("not" | "empty", (argument,)):
                return not self._holds(argument)
            case Call("list" | "dict", arguments):
                return bool(arguments)
            case Call("gt" | "ge" | "lt" | "le" as name, (first, second)):
                numbers = self._number(first), self._number(second)
                if None not in numbers:
                    return bool(getattr(operator, name)(*numbers))
            case Call("eq" | "ne" as name, (first, second)):
                texts = self._constant(first), self._constant(second)
                if None not in texts:
                    return (texts[0] == texts[1]) == (name == "eq")
        constant = self._constant(term)
        if constant is not None:
            return bool(constant)
        key = show(term)
        if self._uses_item(term) and self._loop is not None:
            self._policy.items[key] = self._loop[0]
        holds = self._decided(key, default)
        self._consulted[key] = holds
        return bool(holds)

    def _letting(self, term: Term, holds: bool) -> dict[str, int]:
        """Return the decisions with which a condition holds, or does not."""
        match term:
            case Inner(value, ()):
                return self._letting(value, holds)
            case Call("not" | "empty", (argument,)):
                return self._letting(argument, not holds)
            case Call("and" | "or" as name, arguments):
                kept = arguments if (name == "and") == holds else arguments[:1]
                return reduce(operator.or_, (self._letting(part, holds) for part in kept), {})
        key = show(term)
        return {key: int(holds)} if key in self._policy.decisions else {}

    def _remember(self, key: str, context: dict[str, int]) -> None:
        """Keep the decisions around one, under which it counts."""
        contexts = self._policy.contexts.setdefault(key, [])
        others = {name: value for name, value in context.items() if name != key}
        if others not in contexts:
            contexts.append(others)

    def _uses_item(self, term: Term) -> bool:
        names = self._policy.lists[self._loop[0]] if self._loop is not None else ()
        return any(isinstance(part, Path) and part.root in names for part in terms(term))

    def _constant(self, term: Term) -> str | None:
        """Return the text of a term that no value changes."""
        match term:
            case Literal(value, is_text):
                return value if is_text or value != "nil" else ""
            case Path(root, ()) if isinstance(known := self._policy.variables.get(root), Literal):
                return known.value if known.is_text else None
            case Inner(value, ()):
                return self._constant(value)
            case Call("printf", (Literal(pattern, True), *arguments)):
                texts = [self._constant(argument) for argument in arguments]
                constants = [text for text in texts if text is not None]
                is_plain = pattern.count("%s") == pattern.count("%") == len(constants) == len(texts)
                return pattern % tuple(constants) if is_plain else None
            case Call("lower", (argument,)):
                text = self._constant(argument)
                return None if text is None else text.lower()
        number = self._number(term)
        return None if number is None else str(number)

    def _number(self, term: Term) -> int | None:
        """Return the number of a term that no value but the length of a list changes."""
        match term:
            case Literal(value, False) if value.isdecimal():
                return int(value)
            case Inner(value, ()):
                return self._number(value)
            case Call(name, (value,)) if name == INDEX:
                return self._number(value)
            case Call("len", (value,)) if show(value) in self._policy.lists:
                return self._list(value)[1]
            case Call("add1", (value,)) if (number := self._number(value)) is not None:
                return number + 1
            case Call("add" | "sub" as name, (first, second)):
                numbers = self._number(first), self._number(second)
                if None not in numbers:
                    return int(getattr(operator, name)(*numbers))
        return None

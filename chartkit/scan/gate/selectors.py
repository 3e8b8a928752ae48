"""A parser of the selectors of `--select` and `--skip`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import InputError
from chartkit.scan.gate.selection import KEYS, Selection, Selector
from chartkit.suggestions import suggestion

_SHOWN: Final = 10


class Standards(Protocol):
    """The standards whose controls select policies."""

    def names(self) -> Collection[str]:
        """Return the names of the standards."""

    def controls(self, standard: str) -> Mapping[str, Collection[str]]:
        """Return the names of the policies of each control of a standard."""


@dataclass(frozen=True, slots=True)
class SelectorReader:
    """A parser of selectors; standards: those whose controls may be named."""

    standards: Standards
    known: dict[str, Mapping[str, Collection[str]]] = field(default_factory=dict)

    def selection(self, select: Sequence[str], skip: Sequence[str]) -> Selection:
        """Parse the texts of `--select` and `--skip`; raise InputError."""
        return Selection(
            [self._parse("--select", text) for text in select],
            [self._parse("--skip", text) for text in skip],
        )

    def _parse(self, option: str, text: str) -> Selector:
        key, colon, pattern = text.partition(":")
        if not colon:
            key, pattern = "policy", text
        if not pattern:
            hint = "write KEY:PATTERN, or the name of a policy"
            raise InputError(f"{option} '{text}' names nothing", hint=hint)
        if key in KEYS:
            return Selector(option, key, pattern.lower() if key == "severity" else pattern)
        if key in self.standards.names():
            return Selector(option, key, pattern, self._policies(option, key, pattern))
        keys = (*KEYS, *self.standards.names())
        hint = suggestion(key, keys) or f"known are {', '.join(keys)}"
        raise InputError(f"{option} '{text}': there is no key '{key}'", hint=hint)

    def _policies(self, option: str, standard: str, pattern: str) -> frozenset[str]:
        if standard not in self.known:
            self.known[standard] = self.standards.controls(standard)
        controls = self.known[standard]
        matches = compile_wildcard(pattern)
        matching = [policies for control, policies in controls.items() if matches(control)]
        if not matching:
            hint = suggestion(pattern, controls) or f"it has {', '.join(list(controls)[:_SHOWN])} …"
            raise InputError(f"{option} {standard}:{pattern} is not a control", hint=hint)
        return frozenset(name for policies in matching for name in policies)


def selects_nothing(selector: Selector, names: Collection[str]) -> InputError:
    """Return the error of a selector that matches none of those known."""
    if selector.key not in KEYS:
        listed = ", ".join(sorted(selector.policies))
        hint = f"its policies are not among those of this scan: {listed}" if listed else None
        return InputError(f"{selector} selects nothing", hint=hint or "no policy covers it")
    values = ", ".join(sorted(names)[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    hint = suggestion(selector.pattern, names) or (f"there are {values}" if names else None)
    return InputError(f"{selector} selects nothing", hint=hint)

"""Conditions on the API of kyverno.io around policies: each form asks for its own API.

A template that is rendered where `kyverno.io/v1` is served is rendered where either API is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.assembly import API_VERSION
from chartkit.addons.migrate.charts.template import Block, Node, NotPlacedError, Region, Text
from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP
from chartkit.helm.syntax import Action, Call, Inner, Literal, Path, Term, terms

_HAS: Final = ".Capabilities.APIVersions.Has"
_ASKED: Final = re.compile(rf"\$?{re.escape(_HAS)}\s+([\"`]){re.escape(KYVERNO_GROUP)}/[^\"`]*\1")
_CHECK: Final = re.compile(
    # An action in front of `fail`, in linear time: the end is looked for first.
    r"\{\{-?\s*if\s(?=[^{}]*\}\}\s*\{\{-?\s*fail\b)"
    rf"[^{{}}]*{re.escape(_HAS)}\s+[\"`]{re.escape(KYVERNO_GROUP)}/"
)
_INSIDE: Final = re.compile(r"^\{\{-?\s*(?:else\s+)?if\s+|\s*-?\}\}$")
Named = Mapping[str, Sequence[Node]]


@dataclass(frozen=True, slots=True)
class Served:
    """A condition around a policy. start, end: the place of its action; either: the action with
    both APIs; old, new: what the forms ask for."""

    start: int
    end: int
    either: str
    old: str
    new: str


def checks(text: str) -> list[int]:
    """Return the lines of a template that stop Helm where the API of kyverno.io is not served."""
    return [text.count("\n", 0, match.start()) + 1 for match in _CHECK.finditer(text)]


def served(text: str, region: Region, named: Named) -> Served | None:
    """Return the condition on the API of kyverno.io around a policy; raise NotPlacedError for one
    that cannot ask for both APIs."""
    rows: list[Served] = []
    for *before, action in region.around:
        asking = [asked for asked in (*before, action) if _asks(asked.value, region, named)]
        is_plain = _is_plain(action.value) and not (region.root and _has_or(action.value))
        if asking == [action] and is_plain:
            rows.append(_both(text[action.start : action.end], action, region.root))
        elif asking:
            code = " ".join(text[asking[0].start : asking[0].end].split())
            raise NotPlacedError(
                f"the new form would go with the API {KYVERNO_GROUP}, which {code} asks for",
                text.count("\n", 0, asking[0].start) + 1,
            )
    if len(rows) > 1:
        raise NotPlacedError(f"several conditions ask for {KYVERNO_GROUP}", region.line)
    return rows[0] if rows else None


def _both(code: str, action: Action, root: str) -> Served:
    def new(match: re.Match[str]) -> str:
        return f'{match[0].split()[0]} "{API_VERSION}"'

    either = _ASKED.sub(lambda match: f"or ({match[0]}) ({new(match)})", code)
    old = _INSIDE.sub("", code)
    if not _has_or(action.value):
        (asked,) = _ASKED.finditer(code)
        old = f"{root if asked[0].startswith('.') else ''}{asked[0]}"
    return Served(action.start, action.end, either, old, _ASKED.sub(new, old))


def _is_plain(term: Term | None) -> bool:
    """Report whether a term asks for an API once, and holds only where that is served."""
    match term:
        case Inner(value, ()):
            return _is_plain(value)
        case Call("and" | "or", arguments):
            return sum(map(_is_plain, arguments)) == 1
    return isinstance(term, Call) and _is_question(term) and term.name.endswith(_HAS)


def _has_or(term: Term | None) -> bool:
    return any(isinstance(part, Call) and part.name == "or" for part in terms(term))


def _is_question(term: Term) -> bool:
    match term:
        case Call(name, (Literal(api, True),)) if name.removeprefix("$") == _HAS:
            return api.startswith(f"{KYVERNO_GROUP}/")
        case Call("has", (Literal(api, True), Path(_, (*_, "APIVersions")))):
            return api.startswith(f"{KYVERNO_GROUP}/")
        case Call("lookup", arguments):
            return f".{KYVERNO_GROUP}" in str(arguments)
    return False


def _asks(term: Term | None, region: Region, named: Named) -> bool:
    """Report whether a term, its variables or the templates that it includes ask for the API."""
    pending, followed = [term], set[str]()
    while pending:
        for part in terms(pending.pop()):
            if _is_question(part):
                return True
            match part:
                case Path(root, _) if root in region.variables and root not in followed:
                    followed.add(root)
                    pending.append(region.variables[root])
                case Call("include", (Literal(name, True), *_)) if name not in followed:
                    followed.add(name)
                    pending += _values(named.get(name, ()))
    return False


def _values(nodes: Sequence[Node]) -> Iterator[Term]:
    """Yield the values that nodes print, set and decide by."""
    for node in nodes:
        if not isinstance(node, Text):
            yield node.value
        if isinstance(node, Block):
            yield from _values([*node.body, *node.otherwise])

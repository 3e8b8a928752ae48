"""Lists in converted policies whose items come from values."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.migrate.charts.marks import (
    ITEMS,
    MARK,
    PolicyTemplate,
    Variant,
    nested,
    within,
)
from chartkit.addons.migrate.charts.normal import laid_out
from chartkit.addons.migrate.charts.template import argument, parsed, show, show_argument
from chartkit.addons.migrate.files.printed import CEL
from chartkit.helm.syntax import Term
from chartkit.model import Body, Json

MORE: Final = ITEMS + 1
LISTS: Final = re.compile(r"chartkitlist(\d{3})")
_LIST: Final = "chartkitlist{:03}"
_LITERALS: Final = re.compile(r"\[\s*('[^'\\]*'(?:,\s*'[^'\\]*')*)\s*\]")


@dataclass(slots=True)
class Lists:
    """The lists of a template's new policies. parts: of each, by the number of its mark."""

    template: PolicyTemplate
    parts: list[tuple[str, ...]] = field(default_factory=list)

    def collapsed(self, body: Body, variant: Variant) -> Body:
        """Return a policy with a mark for each list in CEL whose items come from values."""

        def inner(value: Json, key: str = "") -> Json:
            if isinstance(value, dict):
                return {name: inner(item, name) for name, item in value.items()}
            if isinstance(value, list):
                return [inner(item) for item in value]
            if key in CEL and isinstance(value, str):
                made = _LITERALS.sub(lambda match: self._list(match, variant), value)
                return made if made == value else laid_out(made)
            return self._joined(value, variant) if isinstance(value, str) else value

        return {key: inner(value, key) for key, value in body.items()}

    def _joined(self, text: str, variant: Variant) -> str:
        """Return a text with one mark for all items of a list that stand one behind the other."""
        template = self.template
        for match in MARK.finditer(text):
            mark = template.marks[int(match[1])]
            others = MARK.search(text, match.end())
            inner = self._nested([match, others])
            if inner is not None and others is not None:
                gap = text[match.end() : others.start()]
                code = f"join {json.dumps(gap)} {show_argument(inner)}"
                joined = template.marked(parsed(code), mark.list_key).replace(
                    "x0x", f"x{match[2]}x"
                )
                return self._joined(text[: match.start()] + joined + text[others.end() :], variant)
            items = [match[0].replace("x0xxx", f"x{at}xxx") for at in range(MORE)]
            gap = text[match.end() :].partition(items[1])[0]
            if "\n" in gap:
                continue
            whole = gap.join(items[: variant.get(mark.list_key, ITEMS)])
            if match[2] != "0" or items[1] not in whole or whole not in text:
                continue
            if show(mark.term) == template.lists[mark.list_key][-1]:
                code = f"join {json.dumps(gap)} {argument(mark.list_key)}"
                return self._joined(text.replace(whole, template.marked(parsed(code))), variant)
        return text

    def _list(self, match: re.Match[str], variant: Variant) -> str:
        literals = re.findall(r"'([^'\\]*)'", match[1])
        inner = self._nested([MARK.fullmatch(literal) for literal in literals])
        if inner is not None:
            return self.mark((show(inner),))
        parts: list[str] = []
        index = 0
        while index < len(literals):
            mark = MARK.fullmatch(literals[index])
            own = self.template.marks[int(mark[1])] if mark else None
            if mark is None or own is None or not own.list_key:
                if MARK.search(literals[index]) and (mark is None or own is None):
                    return match[0]
                code = show_argument(own.term) if own else f'"{literals[index]}"'
                parts.append(f"list {code}")
                index += 1
                continue
            count = variant.get(own.list_key, ITEMS)
            run = literals[index : index + count]
            numbers = [MARK.fullmatch(number) for number in run]
            if [n and (n[1], int(n[2])) for n in numbers] != [(mark[1], at) for at in range(count)]:
                return match[0]
            if show(own.term) != self.template.lists[own.list_key][-1]:
                return match[0]
            parts.append(own.list_key)
            index += count
        if all(part.startswith("list ") for part in parts):
            return match[0]
        return self.mark(tuple(parts))

    def _nested(self, matches: Sequence[re.Match[str] | None]) -> Term | None:
        """Return the list within the items of another whose marks these are; None for others."""
        marks = [self.template.marks[int(match[1])] for match in matches if match is not None]
        inner = within(marks[0]) if len(marks) == len(matches) else None
        if inner is None or marks != nested(inner, marks[0].list_key):
            return None
        return inner if len({match[2] for match in matches if match is not None}) == 1 else None

    def mark(self, parts: tuple[str, ...]) -> str:
        """Return the mark of a list that has the items of several."""
        if parts not in self.parts:
            self.parts.append(parts)
        return _LIST.format(self.parts.index(parts))

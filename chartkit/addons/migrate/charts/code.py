"""Expressions and texts with marks as Helm code: values in CEL as JSON, lists, and loops."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.migrate.charts.lists import LISTS, MORE
from chartkit.addons.migrate.charts.marks import MARK, NO_DIGITS, Mark, within
from chartkit.addons.migrate.charts.template import (
    NotPlacedError,
    actions,
    argument,
    show,
    show_argument,
)
from chartkit.addons.migrate.charts.variants import ANY, WILDCARDS, Variants
from chartkit.helm.syntax import Term
from chartkit.model import Json

_LITERAL: Final = re.compile(r"""('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")""")
_OPERAND: Final = (
    r"(\b\w(?:[\w.?]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    r"|\[(?:[^\[\]\s{]|\{\{[^{}]*\}\}|\{(?!\{))*\])*)"
)
_AMONG: Final = re.compile(rf"{_OPERAND} in chartkitlist(\d{{3}})")
_EQUAL: Final = re.compile(rf"{_OPERAND} ([!=])= '([^'\\\n]*)'")
_OBJECTS: Final = re.compile(
    r"(\bObject[\w.]*)(\{(?:[^{}]|\{[^{}]*\})*\b(tolerations): )chartkitlist(\d{3})"
)
_BARE: Final = re.compile(r"(?<=[ (])\.(?=[ )])")
_CODE: Final = re.compile(r"\{\{ (.*?) \}\}")
_OUTER: Final = "$outer"
_DOT: Final = re.compile(r"(?<![\w.$)\"])(\.(?=[a-z_]))")
_ROOT: Final = re.compile(r"(?<![\w.$)\"])\.(?=Values\b|Release\b|Chart\b|Capabilities\b)")


@dataclass(slots=True)
class TemplateCode:
    """Writes Helm code in place of marks.

    looping: the lists whose loops are open; optional: those that may be missing; variables: code
    of those that are set before the policy.
    """

    variants: Variants
    looping: list[str] = field(default_factory=list)
    optional: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict)

    def next_items(self, value: Json, name: str) -> Json:
        """Return a value with the marks of a list's first item as those of its second."""
        text = json.dumps(value)

        def following(match: re.Match[str]) -> str:
            own = self.mark(match).list_key == name and match[2] == "0"
            return match[0].replace("x0xxx", "x1xxx") if own else match[0]

        made: Json = json.loads(MARK.sub(following, text))
        return made

    def mark(self, match: re.Match[str]) -> Mark:
        return self.variants.template.marks[int(match[1])]

    def value(self, match: re.Match[str], as_argument: bool = False) -> str:
        """Return a mark's value; raise NotPlacedError for an item outside of its loop."""
        mark = self.mark(match)
        if within(mark) is not None:
            reason = "a range within another is not supported"
            raise NotPlacedError(reason, self.line(mark.list_key))
        if mark.list_key and mark.list_key not in self.looping:
            raise NotPlacedError("the items of a list are not repeated", self.line(mark.list_key))
        return self.term(mark.term, as_argument)

    def printed(self, match: re.Match[str]) -> str:
        return f"{{{{ {self.value(match)} }}}}"

    def opening(self, name: str, has_index: bool = False, inside: Sequence[str] = ()) -> str:
        """Return the code that begins a loop over a list, or over a map by its keys; inside: the
        lines of the loop, which may name the index."""
        has_index = has_index or any("$index" in line for line in inside)
        names, code = self.variants.template.lists[name], self.at(name)
        if not has_index:
            return f"range {', '.join(names)} := {code}"
        if len(names) == 1:
            return f"range $index, {names[0]} := {code}"
        whole = argument(self.within(code))
        return (
            f"range $index, {names[0]} := keys {argument(code)} | sortAlpha }}}}"
            f"{{{{ {names[1]} := get {whole} {names[0]}"
        )

    def line(self, name: str) -> int:
        return self.variants.template.lines.get(name, self.variants.line)

    def at(self, code: str) -> str:
        """Return Helm code for where it stands."""
        return self.within(code) if self.looping else code

    def within(self, code: str) -> str:
        """Return Helm code for the inside of a loop, where `.` is an item."""
        code = _ROOT.sub("$.", code)
        inside = _DOT.sub(rf"{_OUTER}\1", code)
        if inside != code:
            self.variables[_OUTER] = "."
        return inside

    def inside(self, text: str) -> str:
        """Return lines of a template for the inside of a loop."""
        made, position, blocks = "", 0, list[str]()
        for action in actions(text):
            code = text[action.start : action.end]
            if not {"with", "range"}.intersection(blocks):
                code = _BARE.sub("$", self.within(code))
            made += text[position : action.start] + code
            position = action.end
            if action.keyword in ("if", "with", "range"):
                blocks.append(action.keyword)
            elif action.keyword == "end":
                blocks.pop()
        return made + text[position:]

    def term(self, term: Term, as_argument: bool = False) -> str:
        return self.at(show_argument(term) if as_argument else show(term))

    def text(self, value: str) -> str:
        """Return Helm code for a text with marks."""
        matches = list(MARK.finditer(value))
        if len(matches) == 1 and matches[0][0] == value:
            return self.value(matches[0])
        pattern = "%v".join(part.replace("%", "%%") for part in MARK.split(value)[::3])
        terms = [self.value(match, True) for match in matches]
        return " ".join(["printf", json.dumps(pattern, ensure_ascii=False), *terms])

    def expression(self, text: str) -> str:
        """Return an expression with Helm code for marks: in literals as JSON, which CEL reads."""
        parts = _LITERAL.split(_EQUAL.sub(self._fitting_text, text))
        for at, part in enumerate(parts):
            self.require_plain(part)
            if not MARK.search(part):
                parts[at] = escaped(part)
            elif at % 2:
                if "\\" in part:
                    raise NotPlacedError(
                        "a value is part of a text with escapes", self.variants.line
                    )
                match = MARK.fullmatch(part[1:-1])
                if match is not None:
                    self._require_number(match)
                parts[at] = f"{{{{ {self.text(part[1:-1])} | quote }}}}"
            else:
                for match in MARK.finditer(part):
                    self.variants.refuse(self.mark(match), *NO_DIGITS)
                parts[at] = MARK.sub(self.printed, escaped(part))
        whole = _AMONG.sub(self._fitting, "".join(parts))
        whole = _OBJECTS.sub(self._objects, whole)
        return LISTS.sub(self._list, whole)

    def require_plain(self, text: str) -> None:
        """Refuse values with wildcards for the marks of a text where their characters count."""
        for match in MARK.finditer(text):
            if int(match[1]) in self.variants.patterns:
                self.variants.refuse(self.mark(match), ANY, WILDCARDS)

    def _fitting_text(self, match: re.Match[str]) -> str:
        """Report whether a text is another, as one of a list, where the other has wildcards."""
        if self.variants.patterns.isdisjoint(int(mark[1]) for mark in MARK.finditer(match[3])):
            return match[0]
        code = f"list {argument(self.text(match[3]))}"
        self.variants.wild.add(code)
        fits = f"{match[1]} in {self.variants.lists.mark((code,))}"
        return f"!({fits})" if match[2] == "!" else fits

    def _require_number(self, match: re.Match[str]) -> None:
        """Refuse values that are no numbers where a pattern reads them as such."""
        if refused := self.variants.template.ordered.get(int(match[1])):
            self.variants.refuse(self.mark(match), *refused)

    def _list(self, match: re.Match[str]) -> str:
        parts = self.variants.lists.parts[int(match[1])]
        for mark in self.variants.template.marks:
            inner = within(mark)
            name = mark.list_key if inner is None else show(inner)
            if name in self.variants.wild.intersection(parts):
                self.variants.refuse(mark, ANY, WILDCARDS)
        return f"{{{{ {self.list_code(parts)} | toJson }}}}"

    def _objects(self, match: re.Match[str]) -> str:
        """Return an object of a type with a list of others, which a helper writes."""
        items = argument(self.list_code(self.variants.lists.parts[int(match[4])]))
        facts = f'"type" "{match[1]}.{match[3]}" "items" {items}'
        return f'{match[1]}{match[2]}{{{{ include "CHART.objects" (dict {facts}) }}}}'

    def _fitting(self, match: re.Match[str]) -> str:
        """Report whether a text is among those of a list with wildcards, which a helper writes."""
        parts = self.variants.lists.parts[int(match[2])]
        if not self.variants.wild.intersection(parts):
            return match[0]
        text = re.sub(r"(?<=\()\s+|\s+(?=\))", "", match[1])
        text = re.sub(r"\n\s*", " ", text)
        facts = f'"text" {_printed(text)} "values" {argument(self.list_code(parts))}'
        # What is absent is equal to no text, and ends with none.
        wild = text.replace(".orValue(null)", ".orValue('')")
        facts += f' "wild" {_printed(wild)}' if wild != text else ""
        return f'{{{{ include "CHART.fits" (dict {facts}) }}}}'

    def list_code(self, parts: Sequence[str]) -> str:
        """Return the code of a list of several parts, of which some may be missing."""
        codes = [
            f"{argument(part)} | default list" if part in self.optional else part
            for part in map(self.at, parts)
        ]
        if len(codes) == 1:
            return codes[0]
        joined = f"concat {' '.join(map(argument, codes))}"
        # Helm joins empty lists to null.
        return (
            f"{joined} | default list" if self.optional.issuperset(map(self.at, parts)) else joined
        )

    def repetition(self, two: str, three: str, name: str) -> str:
        """Return an expression that repeats a part for each item of a list, from what it is for two
        and three items."""
        placed = [match for match in MARK.finditer(three) if self.mark(match).list_key == name]
        own = [(int(match[2]), match.span()) for match in placed]
        marks = [mark for mark in self.variants.template.marks if mark.list_key == name]
        nested = {(show(inner),) for mark in marks if (inner := within(mark)) is not None}
        for parts in nested.intersection(self.variants.lists.parts):
            # The lists within the items stand there once for each.
            lists = re.finditer(self.variants.lists.mark(parts), three)
            own += [(index, match.span()) for index, match in enumerate(lists)]
        spans: list[tuple[int, int]] = []
        for index in range(MORE):
            at = [span for number, span in own if number == index]
            if not at:
                raise self._unlike(name)
            spans.append((min(at)[0], max(at)[1]))
        (first, second, third) = spans
        if not first[1] <= second[0] <= second[1] <= third[0]:
            raise self._unlike(name)
        gap, unit = three[first[1] : second[0]], three[slice(*first)]
        before, after = three[: first[0]], three[third[1] :]

        def numbered(index: int) -> str:
            return re.sub(r"(ck-mark\d{3}x)0(?=xxx)", rf"\g<1>{index}", unit)

        rebuilt = [before + gap.join(map(numbered, range(count))) + after for count in (2, 3)]
        if ["".join(piece.split()) for piece in rebuilt] != [
            "".join(piece.split()) for piece in (two, three)
        ]:
            raise self._unlike(name)
        return self._repeat(before, gap, unit, after, name)

    def _repeat(self, before: str, gap: str, unit: str, after: str, name: str) -> str:
        """Return an expression with a loop, over lines if its parts have lines of their own."""
        joint, newline, head = gap.rpartition("\n")
        head = head.lstrip() if newline else _common_start(before[::-1], gap[::-1])[::-1]
        if not before.endswith(head):
            raise self._unlike(name)
        before = before[: len(before) - len(head)]
        joint = joint if newline else gap[: len(gap) - len(head)]
        tail = _common_start(after, joint)
        joint, after = joint[len(tail) :], after[len(tail) :]
        self.looping.append(name)
        inside = self.expression(head + unit + tail)
        self.looping.pop()
        opening = self.opening(name, bool(joint), [inside])
        joint = f"{{{{ if $index }}}}{escaped(joint)}{{{{ end }}}}" if joint else ""
        if not newline:
            loop = f"{{{{ {opening} }}}}{joint}{inside}{{{{ end }}}}"
            return self.expression(before) + loop + self.expression(after)
        start, _, pad = before.rpartition("\n")
        if pad.strip():
            start, pad = before.rstrip(), " " * 2
        return (
            f"{self.expression(start)}\n{pad}{{{{- {opening} }}}}{joint}\n{pad}{inside}\n"
            f"{pad}{{{{- end }}}}{self.expression(after)}"
        )

    def _unlike(self, name: str) -> NotPlacedError:
        return NotPlacedError(
            f"the expression is not repeated alike for the items of {name}", self.line(name)
        )


def _printed(text: str) -> str:
    """Return a text with Helm code as an argument of a function."""
    parts = _CODE.split(text)
    if len(parts) == 1:
        return json.dumps(text)
    pattern = "%s".join(part.replace("%", "%%") for part in parts[::2])
    return f"(printf {json.dumps(pattern)} {' '.join(map(argument, parts[1::2]))})"


def escaped(text: str) -> str:
    """Return a text that Helm prints as it is."""
    return text.replace("{{", "{{ `{{` }}") if "{{" in text else text


def _common_start(first: str, second: str) -> str:
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return first[:count]

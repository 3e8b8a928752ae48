"""Converted policies as template text: what depends on values stands in the template's own code."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

from chartkit.addons.migrate.charts.chosen import KINDS, OPERATIONS
from chartkit.addons.migrate.charts.code import TemplateCode, escaped
from chartkit.addons.migrate.charts.lines import (
    branched,
    by_key,
    folded,
    merged,
    negated,
    shared_names,
    union,
)
from chartkit.addons.migrate.charts.lists import LISTS, MORE
from chartkit.addons.migrate.charts.marks import EXCLUDED, ITEMS, MARK, SPECIMENS, YAML
from chartkit.addons.migrate.charts.normal import normal
from chartkit.addons.migrate.charts.template import NotPlacedError, argument, show
from chartkit.addons.migrate.charts.variants import CONTROLLERS, Variants
from chartkit.addons.migrate.charts.ways import Ways
from chartkit.addons.migrate.files.printed import CEL, in_reading_order, may_fold
from chartkit.documents.yaml_dump import dump_text
from chartkit.helm.syntax import Call, Term
from chartkit.model import Json

_MISSING: Final[Any] = object()
_EXCLUSION: Final = re.compile(r"(?P<namespace>.+) != '(?P<mark>chartkitexclude\d{3})'")
_QUOTED: Final = re.compile(rf"(?<=: )'({MARK.pattern})'$", re.MULTILINE)
_WHOLE: Final = re.compile(rf"^( *)(- )?\{{\{{ (.*) \}}\}}: {YAML}$")
_Get = Callable[[dict[str, int]], Json]


@dataclass(slots=True)
class Writer:
    """Writes the new policies of a template."""

    variants: Variants
    code: TemplateCode = field(init=False)
    ways: Ways = field(init=False)

    def __post_init__(self) -> None:
        self.code = TemplateCode(self.variants)
        self.ways = Ways(self.variants, self.code.looping)

    def document(self, document: str) -> list[tuple[str, list[str]]]:
        """Return the conditions under which a policy is there, each for where those before do not
        hold, and its spec for each; one that is empty always holds."""
        loop = self.variants.list_of(document)
        inside = {loop: ITEMS} if loop else {}
        here = document in self.variants.bodies({})

        def get(fixed: dict[str, int]) -> Json:
            return self.variants.bodies(fixed).get(document, {}).get("spec", _MISSING)

        needed = self.ways.needed(document)
        documents = []
        for way in self.ways.of(document):
            taken = {key: way[key] for key in way if here or way[key] != self.ways.now(key, {})}
            parts = [self._condition(taken)] * bool(taken)
            if taken.keys().isdisjoint(needed):
                parts += [" ".join(["or", *map(argument, map(self.code.at, needed))])] * bool(
                    needed
                )
            code = parts[0] if len(parts) == 1 else " ".join(["and", *map(argument, parts)])
            spec = merged(self._entry("spec:", get, {**inside, **way}, 0, "spec"))
            documents.append((code if parts else "", spec))
        return documents

    def _condition(self, taken: dict[str, int]) -> str:
        """Return the code of decisions; empty for none."""
        codes = [
            self.code.at(key) if value else negated(self.code.at(key))
            for key, value in taken.items()
        ]
        return (
            codes[0]
            if len(codes) == 1
            else " ".join(["and"] * bool(codes) + list(map(argument, codes)))
        )

    def _entry(
        self, head: str, get: _Get, fixed: dict[str, int], indent: int, key: str
    ) -> list[str]:
        base = get(fixed)
        differing = [
            (other, value)
            for _, other in self.ways.others(fixed)
            if (value := get({**fixed, **other})) is not base and value != base
        ]
        values = [base, *(value for _, value in differing)]
        if base is _MISSING and not differing:
            return []
        if all(isinstance(value, dict) for value in values):
            types = [taken for taken, value in differing if _type(value) != _type(base)]
            if types:
                return self._split(types[0], head, get, fixed, indent, key)
            special = self._special(head, base, indent)
            return special or self._mapping(head, get, fixed, indent, values)
        if all(isinstance(value, list) for value in values):
            repeated = self._repeated(get, fixed)
            owners = [taken for taken, value in differing if repeated in taken and value]
            if owners:
                return self._split(owners[0], head, get, fixed, indent, key)
            lines = self._list(head, get, fixed, indent, values)
            if lines is not None:
                return lines
        if differing:
            absent = [
                taken for taken, value in differing if (value is _MISSING) != (base is _MISSING)
            ]
            return self._split((absent or [differing[0][0]])[0], head, get, fixed, indent, key)
        return self._scalar(head, get, fixed, indent, key)

    def _split(
        self,
        other: dict[str, int],
        head: str,
        get: _Get,
        fixed: dict[str, int],
        indent: int,
        key: str,
    ) -> list[str]:
        """Return the lines for a decision either way; other: what else than now is taken, of which
        the last counts with those before it."""
        *context, name = other
        if context and self.variants.under.get(name, {}).keys().isdisjoint(context):
            # Each counts without the others as well.
            context, name = [], min(other, key=self.variants.choices.index)
            other = {name: other[name]}
        no, yes = self.ways.values(name)
        if self._is_optional(name, get, fixed, key):
            if key in CEL:
                self.code.optional.add(self.code.at(name))
            return self._entry(head, get, {**fixed, name: yes}, indent, key)
        if other[name] == yes:
            then, otherwise = {**fixed, **other}, {**fixed, name: no}
        elif context:
            then, otherwise = {**fixed, **other}, {**fixed, name: yes}
        else:
            then, otherwise = {**fixed, name: yes}, {**fixed, name: no}
        inside = self._entry(head, get, then, indent, key)
        outside = self._entry(head, get, otherwise, indent, key)
        code = self._condition({part: then[part] for part in (*context, name)})
        return branched(code, inside, outside, " " * indent)

    def _mapping(
        self, head: str, get: _Get, fixed: dict[str, int], indent: int, values: Sequence[Any]
    ) -> list[str]:
        pad = " " * indent
        keys = union([list(value) for value in values])
        if head == "spec:":
            keys = list(in_reading_order({"spec": dict.fromkeys(keys)})["spec"])
        if not keys:
            return [f"{pad}{head} {{}}"]

        def child(key: str) -> _Get:
            def inner(fixed: dict[str, int]) -> Json:
                value = get(fixed)
                return value.get(key, _MISSING) if isinstance(value, dict) else _MISSING

            return inner

        lines = [
            line
            for key in keys
            for line in self._entry(f"{dump_text(key)}:", child(key), fixed, indent + 2, key)
        ]
        if head == "-" and not lines[0].lstrip().startswith("{{"):
            return [f"{pad}- {lines[0][indent + 2 :]}", *lines[1:]]
        return [f"{pad}{head}", *lines]

    def _list(
        self, head: str, get: _Get, fixed: dict[str, int], indent: int, values: Sequence[Any]
    ) -> list[str] | None:
        """Return the lines of a list; None for one whose items look alike."""
        pad = " " * indent
        if not any(values):
            return [f"{pad}{head} []"]
        below = indent if head != "-" else indent + 2
        shared = shared_names(values)
        named = [by_key(value, shared) for value in values]
        same_lengths = len({len(value) for value in values}) == 1
        repeated = self._repeated(get, fixed)
        if repeated is not None and same_lengths:
            return [f"{pad}{head}", *self._loop(get, fixed, below, repeated)]
        if not same_lengths and any(names is None for names in named):
            return None
        if same_lengths:
            keys = list(range(len(values[0])))
        else:
            named.insert(0, by_key(self._whole_list(get, fixed), shared))
            keys = union([list(names or ()) for names in named])

        def child(key: Any) -> _Get:
            def inner(fixed: dict[str, int]) -> Json:
                value = get(fixed)
                named = by_key(value, shared) if isinstance(value, list) else None
                return (named or {}).get(key, _MISSING)

            return _at(get, key) if same_lengths else inner

        lines = [line for key in keys for line in self._entry("-", child(key), fixed, below, "")]
        return [f"{pad}{head}", *lines]

    def _whole_list(self, get: _Get, fixed: dict[str, int]) -> list[Json]:
        """Return a list as it is where all decisions are taken the other way, for the order of its
        items; empty where there is none."""
        taken = reduce(operator.or_, (other for _, other in self.ways.others(fixed)), fixed)
        with suppress(NotPlacedError):
            value = get(taken)
            return value if isinstance(value, list) else []
        return []

    def _repeated(self, get: _Get, fixed: dict[str, int]) -> str | None:
        """Return the list that a value repeats something for, None where it repeats nothing."""
        base = get(fixed)
        for name in self.variants.template.lists:
            if name not in self.code.looping and self.ways.now(name, fixed) == ITEMS:
                more = get({**fixed, name: MORE})
                if more != base:
                    return name
        return None

    def _loop(self, get: _Get, fixed: dict[str, int], indent: int, name: str) -> list[str]:
        """Return the lines of list items that are repeated for each item of a list of values."""
        base, more = get(fixed), get({**fixed, name: MORE})
        if not isinstance(base, list) or not isinstance(more, list):
            raise NotPlacedError(
                "the length of a list decides the type of a field", self.code.line(name)
            )
        count = len(more) - len(base)
        if not count:
            return self._items(get, fixed, indent, range(len(base)))
        start = self._first_repeated(base, count, name)
        if start is None:
            raise NotPlacedError(
                "the fields for the items of a list differ in more than the item",
                self.code.line(name),
            )
        pad = " " * indent
        self.code.looping.append(name)
        inside = self._items(get, fixed, indent, range(start, start + count))
        self.code.looping.pop()
        lines = self._items(get, fixed, indent, range(start))
        lines += self.looped(inside, name, pad)
        return lines + self._items(get, fixed, indent, range(start + 2 * count, len(base)))

    def _first_repeated(self, items: Sequence[Json], count: int, name: str) -> int | None:
        """Return the index of what is the same for the first and second item of a list."""
        for at in range(len(items) - 2 * count + 1):
            one, two = items[at : at + count], items[at + count : at + 2 * count]
            if self.code.next_items(list(one), name) == two != one:
                return at
        return None

    def _repeated_lines(self, text: str, more: str, name: str) -> list[str] | None:
        """Return the lines of a text in YAML with a loop over those for each item of a list."""
        lines = text.split("\n")
        count = more.count("\n") + 1 - len(lines)
        start = self._first_repeated(lines, count, name) if count > 0 else None
        if start is None:
            return None
        pad = " " * (len(lines[start]) - len(lines[start].lstrip()))
        self.code.looping.append(name)
        inside = list(map(self._printed, lines[start : start + count]))
        self.code.looping.pop()
        before, after = lines[:start], lines[start + 2 * count :]
        made = [*map(self._printed, before), *self.looped(inside, name, pad)]
        return made + list(map(self._printed, after))

    def looped(self, inside: Sequence[str], name: str, pad: str) -> list[str]:
        """Return lines in a loop over a list."""
        opening = f"{pad}{{{{- {self.code.opening(name, inside=inside)} }}}}"
        return [opening, *inside, f"{pad}{{{{- end }}}}"]

    def _printed(self, line: str) -> str:
        """Return a line in YAML with code in place of marks."""
        line = _QUOTED.sub(
            lambda match: f"{{{{ {self.code.text(match[1])} | quote }}}}", escaped(line)
        )
        return MARK.sub(self.code.printed, line)

    def _items(self, get: _Get, fixed: dict[str, int], indent: int, items: range) -> list[str]:
        return [line for at in items for line in self._entry("-", _at(get, at), fixed, indent, "")]

    def _special(self, head: str, base: Json, indent: int) -> list[str]:
        """Return the lines of a match condition that excludes what values say; none for others."""
        expression = base.get("expression") if isinstance(base, dict) else None
        if not isinstance(expression, str) or not EXCLUDED.search(expression):
            return []
        match = _EXCLUSION.fullmatch(normal(expression))
        if match is None or not isinstance(base, dict):
            raise NotPlacedError(
                "an exclusion from values stands next to another", self.variants.line
            )
        excluded = self.variants.template.excluded[int(match["mark"][-3:])]
        facts = (
            f'dict "exclude" {self._variable_of(excluded)} "object" "object" '
            f'"namespace" {json.dumps(match["namespace"])}'
        )
        pad = " " * indent
        return [
            f'{pad}{{{{- with include "CHART.notExcluded" ({facts}) }}}}',
            f"{pad}{head} name: {base['name']}",
            f"{pad}  expression: >-",
            f"{pad}    {{{{ . }}}}",
            f"{pad}{{{{- end }}}}",
        ]

    def _variable_of(self, excluded: Term) -> str:
        """Return the variable for an exclusion from values, which is set before the policy."""
        terms = self.variants.template.excluded
        name = "$exclude" if len(terms) == 1 else f"$exclude{terms.index(excluded) + 1}"
        self.code.variables[name] = show(excluded)
        return name

    def _controllers(self, pad: str) -> list[str]:
        chosen = self.variants.controllers
        excluded = self.variants.template.excluded[:1]
        facts = ["dict"]
        facts += [f'"controllers" {self.code.term(chosen, True)}'] if chosen is not None else []
        facts += [f'"exclude" {self._variable_of(excluded[0])}'] if excluded else []
        included = f'include "CHART.podControllers" ({" ".join(facts)})'
        lines = "autogen:", "  podControllers:", f"    controllers: {{{{ {included} }}}}"
        return [f"{pad}{line}" for line in lines]

    def _chosen(self, head: str, value: str, pad: str) -> list[str]:
        """Return the lines of kinds or operations that values choose."""
        codes = {
            key: self.code.term(term, True) for key, term in self.variants.template.chosen.items()
        }
        if value == OPERATIONS:
            return [f"{pad}{head} {{{{ toJson {codes['operations']} }}}}"]
        asked = value.removeprefix(KINDS)
        operations = f"(list {' '.join(map(json.dumps, asked.split(',')))})"
        facts = f'dict "kinds" {codes["kinds"]} "operations" {codes.get("operations", operations)}'
        included = f'include "CHART.resourceRules" ({facts})'
        return [f"{pad}{head}", f"{pad}{{{{- {included} | nindent {len(pad)} }}}}"]

    def _scalar(
        self, head: str, get: _Get, fixed: dict[str, int], indent: int, key: str
    ) -> list[str]:
        pad = " " * indent
        value = get(fixed)
        if value == CONTROLLERS:
            return self._controllers(pad)
        specimens = self.variants.template.specimens
        for field_name, term in specimens.items():
            if field_name.lower().endswith(key.lower()) and str(value) == SPECIMENS[field_name]:
                quoted = " | quote" if isinstance(value, str) else ""
                return [f"{pad}{head} {{{{ {self.code.term(term)}{quoted} }}}}"]
        if not isinstance(value, str):
            return [f"{pad}{head} {json.dumps(value)}"]
        return self._text(head, value, get, fixed, indent, key)

    def _text(
        self, head: str, value: str, get: _Get, fixed: dict[str, int], indent: int, key: str
    ) -> list[str]:
        pad = " " * indent
        if value.startswith((KINDS, OPERATIONS)):
            return self._chosen(head, value, pad)
        name = self._repeated(get, fixed)
        if name is not None and key in CEL:
            more = get({**fixed, name: MORE})
            if not isinstance(more, str):
                raise NotPlacedError(
                    "the length of a list decides the type of a field", self.code.line(name)
                )
            return self._block(f"{pad}{head}", self.code.repetition(value, more, name), indent)
        if key == "value" and "((" in value:
            for match in MARK.finditer(value):
                self.variants.refuse(self.code.mark(match), "[(][(]", "what begins an expression")
        if name is not None and key == "value":
            lines = self._repeated_lines(value, str(get({**fixed, name: MORE})), name)
            if lines is not None:
                return self._block(f"{pad}{head}", "\n".join(lines), indent)
        if name is not None:
            raise NotPlacedError(
                f"the list is part of the text of {key or 'an item'}", self.code.line(name)
            )
        if not (MARK.search(value) or LISTS.search(value)):
            if "\n" in value or (key in CEL and dump_text(value).startswith("'")):
                return self._block(f"{pad}{head}", escaped(value), indent)
            wrapped = folded(value, indent + 2) if key not in CEL and may_fold(value) else []
            if wrapped and " ".join(line.strip() for line in wrapped) == value:
                return [f"{pad}{head} >-", *map(escaped, wrapped)]
            return [f"{pad}{head} {escaped(dump_text(value, indent))}"]
        if key in CEL:
            return self._block(f"{pad}{head}", self.code.expression(value), indent)
        if key == "value" and "\n" in value:
            text = "\n".join(map(self._printed, value.split("\n")))
            return self._block(f"{pad}{head}", text, indent)
        if key != "message":
            self.code.require_plain(value)
        return [f"{pad}{head} {{{{ {self.code.text(value)} | quote }}}}"]

    def _block(self, head: str, text: str, indent: int) -> list[str]:
        pad = " " * (indent + 2)
        kept = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
        lines = [f"{pad}{line}" if line else "" for line in text.removesuffix("\n").split("\n")]
        return [f"{head} |{kept}", *(_WHOLE.sub(_whole, line) for line in lines)]

    def _is_optional(self, name: str, get: _Get, fixed: dict[str, int], key: str) -> bool:
        """Report whether an expression may have an empty list where it lacks a list of values."""
        no, yes = self.ways.values(name)
        with_list, without = get({**fixed, name: yes}), get({**fixed, name: no})
        if not self.variants.is_list(name) or not isinstance(with_list, str):
            return False
        if key not in CEL:
            return bool(with_list != without == self._without_joined(with_list, name))

        def emptied(match: re.Match[str]) -> str:
            parts = tuple(part for part in self.variants.lists.parts[int(match[1])] if part != name)
            return self.variants.lists.mark(parts) if parts else "[]"

        wanted = normal(LISTS.sub(emptied, with_list))
        return isinstance(without, str) and wanted == normal(without)

    def _without_joined(self, text: str, name: str) -> str:
        """Return a text without the joined items of a list."""

        def left(match: re.Match[str]) -> str:
            term = self.code.mark(match).term
            is_own = isinstance(term, Call) and term.name == "join"
            return "" if is_own and show(term).endswith(f" {argument(name)}") else match[0]

        return MARK.sub(left, text)


def _whole(match: re.Match[str]) -> str:
    """Return a line for a value that stands in YAML as it is; an empty list needs to be further
    inside than its key."""
    pad = f"{match[1]}{'  ' * bool(match[2])}"
    return f"{pad}{{{{- toYaml {argument(match[3])} | nindent {len(pad)} }}}}"


def _type(value: Any) -> Json:
    """Return the type of a patch, which its other fields depend on."""
    return value.get("patchType")


def _at(get: _Get, index: int) -> _Get:
    """Return what gets the item of a list."""

    def inner(fixed: dict[str, int]) -> Json:
        value = get(fixed)
        return value[index] if isinstance(value, list) and index < len(value) else _MISSING

    return inner

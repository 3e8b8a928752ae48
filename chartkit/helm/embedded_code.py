"""Policies that others wrote as text for the chart: what Helm runs of it, what it only prints.

Kyverno's `{{ }}` is escaped (`chartkit.helm.syntax`). Helm code that the text already contains is
recognised by reading what is between the braces, and kept: literals that print braces, guards
around the document (`if`, `with`), values, labels. It sees `.Values`, `.Release`, `.Chart` and
`.Capabilities`, and calls functions of a short list; everything else that is Helm code is refused,
so that a policy from elsewhere reads no file, no secret, no clock, and cannot grow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Final

from chartkit.documents.reader import Source, read_file
from chartkit.errors import InputError
from chartkit.helm.syntax import (
    CLOSE,
    KEYWORDS,
    OPEN,
    Action,
    Call,
    Inner,
    Literal,
    Path,
    Term,
    end_of_variable,
    literal,
    read_action,
    terms,
)
from chartkit.model import Location

_FUNCTIONS: Final = read_file(File(__file__).with_name("functions.yaml"))[0].body
_SELECTING: Final = frozenset(_FUNCTIONS["selecting"].split())
_PURE: Final = _SELECTING | frozenset(_FUNCTIONS["making"].split())
_OTHERS: Final = {
    name: why for why, names in _FUNCTIONS["others"].items() for name in names.split()
}
"""Functions that give a part of an argument, that a policy may call, and may not call and why."""
UNKNOWN: Final = "helm-value"
"""Stands in an outline for what only Helm can tell."""
LIBRARY_TEMPLATES: Final = ("kyverno-policies.labels", "kyverno-policies.name")
"""The chart's own templates that a policy may include."""
_TEMPLATE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}")
_ROOTS: Final = ("Values", "Release", "Chart", "Capabilities")
_HAS_API: Final = ".Capabilities.APIVersions.Has"
_FORMAT: Final = re.compile(r"(?:[^%]|%[sdvqt%])*")
_FROM_VALUES: Final = 2_000
"""Characters that a value is taken to have."""
_GROWTH: Final = 6
"""The most characters that a function makes of one (escapes in texts)."""
_LARGEST: Final = 4_000_000
_INDENT: Final = 64
_MOST_ACTIONS: Final = 2_000
_MARK: Final = "\ue000"
"""The place of code in an outline that is being built; no letter of any script."""
_VALUE: Final = "\ue001"


@dataclass(frozen=True, slots=True)
class UpstreamText:
    """A text for the chart.

    template: what Helm is given; outline: what that comes to, as far as it is known without Helm,
    UNKNOWN for values; has_code: whether Helm decides anything about it (else the outline is what
    Helm prints, to the letter); guards: templates that its guards ask, of which the chart has none.
    """

    template: str
    outline: str
    has_code: bool
    guards: tuple[str, ...] = ()


def read_upstream(source: Source) -> UpstreamText:
    """A policy's text, looked through; raises InputError for code that it may not have."""
    if OPEN not in source.text:
        return UpstreamText(source.text, source.text, False)
    return _Reader(source).read()


def first_code(text: str) -> int | None:
    """Return the line (from 1) of the first `{{ }}` that only Helm can mean, None without one."""
    reader, start = _Reader(Source("", text)), -1
    while (start := text.find(OPEN, start + 1)) >= 0:
        if not _is_escaped(text, start) and reader.begins_code(start):
            return text.count("\n", 0, start) + 1
    return None


@dataclass(slots=True)
class _Block:
    action: Action
    is_first: bool = True
    variables: int = 0


@dataclass(slots=True)
class _Reader:
    source: Source
    template: list[str] = field(default_factory=list)
    outline: list[str] = field(default_factory=list)
    blocks: list[_Block] = field(default_factory=list)
    variables: list[tuple[str, Term | None, int]] = field(default_factory=list)
    guards: dict[str, None] = field(default_factory=dict)
    has_code: bool = False
    actions: int = 0

    def read(self) -> UpstreamText:
        text, position = self.source.text, 0
        while (start := text.find(OPEN, position)) >= 0:
            self._plain(text[position:start])
            action = None if _is_escaped(text, start) else self._code(start)
            if action is None:
                position = end_of_variable(text, start)
                self.template.append(literal(text[start:position]))
                self._add_outline(text[start:position])
            else:
                position = action.end
        self._plain(text[position:])
        if self.blocks:
            raise self._refusal(self.blocks[-1].action, "has no end")
        outline = "".join(self.outline)
        if self.has_code:
            kept = []
            for line in outline.split("\n"):
                bare = line.replace(_MARK, "").replace(_VALUE, "").strip()
                code = _MARK in line or _VALUE in line
                kept.append(
                    "" if code and not bare else line.replace(_MARK, "").replace(_VALUE, UNKNOWN)
                )
            outline = "\n".join(kept)
        return UpstreamText("".join(self.template), outline, self.has_code, tuple(self.guards))

    def _plain(self, text: str) -> None:
        self.template.append(text)
        self._add_outline(text)

    def _add_outline(self, text: str) -> None:
        """Of the text in a later branch the outline keeps only the line breaks."""
        if all(block.is_first for block in self.blocks):
            self.outline.append(text)
        else:
            self.outline.append(_MARK + _MARK.join("\n" * text.count("\n")) + _MARK)

    def _code(self, start: int) -> Action | None:
        """The Helm action that begins here, kept; None where it is a variable of Kyverno's."""
        action = read_action(self.source.text, start)
        if action is None:
            self._require_no_keyword(start)
            return None
        if not self._is_helm(action):
            return None
        self.actions += 1
        if self.actions > _MOST_ACTIONS:
            raise self._refusal(action, f"is one of more than {_MOST_ACTIONS} actions")
        value = action.value
        is_plain = not (action.keyword or action.declares or action.trims)
        if is_plain and isinstance(value, Literal) and value.is_text:
            # It always prints the same: a literal with braces in it.
            self.template.append(self.source.text[start : action.end])
            self._add_outline(value.value)
            return action
        self.has_code = True
        if action.keyword in ("define", "block", "template"):
            raise self._refusal(action, "a policy from elsewhere has no templates of its own")
        if action.keyword in ("break", "continue"):
            raise self._refusal(action, "loops of a policy run to their end")
        guard = _guard(action)
        for term in terms(action.value):
            if isinstance(term, Call):
                self._require_call(action, term, guard)
            elif isinstance(term, Path):
                self._require_path(action, term)
        if self._size(action.value) > _LARGEST:
            raise self._refusal(action, "could make a text of many megabytes")
        if action.keyword == "range" and not isinstance(action.value, Path):
            raise self._refusal(action, "may go through a list of .Values alone")
        self.template.append(self.source.text[start : action.end])
        self._outlined(action)
        return action

    def begins_code(self, start: int) -> bool:
        """Report whether the braces here are Helm's beyond doubt."""
        action = read_action(self.source.text, start)
        if action is not None:
            return self._is_helm(action)
        try:
            self._require_no_keyword(start)
        except InputError:
            return True
        return False

    def _require_no_keyword(self, start: int) -> None:
        """`{{ if …` is Helm's beyond doubt: as text it would leave half of a guard behind."""
        words = self.source.text[start + len(OPEN) : start + 100].removeprefix("-").split(None, 1)
        if len(words) == 2 and words[0] in KEYWORDS - {"end", "else", "break", "continue"}:
            second = words[1][:1]
            if second in ("$", ".", '"', "`", "(") or words[1].split(None, 1)[0] in _PURE:
                raise self._at(start, f"'{{{{ {words[0]} …' is not Helm code that can be read")

    def _is_helm(self, action: Action) -> bool:
        if action.keyword in ("end", "else", "break", "continue"):
            return bool(self.blocks)
        if action.keyword or action.declares:
            return True
        parts = list(terms(action.value))
        if any(isinstance(part, Path) or _is_method(part) for part in parts):
            return True
        calls = [part.name for part in parts if isinstance(part, Call)]
        is_known = all(name in _PURE or name in _OTHERS for name in calls)
        return is_known and any(map(_is_evidence, parts))

    def _require_call(self, action: Action, call: Call, guard: str | None) -> None:
        if call.name.removeprefix("$") == _HAS_API:
            return
        if call.name not in _PURE:
            method = "a policy may read no file and call no method"
            unknown = method if _is_method(call) else "Helm has no such function"
            why = _OTHERS.get(call.name, unknown)
            raise self._refusal(action, f"calls '{call.name}': {why}")
        first = call.arguments[0] if call.arguments else None
        text = first.value if isinstance(first, Literal) and first.is_text else None
        if call.name == "printf" and (text is None or not _FORMAT.fullmatch(text)):
            raise self._refusal(action, "needs a form of %s, %d, %v, %q and %t for printf")
        if call.name in ("indent", "nindent"):
            width = first.value if isinstance(first, Literal) else ""
            if not width.isdecimal() or int(width) > _INDENT:
                raise self._refusal(action, f"indents by something else than 0 to {_INDENT}")
        if call.name == "include":
            if text in LIBRARY_TEMPLATES:
                return
            if text is None or text != guard:
                shown = f"'{text}'" if text else "a template without a name of its own"
                allowed = " and ".join(LIBRARY_TEMPLATES)
                message = f"includes {shown}: beside a guard, a policy may include {allowed}"
                raise self._refusal(action, message)
            if not _TEMPLATE_NAME.fullmatch(text):
                raise self._refusal(action, f"'{text}' is not a name of a template")
            self.guards[text] = None

    def _require_path(self, action: Action, path: Path) -> None:
        inside = path.root == "" and any(
            block.action.keyword in ("with", "range") for block in self.blocks
        )
        if path.root in ("", "$") and path.fields and not inside:
            if path.fields[0] not in _ROOTS:
                roots = ", ".join(f".{root}" for root in _ROOTS)
                raise self._refusal(action, f"reads .{path.fields[0]}: a policy may read {roots}")
        elif path.root.strip("$") and not any(name == path.root for name, _, _ in self.variables):
            raise self._refusal(action, f"reads {path.root}, which is not set before")

    def _size(self, value: Term | None) -> int:
        """Return the most characters that a term can print."""
        if isinstance(value, Literal):
            return len(value.value) * _GROWTH
        if isinstance(value, Inner):
            return self._size(value.value)
        if isinstance(value, Path):
            sizes = [size for name, _, size in self.variables if name == value.root]
            return sizes[-1] if sizes else _FROM_VALUES
        if value is None:
            return 0
        growth = _INDENT if value.name in ("indent", "nindent") else _GROWTH
        if value.name in _SELECTING:
            growth = 1
        return _GROWTH + growth * sum(map(self._size, value.arguments))

    def _outlined(self, action: Action) -> None:
        keyword = action.keyword
        lines = "\n" * self.source.text.count("\n", action.start, action.end)
        if keyword == "end":
            closed = self.blocks.pop()
            del self.variables[closed.variables :]
        elif keyword.startswith("else"):
            self.blocks[-1].is_first = False
        elif keyword in ("if", "with", "range"):
            self.blocks.append(_Block(action, True, len(self.variables)))
        for name in action.declares:
            self.variables.append((name, action.value, self._size(action.value)))
        if keyword or action.declares:
            self.outline.append(_MARK + lines)
            return
        self.outline.append(self._value(action.value))
        if not isinstance(action.value, Literal):
            self.outline.append(lines)

    def _value(self, value: Term | None) -> str:
        if isinstance(value, Path) and not value.fields:
            for name, given, _ in reversed(self.variables):
                if name == value.root and isinstance(given, Literal):
                    return given.value
        if isinstance(value, Literal):
            return value.value
        if isinstance(value, Call) and value.name in ("quote", "squote"):
            return f'"{self._value(value.arguments[0])}"' if value.arguments else UNKNOWN
        return _VALUE

    def _refusal(self, action: Action, message: str) -> InputError:
        text = " ".join(self.source.text[action.start : action.end].split())
        shown = text if len(text) <= 80 else f"{text[:78]}…"
        return self._at(action.start, f"'{shown}' {message}")

    def _at(self, start: int, message: str) -> InputError:
        line = self.source.text.count("\n", 0, start) + 1
        hint = "write it plainly; what differs between environments is for values to say"
        location = Location(self.source.file, line)
        return InputError(f"Helm code in a policy: {message}", location, hint)


def _is_escaped(text: str, start: int) -> bool:
    r"""Report whether braces are text to Kyverno: `\{{ x }}`."""
    return start > 0 and text[start - 1] == "\\"


def _is_method(term: Term) -> bool:
    return isinstance(term, Call) and "." in term.name


def _is_evidence(term: Term) -> bool:
    """Report whether a part of an action can only be Helm's."""
    if isinstance(term, Path):
        return True
    if isinstance(term, Call):
        return term.is_adjacent
    return isinstance(term, Literal) and (OPEN in term.value or CLOSE in term.value)


def _guard(action: Action) -> str | None:
    """The template that a guard asks: `if eq (include "x" …) "true"`, or `if include "x" …`."""
    if action.keyword not in ("if", "else if"):
        return None
    parts = [action.value]
    if isinstance(action.value, Call) and action.value.name == "eq":
        arguments = action.value.arguments
        if [part.value for part in arguments if isinstance(part, Literal)] != ["true"]:
            return None
        parts = [part for part in arguments if not isinstance(part, Literal)]
    calls = [part.value if isinstance(part, Inner) else part for part in parts]
    names = [
        call.arguments[0].value
        for call in calls
        if isinstance(call, Call) and call.name == "include" and call.arguments
        if isinstance(call.arguments[0], Literal) and call.arguments[0].is_text
    ]
    return names[0] if len(names) == 1 else None

"""Regular expressions as Go's `regexp` has them, matched by RE2 in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import re2

from chartkit.go import GoError

_MESSAGES = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid named capture group": "invalid named capture",
}
_TRAILING = "trailing \\"
_LITERAL_OR_ESCAPE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)
_EXPANSION = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")


_META = re.compile(r"[\\.+*?()|\[\]{}^$]")
Groups = tuple[int, int, tuple[str | None, ...]]
"""Start and end of a match, and what its groups captured (None: took no part)."""
Made = Callable[[int], None]
"""Is called with the most that replaces a match, in characters, before that is made."""


def quote_meta(text: str) -> str:
    """Return the pattern that matches a text as it is (`regexp.QuoteMeta`)."""
    return _META.sub(r"\\\g<0>", text)


def _ignore(_size: int) -> None:
    pass


class RegexError(GoError):
    """A pattern that RE2 refuses, with the message of Go's `regexp.Compile`."""


class Regex:
    """A compiled pattern."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    @property
    def size(self) -> int:
        """Return the number of RE2's instructions for the pattern; a search takes so many steps
        for each character at worst."""
        return int(self._compiled.programsize)

    def matches(self, text: str) -> bool:
        """Report whether the pattern is found anywhere in the text."""
        return self._compiled.search(_encodable(text).encode()) is not None

    def find(self, text: str) -> Iterator[str]:
        """The parts of the text that the pattern matches, one after the other."""
        text = _encodable(text)
        for start, stop, _ in self.find_groups(text):
            yield text[start:stop]

    @property
    def groups(self) -> int:
        """Return the number of capturing groups of the pattern."""
        return int(self._compiled.groups)

    def find_groups(self, text: str) -> Iterator[Groups]:
        """Each match, one after the other."""
        end = -1
        text = _encodable(text)
        # RE2 reads bytes: to count their characters takes longer than to find them.
        read = text.encode() if text.isascii() else text
        groups = range(1, self.groups + 1)
        for match in self._compiled.finditer(read):
            start, stop = match.span()
            # An empty match right after another one is none.
            if stop > start or start != end:
                yield start, stop, tuple([_part(text, match.span(group)) for group in groups])
            end = stop

    def replace(
        self, text: str, replacement: str, made: Made = _ignore, *, literal: bool = False
    ) -> str:
        """Every match replaced. `$1` and `${name}` in the replacement are groups, unless it is
        literal."""
        literal = literal or "$" not in replacement
        text = _encodable(text)
        parts, end = [], 0
        expansions = 0 if literal else replacement.count("$")
        for match in self._compiled.finditer(text):
            start, stop = match.span()
            parts.append(text[end:start])
            # An empty match right after another one is not replaced.
            if stop > end or start == 0:
                made(len(replacement) + expansions * (stop - start))
                parts.append(replacement if literal else self._expand(replacement, match))
            end = stop
        made(len(text))
        return "".join(parts) + text[end:]

    def _expand(self, template: str, match: Any) -> str:
        names = self._compiled.groupindex

        def group(reference: re.Match[str]) -> str:
            if reference[1]:
                return "$"
            name = reference[2] or reference[3]
            is_index = (
                name.isascii()
                and name.isdigit()
                and (len(name) == 1 or name[0] != "0")
                and len(name) < 9
            )
            index = int(name) if is_index else names.get(name, -1)
            if not 0 <= index <= self._compiled.groups:
                return ""
            return match.group(index) or ""

        return _EXPANSION.sub(group, template)


@lru_cache(maxsize=512)
def compile_regex(pattern: str, perl: bool = True) -> Regex:
    """The pattern, compiled; raises `RegexError`.

    perl: whether Perl's additions (`\\d`, `\\b`, `(?:…)`, `*?` …) are taken, as Go does by default.
    """
    # RE2 matches a single byte with `\C`; Go does not know it.
    if any(match[1] == "C" for match in _LITERAL_OR_ESCAPE.finditer(pattern)):
        raise RegexError("error parsing regexp: invalid escape sequence: `\\C`")
    options = re2.Options()
    options.log_errors = False
    options.posix_syntax = not perl
    try:
        return Regex(re2.compile(_encodable(pattern), options))
    except re2.error as error:
        raw = error.args[0]
        message = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
        raise RegexError(f"error parsing regexp: {_go_message(message)}") from None


def _go_message(message: str) -> str:
    if message.startswith(_TRAILING):
        return "trailing backslash at end of expression: ``"
    for reason, text in _MESSAGES.items():
        if message.startswith(f"{reason}: "):
            return f"{text}: `{message[len(reason) + 2 :]}`"
    reason, separator, argument = message.partition(": ")
    return f"{reason}: `{argument}`" if separator else message


def _part(text: str, span: tuple[int, int]) -> str | None:
    start, stop = span
    return None if start < 0 else text[start:stop]


def _encodable(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

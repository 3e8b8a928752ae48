"""Look up error messages of clusters in `messages.yaml`."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import re2

from chartkit.documents.reader import read_file

_FILE: Final = Path(__file__).parent / "messages.yaml"
_MOST_CHARACTERS: Final = 1 << 20
"""The characters of a text that are searched."""
_SHORTEST_PART: Final = 12
"""Characters that say enough of a message."""


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """An error message that clusters, Helm or Kyverno give.

    pattern: matches a text whose white space is single spaces; example: the message as it appears;
    cause, fix: Markdown, a fix for each step.
    """

    id: str
    title: str
    example: str
    cause: str
    fix: tuple[str, ...]
    pattern: Any = field(repr=False)

    def matches(self, text: str) -> bool:
        """Report whether a text, white space normalized, holds the message."""
        return self.pattern.search(text) is not None


@cache
def known_messages() -> tuple[KnownMessage, ...]:
    """Return every known message, the more specific one first where two match a text."""
    options = re2.Options()
    options.case_sensitive = False
    rows = read_file(_FILE)[0].body
    return tuple(
        KnownMessage(
            row["id"],
            row["title"],
            row["example"],
            row["cause"],
            tuple(row["fix"]),
            re2.compile(row["pattern"], options=options),
        )
        for row in rows
    )


def find_messages(text: str) -> tuple[KnownMessage, ...]:
    """Return the known messages that a text holds, the most specific one first; otherwise the
    messages that the text is a part of, with `…` where it is cut."""
    normalized = " ".join(text[:_MOST_CHARACTERS].replace("\\", "").split())
    messages = tuple(message for message in known_messages() if message.matches(normalized))
    parts = [_plain(part) for part in normalized.replace("...", "…").split("…")]
    if messages or max(map(len, parts)) < _SHORTEST_PART:
        return messages
    return tuple(
        message
        for message in known_messages()
        if all(part in _plain(message.example) for part in parts)
    )


def _plain(text: str) -> str:
    return " ".join(text.replace('"', "").replace("'", "").lower().split())


def as_text(messages: tuple[KnownMessage, ...]) -> str:
    """Return the first message for a terminal, and the titles of the others."""
    first, *others = messages
    lines = [f"{first.title}.", "", _filled(f"Cause: {first.cause}"), "", "What to do:"]
    lines += [_filled(f"- {step}", "  ") for step in first.fix]
    if others:
        lines += ["", *(f"Also possible: {message.title}." for message in others)]
    return "\n".join(lines) + "\n"


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, 80, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )

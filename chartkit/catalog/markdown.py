"""Texts as GitHub's Markdown shows them as they are: nothing in them becomes markup."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from chartkit.catalog.entries import one_line

_MARKUP: Final = re.compile(r"[\\`*\[\]<>~|$&]|(?<![^\W_])_|_(?![^\W_])")
_START: Final = re.compile(r"^(\d*)([#+\-=.)])(?=[#+\-=]*(?:\s|$))")
"""The beginning of a heading or a list, or of an underline: signs, or a number with a dot or
bracket after it."""
_SAFE_IN_URL: Final = "/:?#@!$&'*+,;=%~-._"


def prose(text: str) -> str:
    """A text as one line of a paragraph or a cell."""
    escaped = _MARKUP.sub(_escaped, one_line(text))
    return _START.sub(r"\1\\\2", escaped)


def _escaped(match: re.Match[str]) -> str:
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(match[0], f"\\{match[0]}")


def code(text: str) -> str:
    """A text as code in a line; empty for an empty one."""
    shown = one_line(text)
    if not shown:
        return ""
    fence = "`" * (_longest(shown) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def cell_code(text: str) -> str:
    """A text as code in a cell of a table, where `|` would end the cell even in code."""
    return code(text).replace("|", "\\|")


def block(text: str, language: str = "") -> str:
    """A text as a block of code, ending with a newline."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def link(text: str, url: str) -> str:
    """A link; text: as Markdown already."""
    return f"[{text}]({quote(url, safe=_SAFE_IN_URL)})"

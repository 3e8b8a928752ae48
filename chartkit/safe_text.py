"""Text of strangers as terminals, logs and Markdown may show it: nothing in it does anything.

Names and messages come from manifests. A control character among them would move a terminal's
cursor, a line break would forge a line of ours, `::error` a command of GitHub's, and `![x](…)` in a
pull request would fetch a picture. Every text output goes through `shown` (one line), `shown_lines`
(several) or `markdown_cell`; `escape_controls` is the net below them, for a whole output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_CONTROLS: Final = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
)
_UNSAFE: Final = re.compile(f"[{_CONTROLS}]")
_UNSAFE_IN_LINE: Final = re.compile(rf"[\t\n{_CONTROLS}]")
_UNSAFE_BYTES: Final = bytes({*range(32), 0x7F} - {0x09, 0x0A})
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_COMMAND: Final = re.compile(r"^(\s*)(?=::)|(?<=#)(?=#\w*\[)", re.MULTILINE)
"""The start of a command in the logs of GitHub (`::error`, `##[error]`), Azure and TeamCity."""

_MARKUP: Final = re.compile(r"[\\`*_\[\]()!<~|$&{}]")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;"}
_LINKED: Final = re.compile(
    r"(?<=:)(?=//)|(?<=[@#])(?=\w)|(?<=www)(?=\.)"  # URLs, mentions, and issues of both
    r"|(?<=\bGH)(?=-\d)|(?<=\bGHSA)(?=-\w)"  # GitHub
    r"|(?<=\bGL)(?=-\d)|(?<=[!&$])(?=\d)|(?<=[%~])(?=[\w\"])|(?<=[\[*])(?=[a-z_]+:)",  # GitLab
    re.IGNORECASE,
)
"""The places where a text would become a link:
https://docs.github.com/en/get-started/writing-on-github and
https://docs.gitlab.com/user/markdown/#gitlab-specific-references."""
_COMMIT: Final = re.compile(r"\b[0-9a-f]{7,40}\b", re.IGNORECASE)
"""The name of a commit, or its beginning."""
_INVISIBLE: Final = "\u200b"


def shown(text: str) -> str:
    """Return a text as one line in which every control character is written out (`\\n`)."""
    if not text.isprintable():
        text = _UNSAFE_IN_LINE.sub(_written, text)
    return without_commands(text)


def shown_lines(text: str) -> list[str]:
    """Return the lines of a text, each as `shown` gives it; to be indented, so that none looks like
    a line of the output itself."""
    if text.isprintable():
        return [shown(text)]
    return [shown(line) for line in text.rstrip().replace("\r\n", "\n").split("\n")]


def without_commands(text: str) -> str:
    """Return a text of which no line is a command where the logs of a pipeline are read."""
    return _COMMAND.sub(r"\1\\", text) if "::" in text or "##" in text else text


def escape_controls(text: str) -> str:
    """Return a whole output without control characters but line breaks and tabs.

    They are written as JSON and YAML write them between quotes (`\\u001b`), where such output has
    them.
    """
    if text.isascii():
        content = text.encode("ascii")
        if len(content.translate(None, _UNSAFE_BYTES)) == len(content):
            return text
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def markdown_cell(text: str) -> str:
    """Return a text for a cell of GitHub's Markdown, which shows it and makes nothing of it: no
    picture, no link, no mention."""
    return "<br>".join(map(_plain, shown_lines(text.strip())))


def markdown_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of GitHub's Markdown, ending with a newline; cells: Markdown without `|`."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def markdown_block(lines: Sequence[str]) -> list[str]:
    """Return lines as a block of code that none of them can end."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


def _plain(line: str) -> str:
    line = _LINKED.sub(_INVISIBLE, line)
    line = _MARKUP.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), line)
    # Code is not a link, and can still be copied as it is.
    return _COMMIT.sub(r"<code>\g<0></code>", line).replace(_INVISIBLE, "&#8203;")


def _written(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"

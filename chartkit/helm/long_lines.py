"""Line breaks in Helm templates that Helm does not print: no line of a chart is too long to read.

An action breaks between its words, and in long strings, which `print` joins. Text breaks in a
comment: `{{/*` at the end of a line, `*/}}` at the start of the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

WIDTH: Final = 139
_WANTED: Final = 100
_LONG_STRING: Final = 60
_PARTS: Final = re.compile(
    r"(?P<comment>\{\{-?[ \t\r\n]*/\*.*?\*/[ \t\r\n]*-?\}\})"
    r"|(?P<action>\{\{(?:\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`|'(?:[^'\\\n]|\\.)*'|[^\"`'}]|\}(?!\}))*\}\})"
    r"|(?P<text>(?:[^{]|\{(?!\{))+)",
    re.DOTALL,
)
_TOKENS: Final = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`|'(?:[^'\\\n]|\\.)*'|[ \t]+|\n|[^\"`' \t\n]+"
)
_WORDS: Final = re.compile(r"\n|[^\n ,]*[ ,]|[^\n ,]+")
_STRING_WORDS: Final = re.compile(r"[^ ]* +|[^ ]+")
_CONSTANTS: Final = re.compile(r"\{\{-?\s*(?:define|template|block)\b")


class _Piece(NamedTuple):
    """Text that stays on one line; before, after: what a line break in front of it adds to the end
    of one line and the start of the next, None where there can be none; is_string: whether it is a
    string that `print` can join."""

    text: str
    before: str | None = None
    after: str = ""
    is_string: bool = False


def wrap_templates(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a chart with the long lines of its templates broken."""
    return {
        path: wrap(text) if path.startswith("templates/") else text for path, text in files.items()
    }


def wrap(template: str) -> str:
    """Return a template with its long lines broken; Helm prints the same.

    A template that this module cannot read to its end is returned as it is.
    """
    if all(len(line) <= WIDTH for line in template.split("\n")):
        return template
    parts = list(_PARTS.finditer(template))
    if "".join(part[0] for part in parts) != template:
        return template
    is_long = [len(line) > WIDTH for line in template.split("\n")]
    if any("`" in part[0] and "\n" in part[0] for part in parts):
        # A string may have line breaks, and is one piece of one line.
        is_long = [True] * len(is_long)
    lines: list[list[_Piece]] = [[]]
    for part in parts:
        for piece in _needed_pieces(part, is_long, len(lines) - 1):
            if piece.text == "\n":
                lines.append([])
            else:
                lines[-1].append(piece)
    return "\n".join(map(_filled, lines))


def _needed_pieces(part: re.Match[str], is_long: Sequence[bool], number: int) -> Iterator[_Piece]:
    """Yield the pieces of a part that begins in the line of this index: a line that is not too long
    is one piece."""
    lines = part[0].split("\n")
    wanted = is_long[number : number + len(lines)]
    if not part["text"] and any(wanted):
        yield from _pieces(part)
        return
    for at, (line, breaks) in enumerate(zip(lines, wanted, strict=True)):
        if at:
            yield _Piece("\n")
        yield from _text(line) if breaks else [_Piece(line)]


def _filled(line: list[_Piece]) -> str:
    """Return a line, broken where it is too long."""
    text = "".join(piece.text for piece in line)
    if len(text) <= WIDTH:
        return text
    indent = text[: len(text) - len(text.lstrip())] + "  "
    rows: list[str] = []
    row: list[_Piece] = []
    for piece in _parts(line, _WANTED - len(indent)):
        if piece.before is not None and _length([*row, piece]) > _WANTED:
            cut = _cut(row)
            broken = row[cut] if cut < len(row) else piece
            start = "".join(each.text for each in row[:cut])
            rows.append((start if broken.after else start.rstrip()) + (broken.before or ""))
            row = [_Piece(indent + broken.after), *row[cut:]]
        row.append(piece)
    return "\n".join([*rows, "".join(each.text for each in row)])


def _length(row: list[_Piece]) -> int:
    return sum(len(piece.text) for piece in row)


def _cut(row: list[_Piece]) -> int:
    """Return where to break a full row: before its last bracket, if that is not near its start."""
    used = 0
    cut = len(row)
    for at, piece in enumerate(row):
        if piece.before == "" and piece.text.startswith("(") and used > _WANTED // 2:
            cut = at
        used += len(piece.text)
    return cut


def _parts(line: list[_Piece], width: int) -> Iterator[_Piece]:
    """Yield the pieces of a line, strings that are wider than a row in parts."""
    for piece in line:
        yield from _string(piece) if piece.is_string and len(piece.text) > width else [piece]


def _pieces(part: re.Match[str]) -> Iterator[_Piece]:
    if part["comment"]:
        return _comment(part["comment"])
    return _action(part["action"]) if part["action"] else _text(part["text"])


def _comment(comment: str) -> Iterator[_Piece]:
    for number, word in enumerate(re.findall(r"\n|[^\n ]* |[^\n ]+", comment)):
        yield _Piece(word, "" if number > 1 and "*/" not in word else None)


def _text(text: str) -> Iterator[_Piece]:
    for word in _WORDS.findall(text):
        yield _Piece(word) if word == "\n" else _Piece(word, "{{/*", "*/}}")


def _action(action: str) -> Iterator[_Piece]:
    joins = not _CONSTANTS.match(action)
    before = None
    for token in _TOKENS.findall(action):
        if token.isspace():
            yield _Piece(token)
            before = ""
            continue
        is_string = joins and token[0] in '"`' and len(token) > _LONG_STRING and "\n" not in token
        yield _Piece(token, None if token in ("}}", "-}}") else before, "", is_string)
        before = None


def _string(piece: _Piece) -> Iterator[_Piece]:
    """Yield a string in parts that `print` joins."""
    quote = piece.text[0]
    first, *words = _STRING_WORDS.findall(piece.text[1:-1])
    yield _Piece(f"(print {quote}{first}", piece.before)
    yield from (_Piece(word, quote, quote) for word in words)
    yield _Piece(f"{quote})")

"""Texts: their parts, places and pieces. Places and lengths count characters."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import MAX_MEMBERS, bounded
from chartkit.engine.cel.library.extensions.formatting import format_text
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.values import Value
from chartkit.go.strconv import ESCAPES

_FORMATTING: Final = costs.always(16)
"""The work of `format` beyond the work of other calls, in members visited."""

_SPACE: Final = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""The characters that Unicode calls white space and Go trims."""

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TO_LOWER: Final = str.maketrans(_UPPER, _UPPER.lower())
_TO_UPPER: Final = str.maketrans(_UPPER.lower(), _UPPER)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


@overload("string_char_at_int: string.charAt(int) -> string")
def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    return text.find(part, start)


def _last_index_of_all(text: str, part: str) -> int:
    if not part or len(text.encode("utf-8", "replace")) < len(part.encode("utf-8", "replace")):
        return -1 if part else len(text)
    return _last_index_of(text, part, len(text) - 1)


def _last_index_of(text: str, part: str, end: int) -> int:
    if end < 0:
        raise _out_of_range(end)
    if not part:
        return min(end, len(text))
    if end >= len(text):
        return -1
    return text.rfind(part, 0, end + len(part))


def _replaced(text: str, old: str, new: str, limit: int = -1) -> str:
    occurrences = text.count(old)
    count = occurrences if limit < 0 else min(limit, occurrences)
    bounded(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    pieces = text.count(separator) + 1
    if limit < 0 or limit >= pieces:
        limit = pieces
    bounded(limit, MAX_MEMBERS)
    if separator:
        return text.split(separator, limit - 1)
    return [*text[: limit - 1], text[limit - 1 :]] if limit < len(text) else list(text)


def _from(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _between(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


_WHOLE: Final = overloads(
    {
        "string_lower_ascii: string.lowerAscii() -> string": lambda text: text.translate(_TO_LOWER),
        "string_upper_ascii: string.upperAscii() -> string": lambda text: text.translate(_TO_UPPER),
        "string_trim: string.trim() -> string": lambda text: text.strip(_SPACE),
    },
    cost=costs.of_first,
)

format_ = overload(
    "string_format: string.format(list(dyn)) -> string", cost=costs.of_first, work=_FORMATTING
)(format_text)

_QUOTED: Final = str.maketrans(ESCAPES)


@overload("strings_quote: strings.quote(string) -> string", cost=costs.of_first)
def quote(text: str) -> str:
    bounded(2 * len(text))
    return f'"{text.translate(_QUOTED)}"'


def _join(texts: list[Value], separator: str = "") -> str:
    size = 0
    for text in texts:
        if not isinstance(text, str):
            raise CelError(f"join: invalid input: {show(text)}")
        size += len(text) + len(separator)
    bounded(size)
    return separator.join(texts)  # type: ignore[arg-type]


_PLACES: Final = overloads(
    {
        "string_index_of_string: string.indexOf(string) -> int": _index_of,
        "string_index_of_string_int: string.indexOf(string, int) -> int": _index_of,
        "string_last_index_of_string: string.lastIndexOf(string) -> int": _last_index_of_all,
        "string_last_index_of_string_int: string.lastIndexOf(string, int) -> int": _last_index_of,
    },
    cost=costs.of_text_bytes,
)
_PIECES: Final = overloads(
    {
        "string_replace_string_string: string.replace(string, string) -> string": _replaced,
        "string_replace_string_string_int: "
        "string.replace(string, string, int) -> string": _replaced,
        "string_split_string: string.split(string) -> list(string)": _split,
        "string_split_string_int: string.split(string, int) -> list(string)": _split,
    },
    cost=costs.of_transform,
)
_PARTS: Final = overloads(
    {
        "string_substring_int: string.substring(int) -> string": _from,
        "string_substring_int_int: string.substring(int, int) -> string": _between,
    },
    cost=costs.of_first,
)
_JOINED: Final = overloads(
    {
        "list_join: list(string).join() -> string": _join,
        "list_join_string: list(string).join(string) -> string": _join,
    },
    cost=costs.of_joining,
)

LIBRARY: Final = Library("cel.lib.ext.strings", overloads=declared(globals()))

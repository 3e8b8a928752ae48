"""Texts: their parts, places and pieces. Places and lengths count characters."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import bounded, bounded_members
from chartkit.engine.cel.library.extensions.formatting import format_text
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.values import Value
from chartkit.go.strconv import ESCAPES

_INDEX_OF: Final = "Where a text first stands in another, from a place on; -1 where it does not."
_LAST_INDEX_OF: Final = "Where a text last stands in another, up to a place; -1 where it does not."
_REPLACE: Final = "The text with parts replaced; a limit of 0 or more says how many."
_SPLIT: Final = "The pieces between separators; a limit of 1 or more says how many at most."
_SUBSTRING: Final = "The part of a text from a place on, up to but not including another."
_JOIN: Final = "Texts, one after the other, with a separator between them."
_FORMATTING: Final = costs.always(16)
"""The work of `format` beyond that of other calls, in members visited."""

_SPACE: Final = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""The characters that Unicode calls white space and Go trims."""

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TO_LOWER: Final = str.maketrans(_UPPER, _UPPER.lower())
_TO_UPPER: Final = str.maketrans(_UPPER.lower(), _UPPER)


def _out_of_range(place: int) -> CelError:
    return CelError(f"index out of range: {place}")


@overload(
    "string_char_at_int: string.charAt(int) -> string",
    "The character at a place; the empty text right after the last one.",
    "'hello'.charAt(4)  // 'o'",
    "'hello'.charAt(5)  // ''",
    "'hello'.charAt(6)  // error: index out of range: 6",
)
def char_at(text: str, place: int) -> str:
    if not 0 <= place <= len(text):
        raise _out_of_range(place)
    return text[place : place + 1]


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
    found = text.count(old)
    count = found if limit < 0 else min(limit, found)
    bounded(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    pieces = text.count(separator) + 1
    if limit < 0 or limit >= pieces:
        limit = pieces
    bounded_members(limit)
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
    for place in (start, end):
        if not 0 <= place <= len(text):
            raise _out_of_range(place)
    return text[start:end]


lower_ascii = overload(
    "string_lower_ascii: string.lowerAscii() -> string",
    "The text with its ASCII letters in lower case.",
    "'TacoCÄT'.lowerAscii()  // 'tacocÄt'",
    cost=costs.of_first,
)(lambda text: text.translate(_TO_LOWER))

upper_ascii = overload(
    "string_upper_ascii: string.upperAscii() -> string",
    "The text with its ASCII letters in upper case.",
    "'TacoCät'.upperAscii()  // 'TACOCäT'",
    cost=costs.of_first,
)(lambda text: text.translate(_TO_UPPER))

trim = overload(
    "string_trim: string.trim() -> string",
    "The text without white space at its ends.",
    "'  trim\\n'.trim()  // 'trim'",
    cost=costs.of_first,
)(lambda text: text.strip(_SPACE))

format_ = overload(
    "string_format: string.format(list(dyn)) -> string",
    "The text with a value for each clause: `%s` any, `%d` whole, `%f` and `%e` double, `%b` "
    "binary, `%o` octal, `%x` and `%X` hexadecimal, `%%` a percent sign; `%.2f` has a precision.",
    "'%s is %d'.format(['a', 1])  // 'a is 1'",
    "'%.2f'.format([1234.5])  // '1,234.50'",
    "'%s'.format([{'a': [1, true]}])  // '{\"a\":[1, true]}'",
    cost=costs.of_first,
    work=_FORMATTING,
)(format_text)

_QUOTED: Final = str.maketrans(ESCAPES)


@overload(
    "strings_quote: strings.quote(string) -> string",
    "The text in double quotes, with quotes, backslashes and control characters escaped.",
    "strings.quote('a\"b')  // '\"a\\\\\"b\"'",
    cost=costs.of_first,
)
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


LIBRARY: Final = Library(
    "cel.lib.ext.strings",
    (
        char_at,
        lower_ascii,
        upper_ascii,
        trim,
        format_,
        quote,
        overload(
            "string_index_of_string: string.indexOf(string) -> int",
            _INDEX_OF,
            "'hello mellow'.indexOf('ello')  // 1",
            "'hello'.indexOf('x')  // -1",
            cost=costs.of_text_bytes,
        )(_index_of),
        overload(
            "string_index_of_string_int: string.indexOf(string, int) -> int",
            _INDEX_OF,
            "'hello mellow'.indexOf('ello', 2)  // 7",
            "'hello'.indexOf('x', -1)  // error: index out of range: -1",
            cost=costs.of_text_bytes,
        )(_index_of),
        overload(
            "string_last_index_of_string: string.lastIndexOf(string) -> int",
            _LAST_INDEX_OF,
            "'hello mellow'.lastIndexOf('ello')  // 7",
            cost=costs.of_text_bytes,
        )(_last_index_of_all),
        overload(
            "string_last_index_of_string_int: string.lastIndexOf(string, int) -> int",
            _LAST_INDEX_OF,
            "'hello mellow'.lastIndexOf('ello', 6)  // 1",
            cost=costs.of_text_bytes,
        )(_last_index_of),
        overload(
            "string_replace_string_string: string.replace(string, string) -> string",
            _REPLACE,
            "'hello hello'.replace('he', 'we')  // 'wello wello'",
            cost=costs.of_transform,
        )(_replaced),
        overload(
            "string_replace_string_string_int: string.replace(string, string, int) -> string",
            _REPLACE,
            "'hello hello'.replace('he', 'we', 1)  // 'wello hello'",
            cost=costs.of_transform,
        )(_replaced),
        overload(
            "string_split_string: string.split(string) -> list(string)",
            _SPLIT,
            "'a,b,c'.split(',')  // ['a', 'b', 'c']",
            cost=costs.of_transform,
        )(_split),
        overload(
            "string_split_string_int: string.split(string, int) -> list(string)",
            _SPLIT,
            "'a,b,c'.split(',', 2)  // ['a', 'b,c']",
            cost=costs.of_transform,
        )(_split),
        overload(
            "string_substring_int: string.substring(int) -> string",
            _SUBSTRING,
            "'tacocat'.substring(4)  // 'cat'",
            cost=costs.of_first,
        )(_from),
        overload(
            "string_substring_int_int: string.substring(int, int) -> string",
            _SUBSTRING,
            "'tacocat'.substring(0, 4)  // 'taco'",
            "'tacocat'.substring(0, 8)  // error: index out of range: 8",
            cost=costs.of_first,
        )(_between),
        overload(
            "list_join: list(string).join() -> string",
            _JOIN,
            "['a', 'b'].join()  // 'ab'",
            cost=costs.of_joining,
        )(_join),
        overload(
            "list_join_string: list(string).join(string) -> string",
            _JOIN,
            "['a', 'b'].join(', ')  // 'a, b'",
            cost=costs.of_joining,
        )(_join),
    ),
    doc="Texts: their parts, places and pieces.",
)

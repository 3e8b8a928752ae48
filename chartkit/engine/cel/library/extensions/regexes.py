"""`regex`: parts of texts taken out or replaced by regular expressions (RE2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import MAX_WORK, bounded
from chartkit.engine.cel.library.searching import (
    bounded_matches,
    of_replacing,
    of_search,
    of_search_for_all,
)
from chartkit.engine.cel.values import NONE, OptionalValue
from chartkit.errors import Reraise
from chartkit.go.regexp import Groups, Regex, RegexError, compile_regex
from chartkit.go.strconv import quote

_REFERENCE: Final = re.compile(r"\\(.?)", re.DOTALL)


def _compiled(pattern: str) -> Regex:
    with Reraise("", RegexError, CelError):
        return compile_regex(pattern)


def _matches(regex: Regex, text: str) -> Iterator[Groups]:
    return bounded_matches(regex, text, regex.find_groups(text))


def _with_one_group(pattern: str) -> Regex:
    regex = _compiled(pattern)
    if regex.groups > 1:
        message = "regular expression has more than one capturing group"
        raise CelError(f"{message}: {quote(pattern)}")
    return regex


@overload(
    "regex_extract_string_string: regex.extract(string, string) -> optional_type(string)",
    cost=costs.of_extracting,
    work=of_search,
)
def extract(text: str, pattern: str) -> OptionalValue:
    regex = _with_one_group(pattern)
    match = next(_matches(regex, text), None)
    if match is None:
        return NONE
    start, stop, groups = match
    if not groups:
        return OptionalValue(True, text[start:stop])
    return OptionalValue(True, groups[0]) if groups[0] else NONE


@overload(
    "regex_extractAll_string_string: regex.extractAll(string, string) -> list(string)",
    cost=costs.of_extracting_all,
    work=of_search_for_all,
)
def extract_all(text: str, pattern: str) -> list[str]:
    regex = _with_one_group(pattern)
    parts: list[str] = []
    for start, stop, groups in _matches(regex, text):
        if not groups:
            parts.append(text[start:stop])
        elif groups[0]:
            parts.append(groups[0])
        bounded(len(parts), MAX_WORK)
    return parts


def _replaced(text: str, pattern: str, replacement: str, limit: int = -1) -> str:
    if limit == 0:
        return text
    regex = _compiled(pattern)
    parts: list[str] = []
    end = size = 0
    for count, (start, stop, groups) in enumerate(_matches(regex, text)):
        if count == limit:
            break
        new = _expanded(replacement, text[start:stop], groups)
        size += len(new)
        bounded(size + len(text))
        bounded(count, MAX_WORK)
        parts += (text[end:start], new)
        end = stop
    return "".join((*parts, text[end:]))


def _expanded(replacement: str, whole: str, groups: tuple[str | None, ...]) -> str:
    def expand(reference: re.Match[str]) -> str:
        name = reference[1]
        if name == "\\":
            return name
        if name not in tuple("0123456789"):
            problem = "must be followed by a digit or \\" if name else "not allowed at end"
            raise CelError(f"invalid replacement string: '{replacement}' \\ {problem}")
        number = int(name)
        if number > len(groups):
            has = f"regex has only {len(groups)} group(s)"
            raise CelError(f"replacement string references group {number} but {has}")
        return (whole, *groups)[number] or ""

    return _REFERENCE.sub(expand, replacement)


_REPLACE: Final = overloads(
    {
        "regex_replace_string_string_string: "
        "regex.replace(string, string, string) -> string": _replaced,
        "regex_replace_string_string_string_int: "
        "regex.replace(string, string, string, int) -> string": _replaced,
    },
    cost=costs.of_replacing,
    work=of_replacing,
)

LIBRARY: Final = Library("cel.lib.ext.regex", overloads=declared(globals()))

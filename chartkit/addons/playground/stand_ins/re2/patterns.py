"""Patterns read as RE2 reads them, and refused in its words: what they become is instructions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, NoReturn

_MOST_REPEATED: Final = 1000
_DEEPEST: Final = 1000
_MOST_INSTRUCTIONS: Final = 87_381
_LAST: Final = 0x10FFFF
CHARACTER, SET, SPLIT, JUMP, SAVE, ASSERT, MATCH = range(7)
"""The kinds of instructions: a character, or one of a set, is next; two ways to go on, the better
one first; how far to go on; the place is that of a group; something holds here; the end."""
_PERL: Final = {"d": "09", "s": "\t\n\f\r  ", "w": "09AZaz__"}
_POSIX: Final = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\0\x7f",
    "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZaz__",
    "xdigit": "09AFaf",
}
"""The characters of classes: the first and last one of each range."""
_CATEGORIES: Final = frozenset(
    major + minor
    for major, minors in {
        "C": "cfos",
        "L": "lmotu",
        "M": "cen",
        "N": "dlo",
        "P": "cdefios",
        "S": "ckmo",
        "Z": "lps",
    }.items()
    for minor in minors
)
_SCRIPT: Final = re.compile(r"[A-Z][a-z]+(_[A-Z][a-z]+)*|SignWriting|Nko|Phags_Pa", re.ASCII)
_NAME_CATEGORIES: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Nd", "Pc"})
_ESCAPES: Final = dict(zip("nrtafv", "\n\r\t\a\f\v", strict=True))
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]{0,8})(?:(,)(0|[1-9][0-9]{0,8})?)?\}", re.ASCII)
_HEX: Final = re.compile(r"[0-9A-Fa-f]{2}")
_HEX_DIGITS: Final = frozenset("0123456789ABCDEFabcdef")
_NAMED: Final = re.compile(r"\(\?P?<")
_WORD: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")

Code = list[tuple[int, Any, int]]
"""Instructions, with what they take; where they lead is relative."""
Member = Callable[[str], bool]


class error(Exception):  # noqa: N801, N818 - re2's name
    """A pattern that is refused."""


class Options:
    """Options of `compile`."""

    log_errors = True
    posix_syntax = False
    case_sensitive = True


def begins(_text: str, at: int) -> bool:
    """Report whether a place is the beginning of a text."""
    return at == 0


def _ends(text: str, at: int) -> bool:
    return at == len(text)


def _begins_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"


def _ends_line(text: str, at: int) -> bool:
    return at == len(text) or text[at] == "\n"


def _is_boundary(text: str, at: int) -> bool:
    before = at > 0 and text[at - 1] in _WORD
    return before is not (at < len(text) and text[at] in _WORD)


def _is_no_boundary(text: str, at: int) -> bool:
    return not _is_boundary(text, at)


_ASSERTIONS: Final = {"A": begins, "z": _ends, "b": _is_boundary, "B": _is_no_boundary}


class _Flags(NamedTuple):
    fold: bool = False
    one_line: bool = True
    dot_all: bool = False
    lazy: bool = False


class _Part(NamedTuple):
    """Instructions, whose jumps are relative; repeated: the most copies of a part in it."""

    code: Code
    can_be_empty: bool = False
    repeated: int = 1


class _Group:
    """A group that is open: its alternatives, the last of which is being read."""

    def __init__(self, flags: _Flags, index: int | None) -> None:
        self.flags = flags
        self.index = index
        self.alternatives: list[list[_Part]] = [[]]

    @property
    def parts(self) -> list[_Part]:
        return self.alternatives[-1]

    def closed(self) -> _Part:
        """Return the group as one part."""
        parts = [_sequence(each) for each in self.alternatives]
        *others, last = parts
        total = sum(len(part.code) + 2 for part in others) + len(last.code)
        code: Code = []
        for part in others:
            code.append((SPLIT, 1, len(part.code) + 2))
            code += part.code
            code.append((JUMP, total - len(code), 0))
        code += last.code
        if self.index is not None:
            code = [(SAVE, 2 * self.index, 0), *code, (SAVE, 2 * self.index + 1, 0)]
        can_be_empty = any(part.can_be_empty for part in parts)
        return _checked(_Part(code, can_be_empty, max(part.repeated for part in parts)))


def _sequence(parts: list[_Part]) -> _Part:
    code = [instruction for part in parts for instruction in part.code]
    repeated = max((part.repeated for part in parts), default=1)
    return _Part(code, all(part.can_be_empty for part in parts), repeated)


def _checked(part: _Part) -> _Part:
    if len(part.code) > _MOST_INSTRUCTIONS:
        raise error("pattern too large - compile failed")
    return part


def _repeated(part: _Part, least: int, most: int | None, lazy: bool) -> _Part:
    """Return a part, repeated; most: None for any number."""
    code, size = part.code, len(part.code)
    if max(size, 1) * max(least, most or 0) > _MOST_INSTRUCTIONS:
        raise error("pattern too large - compile failed")

    def split(first: int, second: int) -> tuple[int, int, int]:
        return (SPLIT, second, first) if lazy else (SPLIT, first, second)

    made: Code = code * least
    if most is not None:
        for remaining in range(most - least, 0, -1):
            made = [*made, split(1, remaining * (size + 1)), *code]
    elif least:
        made.append(split(-size, 1))
    elif part.can_be_empty:
        # An iteration that matches nothing ends the repetition, and counts.
        made = [split(1, size + 2), *code, split(-size, 1)]
    else:
        made = [split(1, size + 2), *code, (JUMP, -size - 1, 0)]
    return _checked(_Part(made, not least or part.can_be_empty, part.repeated))


class _Members(dict[str, bool]):
    """Members of a class of characters, found when first asked."""

    def __init__(self, members: list[Member], is_negated: bool, fold: bool) -> None:
        super().__init__()
        self._members = members
        self._is_negated = is_negated
        self._fold = fold

    def __missing__(self, character: str) -> bool:
        variants = _variants(character) if self._fold else character
        is_member = any(member(variant) for variant in variants for member in self._members)
        self[character] = is_member is not self._is_negated
        return self[character]


def _ranges(text: str, is_negated: bool = False) -> Member:
    pairs = list(zip(text[::2], text[1::2], strict=True))
    return lambda character: any(a <= character <= b for a, b in pairs) is not is_negated


def _variants(character: str) -> str:
    """Return the characters that are the same in another case, and the character itself."""
    return _same_letters().get(character, character)


@lru_cache(maxsize=1)
def _same_letters() -> dict[str, str]:
    letters: dict[str, str] = {}
    for character in map(chr, range(0x1E944)):
        folded = next((c for c in (character.casefold(), character.lower()) if len(c) == 1), "")
        if folded and folded != character:
            letters[folded] = letters.get(folded, folded) + character
    return {each: group for group in letters.values() for each in group}


class Parser:
    """The reader of a pattern; count, names: its groups."""

    def __init__(self, text: str, options: Options) -> None:
        self.text = text
        self.at = 0
        self.is_perl = not options.posix_syntax
        self.names: dict[str, int] = {}
        self.count = 0
        flags = _Flags(fold=not options.case_sensitive, one_line=self.is_perl)
        self.groups = [_Group(flags, None)]

    @property
    def flags(self) -> _Flags:
        return self.groups[-1].flags

    def parsed(self) -> _Part:
        text, repeat_at = self.text, -1
        while self.at < len(text):
            start, character = self.at, text[self.at]
            before, repeat_at = repeat_at, -1
            if character in "*+?" or (character == "{" and _REPEAT.match(text, start)):
                self.repeat(before)
                repeat_at = start
            elif character == "\\":
                self.escape()
            elif character == "[":
                self.character_class()
            elif text.startswith("(?", start) and self.is_perl:
                self.flag_group()
            else:
                self.at += 1
                self.simple(character)
        if len(self.groups) > 1:
            self.fail("missing )", text)
        return self.groups[0].closed()

    def fail(self, reason: str, argument: str) -> NoReturn:
        raise error(f"{reason}: {argument}")

    def simple(self, character: str) -> None:
        if character == "(":
            self.count += 1
            self.open(self.flags, self.count)
        elif character == "|":
            self.groups[-1].alternatives.append([])
        elif character == ")":
            if len(self.groups) == 1:
                self.fail("unexpected )", self.text)
            closed = self.groups.pop().closed()
            self.groups[-1].parts.append(closed)
        elif character == "^":
            self.asserts(begins if self.flags.one_line else _begins_line)
        elif character == "$":
            self.asserts(_ends if self.flags.one_line else _ends_line)
        elif character == ".":
            self.members([] if self.flags.dot_all else [_ranges("\n\n")], True)
        else:
            self.literal(character)

    def open(self, flags: _Flags, index: int | None) -> None:
        if len(self.groups) > _DEEPEST:
            self.fail("expression nests too deeply", self.text)
        self.groups.append(_Group(flags, index))

    def asserts(self, holds: Callable[[str, int], bool]) -> None:
        self.groups[-1].parts.append(_Part([(ASSERT, holds, 0)], can_be_empty=True))

    def members(self, members: list[Member], is_negated: bool = False) -> None:
        found = _Members(members, is_negated, self.flags.fold)
        self.groups[-1].parts.append(_Part([(SET, found, 0)]))

    def literal(self, character: str) -> None:
        if self.flags.fold and len(_variants(character)) > 1:
            self.members([_ranges(character * 2)])
        else:
            self.groups[-1].parts.append(_Part([(CHARACTER, character, 0)]))

    def repeat(self, before: int) -> None:
        """Repeat the last part; before: where the operator right before begins, -1 for none."""
        text, start = self.text, self.at
        counts = _REPEAT.match(text, start)
        self.at = counts.end() if counts else start + 1
        is_lazy = self.is_perl and text.startswith("?", self.at)
        self.at += is_lazy
        operator = text[start : self.at]
        if self.is_perl and before >= 0:
            self.fail("bad repetition operator", text[before : self.at])
        least, most = int(text[start] == "+"), (1 if text[start] == "?" else None)
        if counts:
            least, most = int(counts[1]), int(counts[3]) if counts[3] else None
            most = most if counts[2] else least
            if max(least, most or 0) > _MOST_REPEATED or (most is not None and most < least):
                self.fail("invalid repetition size", operator)
        parts = self.groups[-1].parts
        if not parts:
            self.fail("no argument for repetition operator", operator)
        part = parts.pop()
        if counts:
            copies = part.repeated * max(1, least if most is None else most)
            if max(least, most or 0) > 1 and copies > _MOST_REPEATED:
                self.fail("invalid repetition size", operator)
            part = part._replace(repeated=copies)
        parts.append(_repeated(part, least, most, is_lazy is not self.flags.lazy))

    def flag_group(self) -> None:
        text, start = self.text, self.at
        if named := _NAMED.match(text, start):
            if named[0] == "(?<" and text[named.end() : named.end() + 1] in ("", "=", "!"):
                self.fail("invalid perl operator", text[start : named.end() + 1])
            end = text.find(">", start)
            name = text[named.end() : end]
            if end < 0:
                self.fail("invalid named capture group", text[start:])
            if not name or any(unicodedata.category(c) not in _NAME_CATEGORIES for c in name):
                self.fail("invalid named capture group", text[start : end + 1])
            self.at = end + 1
            self.count += 1
            self.names.setdefault(name, self.count)
            self.open(self.flags, self.count)
            return
        flags, is_set, has_flag = self.flags, True, False
        for at in range(start + 2, len(text)):
            letter = text[at]
            if letter in ":)" and (is_set or has_flag):
                self.at = at + 1
                if letter == ":":
                    self.open(flags, None)
                else:
                    self.groups[-1].flags = flags
                return
            if letter == "-" and is_set:
                is_set, has_flag = False, False
            elif letter in "imsU":
                has_flag = True
                flags = flags._replace(
                    **{
                        "i": {"fold": is_set},
                        "m": {"one_line": not is_set},
                        "s": {"dot_all": is_set},
                        "U": {"lazy": is_set},
                    }[letter]
                )
            else:
                self.fail("invalid perl operator", text[start : at + 1])
        self.fail("invalid perl operator", text[start:])

    def escape(self) -> None:
        text, start = self.text, self.at
        letter = text[start + 1 : start + 2]
        if self.is_perl and letter == "Q":
            end = text.find("\\E", start + 2)
            for character in text[start + 2 : end if end >= 0 else len(text)]:
                self.literal(character)
            self.at = end + 2 if end >= 0 else len(text)
        elif self.is_perl and letter in _ASSERTIONS:
            self.at += 2
            self.asserts(_ASSERTIONS[letter])
        elif (member := self.class_escape()) is not None:
            self.members([member])
        else:
            self.literal(self.escaped())

    def class_escape(self) -> Member | None:
        """Read `\\d`, `\\pN` and the like; return None where something else stands."""
        text, start = self.text, self.at
        letter = text[start + 1 : start + 2]
        if not self.is_perl or not letter or text[start] != "\\":
            return None
        if letter.lower() in _PERL:
            self.at += 2
            return self.folded(_ranges(_PERL[letter.lower()]), letter.isupper())
        if letter not in "pP":
            return None
        end = text.find("}", start) if text.startswith("{", start + 2) else start + 2
        sequence = text[start : end + 1] if end >= 0 else text[start:]
        name = sequence[2:].strip("{}")
        is_negated = name.startswith("^") is not (letter == "P")
        name = name.removeprefix("^")
        self.at += len(sequence)
        if end >= 0 and name == "Any":
            return lambda _: not is_negated
        categories = frozenset(each for each in _CATEGORIES if name and each.startswith(name))
        if end < 0 or not categories:
            if end >= 0 and _SCRIPT.fullmatch(name) and name not in ("Cn", "Lc"):
                raise error(f"scripts are not known here: {sequence}")
            self.fail("invalid character class range", sequence)
        return self.folded(lambda each: unicodedata.category(each) in categories, is_negated)

    def folded(self, member: Member, is_negated: bool) -> Member:
        """Return a class or what is not in it, in any case where that is all one."""
        found = _Members([member], is_negated, self.flags.fold)
        return found.__getitem__

    def escaped(self) -> str:
        """Read the escape of one character."""
        text, start = self.text, self.at
        letter = text[start + 1 : start + 2]
        if not letter:
            raise error("trailing \\")
        self.at += 2
        if letter in "01234567":
            digits = re.compile("[0-7]{0,2}").match(text, self.at)
            more = digits[0] if digits else ""
            if letter == "0" or more:
                self.at += len(more)
                return chr(int(letter + more, 8))
        elif letter == "x":
            return self.hexadecimal()
        elif letter in _ESCAPES:
            return _ESCAPES[letter]
        elif letter == "_" or (letter.isascii() and not letter.isalnum()):
            return letter
        return self.fail("invalid escape sequence", text[start : start + 2])

    def hexadecimal(self) -> str:
        text, start = self.text, self.at
        if found := _HEX.match(text, start):
            self.at = found.end()
            return chr(int(found[0], 16))
        code, end = 0, start + 1
        if text.startswith("{", start):
            while code <= _LAST and text[end : end + 1] in _HEX_DIGITS:
                code, end = 16 * code + int(text[end], 16), end + 1
            if code <= _LAST and end > start + 1 and text.startswith("}", end):
                self.at = end + 1
                return chr(code)
        return self.fail("invalid escape sequence", text[start - 2 : end + (code <= _LAST)])

    def character_class(self) -> None:
        text, start = self.text, self.at
        self.at += 1
        is_negated = text.startswith("^", self.at)
        self.at += is_negated
        first, members = self.at, []
        while self.at == first or not text.startswith("]", self.at):
            if self.at >= len(text):
                self.fail("missing ]", text[start:])
            at = self.at
            if (
                text.startswith("-", at)
                and not self.is_perl
                and at != first
                and not text.startswith("]", at + 1)
            ):
                self.fail("invalid character class range", text[at : at + 2])
            name_end = text.find(":]", at + 2) if text.startswith("[:", at) else -1
            if name_end >= 0:
                self.at = name_end + 2
                members.append(self.posix_class(text[at : self.at]))
            elif (member := self.class_escape()) is not None:
                members.append(member)
            else:
                low = high = self.member(start)
                if text.startswith("-", self.at) and not text.startswith("]", self.at + 1):
                    self.at += 1
                    high = self.member(start)
                if high < low:
                    self.fail("invalid character class range", text[at : self.at])
                members.append(_ranges(low + high))
        self.at += 1
        self.members(members, is_negated)

    def posix_class(self, named: str) -> Member:
        name = named[2:-2]
        if name.removeprefix("^") not in _POSIX:
            self.fail("invalid character class range", named)
        return self.folded(_ranges(_POSIX[name.removeprefix("^")]), name.startswith("^"))

    def member(self, start: int) -> str:
        if self.at >= len(self.text):
            self.fail("missing ]", self.text[start:])
        if self.text[self.at] == "\\":
            return self.escaped()
        self.at += 1
        return self.text[self.at - 1]

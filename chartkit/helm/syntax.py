"""Actions between `{{` and `}}`, parsed as Helm does: the grammar of Go's text/template.

A subset, on purpose: what policies can have a use for. Whatever is not read here is not Helm code
for chartkit, and is written so that Helm prints it as it stands.
Sources: the documentation of Go's package text/template, of Helm's template functions and of Sprig.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

OPEN: Final = "{{"
CLOSE: Final = "}}"
_TOKEN: Final = re.compile(
    r"""
      (?P<space>[ \t\r\n]+?(?=[ \t\r\n]-\}\})|[ \t\r\n]+)
    | (?P<raw>`[^`]*`)
    | (?P<quoted>"(?:\\.|[^"\\\n])*")
    | (?P<number>[+-]?[0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?)
    | (?P<declare>:=)
    | (?P<variable>\$[A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    | (?P<field>(?:\.[A-Za-z_][A-Za-z0-9_]*)+)
    | (?P<dot>\.)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<mark>[|(),=])
    """,
    re.VERBOSE,
)
_COMMENT: Final = re.compile(
    r"\{\{(?:-[ \t\r\n]+)?/\*(?:(?!\*/).)*\*/(?:[ \t\r\n]+-)?\}\}", re.DOTALL
)
_TRIM_LEFT: Final = re.compile(r"-[ \t\r\n]")
_TRIM_RIGHT: Final = re.compile(r"[ \t\r\n]-\}\}")
_ESCAPED: Final = re.compile(
    r'"(?:[^\\]|\\[\\"bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*"', re.DOTALL
)
_CONSTANTS: Final = frozenset({"true", "false", "nil"})
_BLOCKS: Final = frozenset({"if", "with", "range"})
KEYWORDS: Final = _BLOCKS | {"else", "end", "define", "block", "template", "break", "continue"}
"""Words that begin an action which is not a value."""
_DEEPEST: Final = 12
_LONGEST: Final = 10_000
"""Characters of an action: a longer one is read as no Helm code."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number or constant; value: the text itself, or how the other is written."""

    value: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class Path:
    """`.Values.a` (root is empty), `$x.a` (root is `$x`) or `(…).a`'s fields; fields in order."""

    root: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments; of a pipeline, the part before is the last argument. name: of
    a method its path, as `.Files.Get` or `$.Files.Get`."""

    name: str
    arguments: tuple[Term, ...]
    is_adjacent: bool = False
    """True if an argument is next to the name, as in no other language of policies."""


@dataclass(frozen=True, slots=True)
class Inner:
    """A term in parentheses, and fields of it."""

    value: Term
    fields: tuple[str, ...]


Term: TypeAlias = "Literal | Path | Call | Inner"


@dataclass(frozen=True, slots=True)
class Action:
    """One `{{ … }}`.

    keyword: `if`, `else if`, `end` …, `comment`, empty for a value; value: None where there is
    none; declares: the variables that it sets; trims: whether white space around it goes; start,
    end: its place in the text.
    """

    keyword: str
    value: Term | None
    declares: tuple[str, ...]
    trims: bool
    start: int
    end: int


class _NoHelmError(Exception):
    """The text is not an action of the grammar."""


def read_action(text: str, start: int) -> Action | None:
    """The action that begins at a `{{`; None where Helm's grammar does not read it."""
    comment = _COMMENT.match(text, start)
    if comment:
        return Action("comment", None, (), True, start, comment.end())
    position = start + len(OPEN)
    trims = _TRIM_LEFT.match(text, position) is not None
    try:
        tokens, end, right = _tokens(text, position + trims, start + _LONGEST)
        keyword, value, declares = _Parser(tokens).action()
    except _NoHelmError:
        return None
    return Action(keyword, value, declares, trims or right, start, end)


_Token: TypeAlias = tuple[str, str]


def _tokens(text: str, position: int, limit: int) -> tuple[list[_Token], int, bool]:
    tokens: list[_Token] = []
    while position < min(limit, len(text)):
        trimmed = _TRIM_RIGHT.match(text, position)
        if trimmed:
            return tokens, trimmed.end(), True
        if text.startswith(CLOSE, position):
            return tokens, position + len(CLOSE), False
        token = _TOKEN.match(text, position)
        if token is None:
            break
        tokens.append((str(token.lastgroup), token.group()))
        position = token.end()
    raise _NoHelmError


class _Parser:
    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def action(self) -> tuple[str, Term | None, tuple[str, ...]]:
        self._skip()
        kind, keyword = self._peek()
        if kind != "word" or keyword not in KEYWORDS:
            keyword = ""
        else:
            self._at += 1
            self._require_apart()
            self._skip()
            if keyword == "else" and self._peek()[1] in ("if", "with"):
                keyword = f"else {self._next()[1]}"
                self._require_apart()
                self._skip()
        if keyword in ("end", "else", "break", "continue"):
            self._require_end()
            return keyword, None, ()
        declares = self._declaration()
        value = self._pipeline()
        self._require_end()
        return keyword, value, declares

    def _declaration(self) -> tuple[str, ...]:
        begin, names = self._at, []
        while self._peek()[0] == "variable" and "." not in self._peek()[1]:
            names.append(self._next()[1])
            self._skip()
            if self._peek()[0] == "declare" or self._peek()[1] == "=":
                self._at += 1
                return tuple(names)
            if self._peek()[1] != ",":
                break
            self._at += 1
            self._skip()
        self._at = begin
        return ()

    def _pipeline(self) -> Term:
        term = self._command(None)
        while self._peek()[1] == "|":
            self._at += 1
            term = self._command(term)
        return term

    def _command(self, before: Term | None) -> Term:
        self._skip()
        kind, word = self._peek()
        if kind == "word" and word not in _CONSTANTS:
            name = self._next()[1]
            self._require_apart()
            return self._arguments(name, before)
        if before is not None:
            raise _NoHelmError
        value = self._term()
        self._require_apart()
        self._skip()
        if isinstance(value, Path) and self._peek()[1] not in ("", "|", ")"):
            return self._arguments(".".join((value.root, *value.fields)), None)
        return value

    def _arguments(self, name: str, before: Term | None) -> Call:
        arguments: list[Term] = []
        while self._skip() and self._peek()[0] != "" and self._peek()[1] not in ("|", ")"):
            arguments.append(self._term())
            self._require_apart()
        adjacent = bool(arguments)
        return Call(name, (*arguments, *(() if before is None else (before,))), adjacent)

    def _term(self) -> Term:
        kind, word = self._next()
        if kind == "quoted":
            # Of the escapes, those that Go and JSON have in common.
            if not _ESCAPED.fullmatch(word):
                raise _NoHelmError
            return Literal(json.loads(word, strict=False), True)
        if kind == "raw":
            return Literal(word[1:-1], True)
        if kind == "number" or (kind == "word" and word in _CONSTANTS):
            return Literal(word, False)
        if kind == "word":
            return Call(word, ())
        if kind == "dot":
            return Path("", ())
        if kind == "field":
            return Path("", tuple(word[1:].split(".")))
        if kind == "variable":
            root, *fields = word.split(".")
            return Path(root, tuple(fields))
        if word != "(":
            raise _NoHelmError
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NoHelmError
        value = self._pipeline()
        if self._next()[1] != ")":
            raise _NoHelmError
        self._depth -= 1
        of_value: tuple[str, ...] = ()
        if self._peek()[0] == "field":
            of_value = tuple(self._next()[1][1:].split("."))
        return Inner(value, of_value)

    def _peek(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("", "")

    def _next(self) -> _Token:
        token = self._peek()
        self._at += 1
        return token

    def _skip(self) -> bool:
        while self._peek()[0] == "space":
            self._at += 1
        return True

    def _require_apart(self) -> None:
        """After a word: `keys(x)` and `first.name` are JMESPath's."""
        if self._peek()[0] not in ("", "space") and self._peek()[1] not in ("|", ")"):
            raise _NoHelmError

    def _require_end(self) -> None:
        self._skip()
        if self._at < len(self._tokens):
            raise _NoHelmError


def terms(value: Term | None) -> Iterator[Term]:
    """A term and every one inside it."""
    if value is None:
        return
    yield value
    if isinstance(value, Call):
        for argument in value.arguments:
            yield from terms(argument)
    elif isinstance(value, Inner):
        yield from terms(value.value)


_LITERAL = r"(?:`[^`]*`|\"(?:\\.|[^\"\\\n])*\")"
_ACTION = re.compile(r"\{\{-?\s*(?P<literal>" + _LITERAL + r")\s*-?\}\}", re.DOTALL)
_TAG = re.compile(r"<%.*?%>", re.DOTALL)
_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def escape(text: str) -> str:
    """The text as a Helm template that renders to it."""
    parts: list[str] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        parts.append(text[position:start])
        action = _ACTION.match(text, start)
        if action is not None and (OPEN in action["literal"] or CLOSE in action["literal"]):
            # A string literal of Helm with Kyverno's braces: it is escaped already.
            position = action.end()
            parts.append(action[0])
            continue
        position = end_of_variable(text, start)
        parts.append(_escape_variable(text[start:position]))
    parts.append(text[position:])
    return "".join(parts)


def printed_literals(text: str) -> str:
    """The text that `escape` keeps, as Helm prints it: literals with Kyverno's braces in them."""

    def printed(action: re.Match[str]) -> str:
        quoted = action["literal"]
        if OPEN not in quoted and CLOSE not in quoted:
            return action[0]
        return str(json.loads(quoted, strict=False)) if quoted[0] == '"' else quoted[1:-1]

    return _ACTION.sub(printed, text)


def escape_all(text: str) -> str:
    """The text as a Helm template that renders to it, whatever stands between its braces."""
    parts: list[str] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        parts.append(text[position:start])
        position = end_of_variable(text, start)
        parts.append(literal(text[start:position]))
    parts.append(text[position:])
    return "".join(parts)


def literal(text: str) -> str:
    """A Helm action that prints the text."""
    quoted = f'"{text.translate(_QUOTED)}"' if "`" in text else f"`{text}`"
    return f"{OPEN} {quoted} {CLOSE}"


def end_of_variable(text: str, start: int) -> int:
    """The end of the variable that begins here, those inside it included. Braces that never close
    are text to Kyverno: then only the opening ones are taken."""
    depth, position = 0, start
    while position < len(text):
        if text.startswith(OPEN, position):
            depth, position = depth + 1, position + 2
        elif text.startswith(CLOSE, position):
            depth, position = depth - 1, position + 2
            if not depth:
                return position
        else:
            position += 1
    return start + len(OPEN)


def _escape_variable(text: str) -> str:
    """Escapes a variable; a jinja2 tag in it stays a tag, between two literals."""
    parts: list[str] = []
    position = 0
    for tag in _TAG.finditer(text):
        if tag.start() > position:
            parts.append(literal(text[position : tag.start()]))
        parts.append(tag.group())
        position = tag.end()
    if position < len(text):
        parts.append(literal(text[position:]))
    return "".join(parts)

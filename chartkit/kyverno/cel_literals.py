"""Objects that CEL reads and builds, as far as its literals name them, without compiling it.

A chart needs no meaning here, only names: the arguments of calls such as `resource.Get(…)`, and the
`apiVersion` and `kind` of objects that are written out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.model import Body, Json

_TOKEN: Final = re.compile(
    r"//[^\n]*"
    r"|(?P<text>(?P<raw>[bB]?[rR]?[bB]?)"
    r"(?:\"\"\"(?P<long>(?:[^\"\\]|\\.|\"(?!\"\"))*)\"\"\"|'''(?P<quoted>(?:[^'\\]|\\.|'(?!''))*)'''"
    r"|\"(?P<double>(?:[^\"\\\n]|\\.)*)\"|'(?P<single>(?:[^'\\\n]|\\.)*)'))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<other>\S)",
    re.DOTALL,
)
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_LONGEST: Final = 200
"""The number of pieces of a call that are read; names are at its beginning."""
_ALONE: Final = ""
_FUNCTIONS: Final = Path(__file__).with_name("cel_functions.yaml")
_EXPRESSIONS: Final = frozenset(("expression", "messageExpression", "valueExpression"))


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of CEL; literal: the content of a text, None for anything else."""

    text: str
    literal: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function by its name; arguments: texts where they are known, None for others;
    alone: whether its result stands as it is, rather than a field of it."""

    arguments: tuple[str | None, ...]
    alone: bool


@dataclass(frozen=True, slots=True)
class ObjectLiteral:
    """An object that is written out; api_version, kind: None where no literal says it."""

    api_version: str | None
    kind: str | None


@lru_cache(maxsize=32)
def tokens(text: str) -> tuple[Token, ...]:
    """The pieces of a text in CEL, comments left out; never fails. One text is asked about several
    functions in a row."""
    pieces = []
    for match in _TOKEN.finditer(text):
        if match["text"] is not None:
            content = match["long"] or match["quoted"] or match["double"] or match["single"] or ""
            escaped = "\\" in content and "r" not in match["raw"].lower()
            # An escaped text is not known: no name of Kubernetes needs an escape.
            pieces.append(Token(match["text"], None if escaped else content))
        elif match["word"] or match["other"]:
            pieces.append(Token(match[0]))
    return tuple(pieces)


def constants(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that are one literal text each."""
    literals = {}
    for name, text in variables.items():
        pieces = tokens(text)
        if len(pieces) == 1 and pieces[0].literal is not None:
            literals[name] = pieces[0].literal
    return literals


def calls(text: str, function: str, texts: Mapping[str, str]) -> Iterator[Call]:
    """The calls of a function, as `resource.Get`; texts: variables that are literal texts."""
    name = [token.text for token in tokens(function)]
    if not all(part in text for part in name):
        return
    pieces = tokens(text)
    for start in range(len(pieces) - len(name)):
        if pieces[start].text != name[0]:
            continue
        end = start + len(name)
        follows = start > 0 and pieces[start - 1].text == "."
        if follows or [token.text for token in pieces[start:end]] != name:
            continue
        if pieces[end].text == "(":
            arguments, after = _arguments(pieces, end + 1)
            yield Call(
                tuple(_literal(argument, texts) for argument in arguments), _alone(pieces, after)
            )


def _arguments(pieces: Sequence[Token], start: int) -> tuple[list[list[Token]], int]:
    """Return the arguments of a call, and the index after it."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for index in range(start, min(start + _LONGEST, len(pieces))):
        token = pieces[index]
        if token.text in _CLOSING:
            if not depth:
                return [argument for argument in arguments if argument], index + 1
            depth -= 1
        elif token.text in _OPENING:
            depth += 1
        if token.text == "," and not depth:
            arguments.append([])
        else:
            arguments[-1].append(token)
    return arguments, len(pieces)


def _alone(pieces: Sequence[Token], after: int) -> bool:
    """Report whether a value is used as it is, or its `.items`."""
    following = [token.text for token in pieces[after : after + 2]]
    return not following or following[0] not in (".", "[") or following[1:] == ["items"]


def _literal(pieces: Sequence[Token], texts: Mapping[str, str]) -> str | None:
    """The text that an expression is; None for any other."""
    words = [token.text for token in pieces]
    if len(pieces) == 1:
        return pieces[0].literal
    if len(pieces) == 4 and (words[0], words[1], words[3]) == ("dyn", "(", ")"):
        return pieces[2].literal
    if len(pieces) == 3 and words[:2] == ["variables", "."]:
        return texts.get(words[2])
    return None


def objects(text: str, texts: Mapping[str, str]) -> Iterator[ObjectLiteral]:
    """The Kubernetes objects written out in a text: maps with `kind` and `metadata`."""
    pieces = tokens(text)
    open_maps: list[dict[str, str | None]] = []
    brackets: list[str] = []
    for index, token in enumerate(pieces):
        if token.text in _OPENING:
            brackets.append(token.text)
            if token.text == "{":
                open_maps.append({})
        elif token.text in _CLOSING and brackets:
            if brackets.pop() == "{":
                fields = open_maps.pop()
                if "kind" in fields and "metadata" in fields:
                    yield ObjectLiteral(fields.get("apiVersion"), fields["kind"])
        elif token.literal is not None and brackets[-1:] == ["{"] and _is_key(pieces, index):
            open_maps[-1][token.literal] = _literal(_value(pieces, index + 2), texts)


def _is_key(pieces: Sequence[Token], index: int) -> bool:
    return index + 1 < len(pieces) and pieces[index + 1].text == ":"


def _value(pieces: Sequence[Token], start: int) -> Sequence[Token]:
    """A map's value that begins at an index; only short ones are names."""
    depth = 0
    for index in range(start, min(start + 6, len(pieces))):
        text = pieces[index].text
        if not depth and (text == "," or text in _CLOSING):
            return pieces[start:index]
        depth += (text in _OPENING) - (text in _CLOSING)
    return ()


def results(text: str) -> set[str]:
    """The variables whose values a text takes as they are, rather than a field of them."""
    pieces = tokens(text)
    return {
        pieces[index].text
        for index in range(2, len(pieces))
        if [token.text for token in pieces[index - 2 : index]] == ["variables", "."]
        and _alone(pieces, index + 1)
    }


@cache
def kyverno_functions() -> Mapping[str, frozenset[str]]:
    """Return the functions that only Kyverno has, by what is before their dot; empty: nothing."""
    table: Mapping[str, str] = read_file(_FUNCTIONS)[0].body
    return {
        _ALONE if root == "alone" else root: frozenset(names.split())
        for root, names in table.items()
    }


def kyverno_call(policy: Body) -> str | None:
    """The first call of a policy in CEL that only Kyverno answers (`resource.List`), or None."""
    for text in expressions_in(policy.get("spec")):
        pieces = tokens(text)
        for at in range(len(pieces)):
            call = _called(pieces, at)
            if call:
                return call
    return None


def _called(pieces: Sequence[Token], at: int) -> str | None:
    words = [token.text for token in pieces[at : at + 3]]
    if at and pieces[at - 1].text == ".":
        return None
    if words[1:2] == ["("] and words[0] in kyverno_functions()[_ALONE]:
        return words[0]
    if words[1:2] == ["."] and words[2:] and words[2] in kyverno_functions().get(words[0], ()):
        return f"{words[0]}.{words[2]}"
    return None


def expressions_in(node: Json, keys: Collection[str] = _EXPRESSIONS) -> Iterator[str]:
    """Yield the texts under the keys of expressions, at any depth."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in keys and isinstance(value, str):
                yield value
            else:
                yield from expressions_in(value, keys)
    elif isinstance(node, list):
        for value in node:
            yield from expressions_in(value, keys)

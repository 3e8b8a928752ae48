"""CEL's grammar as a graph: what may come next anywhere in an expression.

Only texts that are no expression are read by it (`syntax_errors`), since it knows what was expected
where, and how the reading goes on behind an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from chartkit.engine.cel.parser.lexer import (
    BYTES,
    EOF,
    ESCAPED,
    FLOAT,
    IDENTIFIER,
    INT,
    STRING,
    UINT,
)

END = ""
"""In a set of tokens that may come next: that the rule may be over instead."""

ORDER = (
    EOF,
    *("==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ","),
    *("-", "!", "?", ":", "+", "*", "/", "%", "true", "false", "null"),
    *(FLOAT, INT, UINT, STRING, BYTES, IDENTIFIER, ESCAPED),
)
"""Every kind of token, in the order in which messages list them."""


class Kind(Enum):
    """The type of a place in a rule."""

    TOKEN = auto()
    RULE = auto()
    CHOICE = auto()
    LOOP = auto()
    """The start of a repetition."""
    AGAIN = auto()
    """The place where a repetition may continue."""
    STOP = auto()


class Choosing(Enum):
    """The choice at a place where the next token alone does not decide."""

    FIRST_FIT = auto()
    """By the next token; where none fits, there is no choice."""
    OPTIONAL = auto()
    """By the next token; what is not there is passed over."""
    OPERATOR = auto()
    """An operator goes on only if it binds closer than the one that is being read."""
    MORE_PARTS = auto()
    """A comma goes on only if a part follows it."""
    UNARY = auto()
    MORE_SIGNS = auto()
    SUFFIX = auto()
    PRIMARY = auto()
    NUMBER = auto()


@dataclass(eq=False, slots=True)
class State:
    """A place in a rule; power: how close an operator that is read from here has to bind."""

    kind: Kind
    tokens: frozenset[str] = frozenset()
    rule: str = ""
    power: int = 0
    following: State | None = None
    alternatives: list[State] = field(default_factory=list)
    choosing: Choosing = Choosing.FIRST_FIT
    next_tokens: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    power: int = 0


@dataclass(frozen=True, slots=True)
class _Choice:
    alternatives: tuple[tuple[_Part, ...], ...]
    choosing: Choosing = Choosing.FIRST_FIT


@dataclass(frozen=True, slots=True)
class _Repeated:
    parts: tuple[_Part, ...]
    choosing: Choosing = Choosing.OPTIONAL
    at_least_once: bool = False


_Part = _Token | _Rule | _Choice | _Repeated


def _token(*kinds: str) -> _Token:
    return _Token(frozenset(kinds))


def _maybe(*parts: _Part) -> _Choice:
    return _Choice((parts, ()), Choosing.OPTIONAL)


def _any(*parts: _Part, choosing: Choosing = Choosing.OPTIONAL) -> _Repeated:
    return _Repeated(parts, choosing)


_COMMA, _DOT, _QUESTION = _token(","), _token("."), _token("?")
_EXPR, _NAME = _Rule("expr"), _token(IDENTIFIER)
_ARGUMENTS = (_token("("), _maybe(_Rule("exprList")), _token(")"))

_RULES: dict[str, tuple[_Part, ...]] = {
    "start": (_EXPR, _token(EOF)),
    "expr": (
        _Rule("or"),
        _maybe(_QUESTION, _Rule("or"), _token(":"), _EXPR),
    ),
    "or": (_Rule("and"), _any(_token("||"), _Rule("and"))),
    "and": (_Rule("relation"), _any(_token("&&"), _Rule("relation"))),
    "relation": (
        _Rule("calc"),
        _any(
            _token("<", "<=", ">=", ">", "==", "!=", "in"),
            _Rule("relation", 2),
            choosing=Choosing.OPERATOR,
        ),
    ),
    "calc": (
        _Rule("unary"),
        _any(
            _Choice(
                (
                    (_token("*", "/", "%"), _Rule("calc", 3)),
                    (_token("+", "-"), _Rule("calc", 2)),
                )
            ),
            choosing=Choosing.OPERATOR,
        ),
    ),
    "unary": (
        _Choice(
            (
                (_Rule("member"),),
                (_Repeated((_token("!"),), at_least_once=True), _Rule("member")),
                (
                    _Repeated((_token("-"),), Choosing.MORE_SIGNS, at_least_once=True),
                    _Rule("member"),
                ),
            ),
            Choosing.UNARY,
        ),
    ),
    "member": (
        _Rule("primary"),
        _any(
            _Choice(
                (
                    (_DOT, _maybe(_QUESTION), _Rule("escapeIdent")),
                    (_DOT, _NAME, *_ARGUMENTS),
                    (_token("["), _maybe(_QUESTION), _EXPR, _token("]")),
                ),
                Choosing.SUFFIX,
            ),
        ),
    ),
    "primary": (
        _Choice(
            (
                (_maybe(_DOT), _NAME),
                (_maybe(_DOT), _NAME, *_ARGUMENTS),
                (_token("("), _EXPR, _token(")")),
                (_token("["), _maybe(_Rule("listInit")), _maybe(_COMMA), _token("]")),
                (_token("{"), _maybe(_Rule("mapInit")), _maybe(_COMMA), _token("}")),
                (
                    _maybe(_DOT),
                    _NAME,
                    _any(_DOT, _NAME),
                    *(_token("{"), _maybe(_Rule("fieldInit")), _maybe(_COMMA), _token("}")),
                ),
                (_Rule("literal"),),
            ),
            Choosing.PRIMARY,
        ),
    ),
    "exprList": (_EXPR, _any(_COMMA, _EXPR)),
    "listInit": (
        _Rule("optExpr"),
        _any(_COMMA, _Rule("optExpr"), choosing=Choosing.MORE_PARTS),
    ),
    "fieldInit": (
        *(_Rule("optField"), _token(":"), _EXPR),
        _any(_COMMA, _Rule("optField"), _token(":"), _EXPR, choosing=Choosing.MORE_PARTS),
    ),
    "optField": (_maybe(_QUESTION), _Rule("escapeIdent")),
    "mapInit": (
        *(_Rule("optExpr"), _token(":"), _EXPR),
        _any(_COMMA, _Rule("optExpr"), _token(":"), _EXPR, choosing=Choosing.MORE_PARTS),
    ),
    "escapeIdent": (_Choice(((_NAME,), (_token(ESCAPED),))),),
    "optExpr": (_maybe(_QUESTION), _EXPR),
    "literal": (
        _Choice(
            (
                (_maybe(_token("-")), _token(INT)),
                (_token(UINT),),
                (_maybe(_token("-")), _token(FLOAT)),
                *((_token(kind),) for kind in (STRING, BYTES, "true", "false", "null")),
            ),
            Choosing.NUMBER,
        ),
    ),
}


def _sequence(parts: tuple[_Part, ...], following: State) -> State:
    """The first place of some parts, behind which the `following` place comes."""
    for part in reversed(parts):
        following = _place(part, following)
    return following


def _place(part: _Part, following: State) -> State:
    match part:
        case _Token(kinds):
            return State(Kind.TOKEN, tokens=kinds, following=following)
        case _Rule(name, power):
            return State(Kind.RULE, rule=name, power=power, following=following)
        case _Choice(alternatives, choosing):
            places = [_sequence(each, following) for each in alternatives]
            return State(Kind.CHOICE, alternatives=places, choosing=choosing)
        case _Repeated(parts, choosing, at_least_once):
            again = State(Kind.AGAIN, choosing=choosing)
            inner = _sequence(parts, again)
            again.alternatives += [inner, following]
            places = [inner] if at_least_once else [inner, following]
            return State(
                Kind.CHOICE if at_least_once else Kind.LOOP, alternatives=places, choosing=choosing
            )


RULES: Mapping[str, State] = {
    name: _sequence(parts, State(Kind.STOP)) for name, parts in _RULES.items()
}
"""The first place of each rule."""


def next_tokens(state: State) -> frozenset[str]:
    """The tokens that may stand at a place, END among them where the rule may be over there."""
    if state.next_tokens is None:
        match state.kind:
            case Kind.TOKEN:
                state.next_tokens = state.tokens
            case Kind.RULE:
                state.next_tokens = next_tokens(RULES[state.rule])
            case Kind.STOP:
                state.next_tokens = frozenset({END})
            case _:
                state.next_tokens = frozenset().union(*map(next_tokens, state.alternatives))
    return state.next_tokens

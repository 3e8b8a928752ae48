"""Syntax errors of tokens that are not an expression, in the words of cel-go's parser.

Its parser is made by ANTLR, which leaves out or invents a token where that mends the text, else
skips to a token behind which it can go on, and so finds several errors in one text. It does so
here: reading goes along the grammar's graph with a stack of the rules that are being read.
"""

from __future__ import annotations

from contextlib import suppress

from chartkit.engine.cel.errors import Issue
from chartkit.engine.cel.parser import lexer
from chartkit.engine.cel.parser.antlr_graph import (
    END,
    ORDER,
    RULES,
    Choosing,
    Kind,
    State,
    next_tokens,
)
from chartkit.engine.cel.parser.lexer import ESCAPED, FLOAT, IDENTIFIER, INT, Token

_MAX_RECOVERIES = 30
_MAX_SKIPPED = 256
_POWERS = {**dict.fromkeys("*/%", 2)}
"""The precedence of an operator among those of its rule; 1 by default."""
_KEYWORD_VALUES = frozenset({"true", "false", "null"})
_SYMBOLIC = frozenset({lexer.EOF, *(kind for kind in ORDER if kind.isupper())})


class _SyntaxProblem(Exception):  # noqa: N818 - a step of the reading, not an error of the program
    """The rule that is being read cannot go on; the token that spoils it, and the complaint."""

    def __init__(self, message: str, token: Token) -> None:
        super().__init__(message)
        self.message = message
        self.token = token


class _GivenUp(Exception):  # noqa: N818 - as above
    """The text is too broken to go on."""


def complaints(source: str, tokens: list[Token]) -> list[Issue]:
    """The complaints about tokens that are no expression, in the order of the text."""
    reader = _Reader(source, tokens)
    with suppress(_GivenUp):
        reader.read()
    return reader.issues


def _listed(kinds: frozenset[str]) -> str:
    names = [kind if kind in _SYMBOLIC else f"'{kind}'" for kind in ORDER if kind in kinds]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"


def _quoted(text: str) -> str:
    shown = text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{shown}'"


class _Reader:
    def __init__(self, source: str, tokens: list[Token]) -> None:
        self.issues: list[Issue] = []
        self._source = source
        self._tokens = tokens
        # No place asks for more than three tokens from the last one.
        self._kinds = [token.kind for token in tokens] + [lexer.EOF] * 3
        self._position = 0
        self._state = RULES["start"]
        self._callers: list[State] = []
        self._recovering = False
        self._recoveries = 0
        self._error_position = -1
        self._error_states: set[State] = set()

    def read(self) -> None:
        """Reads on to the end of the first rule, noting what is wrong."""
        state: State | None = self._state
        while state is not None:
            self._state = state
            try:
                state = self._step(state)
            except _SyntaxProblem as problem:
                self._report(problem.message, problem.token)
                self._note_missing_field(problem.token)
                self._recover()
                state = self._leave()

    def _step(self, state: State) -> State | None:
        kind = state.kind
        if kind is Kind.TOKEN:
            self._match(state)
            return state.following
        if kind is Kind.RULE:
            self._callers.append(state)
            return RULES[state.rule]
        if kind is Kind.STOP:
            return self._leave()
        self._synchronize(state)
        return state.alternatives[self._choose(state)]

    def _leave(self) -> State | None:
        """Ends the rule that is being read."""
        return self._callers.pop().following if self._callers else None

    def _token(self, distance: int = 0) -> Token:
        return self._tokens[min(self._position + distance, len(self._tokens) - 1)]

    def _kind(self, distance: int = 0) -> str:
        return self._kinds[self._position + distance]

    def _match(self, state: State) -> None:
        if self._kind() in state.tokens:
            self._matched()
            self._position += 1
            return
        self._count_recovery()
        if self._leave_out():
            self._position += 1
            return
        if state.following is not None and self._kind() in self._expected(state.following):
            expected = _listed(self._expected(state))
            self._report(f"missing {expected} at {_quoted(self._token().text)}", self._token())
            return
        raise self._mismatch()

    def _matched(self) -> None:
        self._recovering = False
        self._error_position = -1
        self._error_states = set()

    def _mismatch(self) -> _SyntaxProblem:
        expected = _listed(self._expected(self._state))
        token = self._token()
        return _SyntaxProblem(f"mismatched input {_quoted(token.text)} expecting {expected}", token)

    def _report(self, message: str, token: Token) -> None:
        if self._recovering:
            return
        self._recovering = True
        if self._source:
            self.issues.append(Issue(f"Syntax error: {message}", token.offset))
        else:
            # Where there is no text there is no place in it.
            self.issues.append(Issue(f"ERROR: <input>:1:0: Syntax error: {message}"))

    def _note_missing_field(self, token: Token) -> None:
        """A selection without a name (`a.?1`) is also told of when its tree is made."""
        rules = [caller.rule for caller in self._callers[-2:]]
        if rules == ["member", "escapeIdent"]:
            self.issues.append(Issue("unsupported ident kind", token.offset))

    def _report_unwanted(self) -> None:
        expected = _listed(self._expected(self._state))
        shown = _quoted(self._token().text)
        self._report(f"extraneous input {shown} expecting {expected}", self._token())

    def _leave_out(self) -> bool:
        """Return whether the text goes on behind the next token as it should; then that is
        skipped."""
        if self._kind(1) not in self._expected(self._state):
            return False
        self._report_unwanted()
        self._position += 1
        self._matched()
        return True

    def _expected(self, state: State) -> frozenset[str]:
        """Return the tokens that may follow at a place, and after its rule if that may end."""
        expected = next_tokens(state)
        for caller in reversed(self._callers):
            if END not in expected or caller.following is None:
                break
            expected = (expected - {END}) | next_tokens(caller.following)
        return (expected - {END}) | {lexer.EOF} if END in expected else expected

    def _behind_callers(self) -> frozenset[str]:
        """Return the tokens that may follow any of the rules that are being read."""
        followers = (caller.following for caller in self._callers)
        sets = (next_tokens(state) for state in followers if state is not None)
        return frozenset().union(*sets) - {END}

    def _synchronize(self, state: State) -> None:
        """Sees to it that a choice is made at a token that can stand there."""
        expected = next_tokens(state)
        if self._recovering or END in expected or self._kind() in expected:
            return
        if state.kind is Kind.AGAIN:
            self._report_unwanted()
            self._skip_to(self._expected(state) | self._behind_callers())
        elif not self._leave_out():
            raise self._mismatch()

    def _recover(self) -> None:
        """Skips to a token that may stand behind a rule that is being read."""
        self._count_recovery()
        if self._error_position == self._position and self._state in self._error_states:
            self._consume()
        self._error_position = self._position
        self._error_states.add(self._state)
        self._skip_to(self._behind_callers())

    def _skip_to(self, kinds: frozenset[str]) -> None:
        start = self._position
        while self._kind() not in kinds and self._kind() != lexer.EOF:
            if self._position - start >= _MAX_SKIPPED:
                limit = f"error recovery token lookahead limit exceeded: {_MAX_SKIPPED}"
                self.issues.append(Issue(f"ERROR: <input>:-1:0: {limit}"))
                raise _GivenUp
            self._consume()

    def _consume(self) -> None:
        self._position = min(self._position + 1, len(self._tokens) - 1)

    def _count_recovery(self) -> None:
        if self._recoveries == _MAX_RECOVERIES:
            limit = f"error recovery attempt limit exceeded: {_MAX_RECOVERIES}"
            self.issues.append(Issue(f"Syntax error: {limit}", self._token().offset))
            raise _GivenUp
        self._recoveries += 1

    def _choose(self, state: State) -> int:
        """The alternative that the tokens ahead go on with."""
        match state.choosing:
            case Choosing.FIRST_FIT:
                return self._fitting(state)
            case Choosing.OPTIONAL:
                return 0 if self._fits(state.alternatives[0]) else len(state.alternatives) - 1
            case Choosing.OPERATOR:
                power = self._callers[-1].power if self._callers else 0
                binds = _POWERS.get(self._kind(), 1) >= power
                return 0 if self._fits(state.alternatives[0]) and binds else 1
            case Choosing.MORE_PARTS:
                part = state.alternatives[0].following
                more = self._kind() == "," and part is not None
                return 0 if more and part is not None and self._fits(part, 1) else 1
            case Choosing.UNARY:
                return self._unary(state)
            case Choosing.MORE_SIGNS:
                return self._more_signs(state)
            case Choosing.SUFFIX:
                return self._suffix(state)
            case Choosing.PRIMARY:
                return self._primary(state)
            case Choosing.NUMBER:
                return self._number(state)

    def _fits(self, state: State, distance: int = 0) -> bool:
        return self._kind(distance) in next_tokens(state)

    def _fitting(self, state: State) -> int:
        for index, alternative in enumerate(state.alternatives):
            if self._fits(alternative):
                return index
        raise self._no_alternative(0)

    def _no_alternative(self, distance: int) -> _SyntaxProblem:
        """No alternative goes on with the tokens up to one further on."""
        first, last = self._token(), self._token(distance)
        if first.kind == lexer.EOF:
            text = lexer.EOF
        else:
            end = last.offset if last.kind == lexer.EOF else last.offset + len(last.text)
            text = lexer.without_errors(self._source[first.offset : end])
        if len(text) > 1 and text[1:] in _KEYWORD_VALUES:
            return _SyntaxProblem(f"mismatched input '{text[1:]}' expecting IDENTIFIER", last)
        return _SyntaxProblem(f"no viable alternative at input {_quoted(text)}", last)

    def _unary(self, state: State) -> int:
        if self._kind() != "-":
            return self._fitting(state)
        if self._kind(1) in (INT, FLOAT):
            return 0
        if self._kind(1) == "-" or self._fits(state.alternatives[0], 1):
            return 2
        raise self._no_alternative(1)

    def _more_signs(self, state: State) -> int:
        if len(state.alternatives) == 1:
            return 0
        if self._kind() != "-":
            return self._fitting(state)
        if self._fits(state.alternatives[0], 1) or self._fits(state.alternatives[1], 1):
            return 0
        raise self._no_alternative(1)

    def _suffix(self, state: State) -> int:
        if self._kind() != ".":
            return self._fitting(state)
        if self._kind(1) == IDENTIFIER:
            return 1 if self._kind(2) == "(" else 0
        if self._kind(1) in ("?", ESCAPED):
            return 0
        raise self._no_alternative(1)

    def _primary(self, state: State) -> int:
        at = 1 if self._kind() == "." else 0
        if self._kind(at) != IDENTIFIER:
            if at:
                raise self._no_alternative(1)
            return self._fitting(state)
        if self._kind(at + 1) == "(":
            return 1
        at += 1
        while self._kind(at) == "." and self._kind(at + 1) == IDENTIFIER:
            at += 2
        return 5 if self._kind(at) == "{" else 0

    def _number(self, state: State) -> int:
        if self._kind() != "-":
            return self._fitting(state)
        if self._kind(1) in (INT, FLOAT):
            return 0 if self._kind(1) == INT else 2
        raise self._no_alternative(1)

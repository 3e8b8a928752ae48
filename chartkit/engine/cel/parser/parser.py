"""Reads the tokens of a CEL expression into its tree, one rule of the grammar a method.

What operators, selections and calls become, and the place of each node, are cel-go's: a binary
operator stands at its sign, a call at its parenthesis, a selection at its dot. Chains of `&&` and
of `||` become balanced trees.
"""

from __future__ import annotations

from collections.abc import Callable

from chartkit.engine.cel import ast
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import Issue
from chartkit.engine.cel.parser import lexer
from chartkit.engine.cel.parser.building import Builder, Ids, MacroError
from chartkit.engine.cel.parser.lexer import Token
from chartkit.engine.cel.values import Scalar

MAX_DEPTH = 250
"""The deepest nesting of brackets and operators, and the longest chain of selections."""
MAX_NODES = 100_000
"""The most nodes that macros may add to an expression."""

RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import"),
        *("in", "let", "loop", "package", "namespace", "null", "return", "true", "var", "void"),
        "while",
    }
)
_RELATION, _SUM, _PRODUCT = 1, 2, 3
_BINARY = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), _RELATION),
    **dict.fromkeys("+-", _SUM),
    **dict.fromkeys("*/%", _PRODUCT),
}
_FUNCTIONS = {sign: f"_{sign}_" for sign in _BINARY} | {"in": "@in"}
_LITERALS: dict[str, Callable[[str], Scalar]] = {
    lexer.INT: lexer.integer,
    lexer.UINT: lexer.unsigned,
    lexer.FLOAT: lexer.double,
    lexer.STRING: lexer.string,
    lexer.BYTES: lexer.octets,
    "true": lambda _: True,
    "false": lambda _: False,
    "null": lambda _: None,
}
_SIGNED = frozenset({lexer.INT, lexer.FLOAT})


_ORDER = (
    *("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "true", "false", "null"),
    *(lexer.FLOAT, lexer.INT, lexer.UINT, lexer.STRING, lexer.BYTES),
    *(lexer.IDENTIFIER, lexer.ESCAPED),
)
"""The order in which messages list tokens: cel-go's."""
_NAMES = (lexer.IDENTIFIER, lexer.ESCAPED)
_OPERANDS = tuple(kind for kind in _ORDER if kind not in (*"]}),?:", lexer.ESCAPED))
"""The tokens that an expression may begin with."""


class UnexpectedTokenError(Exception):
    """The tokens are not an expression; the message is the first of cel-go's, which goes on behind
    an error and may report more. offset: the place of the token that cannot stand there."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"Syntax error: {message}")
        self.offset = offset


class TooDeepError(Exception):
    """The expression nests deeper than it may; the message is cel-go's."""

    def __init__(self, message: str = f"expression recursion limit exceeded: {MAX_DEPTH}") -> None:
        super().__init__(message)


def _quoted(text: str) -> str:
    shown = text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{shown}'"


class Reader:
    """Reads one list of tokens.

    The grammar's own depths are counted, since cel-go's limit is on them: how many of its rules
    for an expression, a relation and a calculation are being read at once. `_height` is, of what
    was read last, how deep its operators and selections nest.
    """

    def __init__(self, source: str, tokens: list[Token], environment: Environment) -> None:
        self._source = source
        self.issues: list[Issue] = []
        self.macro_calls: dict[int, ast.MacroCall] = {}
        self.ids = Ids()
        self._macros = environment.macros
        self._tokens = tokens
        self._position = 0
        self._token = tokens[0]
        self._expressions = self._relations = self._calculations = 0
        self._height = 0

    def whole(self) -> ast.Expr:
        """The expression that all the tokens are."""
        root = self._expression()
        if self._token.kind != lexer.EOF:
            raise self._unexpected(lexer.EOF)
        if self._height > MAX_DEPTH:
            raise TooDeepError("max recursion depth exceeded")
        return root

    def _next(self) -> Token:
        """Take the current token and advance to the next one."""
        taken = self._token
        self._position += 1
        self._token = self._tokens[self._position]
        return taken

    def _expect(self, kind: str) -> Token:
        if self._token.kind == kind:
            return self._next()
        if self._behind() != kind and self._is_missing(kind):
            shown = _quoted(self._token.text)
            raise UnexpectedTokenError(f"missing '{kind}' at {shown}", self._token.offset)
        raise self._unexpected(kind)

    def _is_missing(self, kind: str) -> bool:
        """Report whether the text would go on well behind a token that is not there."""
        if kind == ":":
            return self._token.kind in _OPERANDS
        before = [token.kind for token in self._tokens[: self._position]]
        unclosed = sum(map(before.count, "([{")) - sum(map(before.count, ")]}"))
        return self._token.kind == lexer.EOF and unclosed == 1

    def _unexpected(self, *expected: str) -> UnexpectedTokenError:
        ordered = sorted(expected, key=_ORDER.index) if len(expected) > 1 else expected
        names = [kind if kind.isupper() else f"'{kind}'" for kind in ordered]
        shown = names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
        problem = "extraneous" if self._behind() in expected else "mismatched"
        text = f"{problem} input {_quoted(self._token.text)} expecting {shown}"
        return UnexpectedTokenError(text, self._token.offset)

    def _begin(self, *expected: str) -> None:
        """Raise the error of a token with which what is between brackets cannot begin."""
        if self._token.kind not in expected:
            raise self._unexpected(*expected)

    def _not_viable(self, first: Token) -> UnexpectedTokenError:
        """Return the error of tokens, from the first to this one, that begin nothing."""
        last = self._token
        end = last.offset + (0 if last.kind == lexer.EOF else len(last.text))
        if last.kind in ("true", "false", "null") and first.kind == ".":
            return self._unexpected(lexer.IDENTIFIER)
        shown = _quoted(self._source[first.offset : end])
        return UnexpectedTokenError(f"no viable alternative at input {shown}", last.offset)

    def _accept(self, kind: str) -> bool:
        if self._token.kind != kind:
            return False
        self._next()
        return True

    def _behind(self, distance: int = 1) -> str:
        """The kind of a token further on; the end mark stays the last."""
        at = min(self._position + distance, len(self._tokens) - 1)
        return self._tokens[at].kind

    def _expression(self, conditional: bool = True) -> ast.Expr:
        """An expression; where it is not `conditional`, a `?` behind it is not its own."""
        self._expressions += conditional
        self._relations += 1
        if self._expressions > MAX_DEPTH:
            raise TooDeepError
        height = 0
        any_of, ors = [], []
        while True:
            all_of, ands = [self._binary(_RELATION)], []
            height = max(height, self._height)
            while self._token.kind == "&&":
                ands.append(self._next())
                all_of.append(self._binary(_RELATION))
                height = max(height, self._height)
            any_of.append(self._balanced("_&&_", all_of, ands))
            if self._token.kind != "||":
                break
            ors.append(self._next())
        self._relations -= 1
        result = self._balanced("_||_", any_of, ors)
        if conditional and self._token.kind == "?":
            sign = self._next()
            then = self._expression(False)
            height = max(height, self._height)
            self._expect(":")
            otherwise = self._expression()
            height = max(height, self._height) + 1
            result = self._operation(sign, "_?_:_", result, then, otherwise)
        self._height = height
        self._expressions -= conditional
        return result

    def _balanced(self, function: str, terms: list[ast.Expr], signs: list[Token]) -> ast.Expr:
        if not signs:
            return terms[0]
        middle = len(signs) // 2
        left = self._balanced(function, terms[: middle + 1], signs[:middle])
        right = self._balanced(function, terms[middle + 1 :], signs[middle + 1 :])
        return self._operation(signs[middle], function, left, right)

    def _operation(self, sign: Token, function: str, *args: ast.Expr) -> ast.Expr:
        return ast.Call(self.ids.take(), sign.offset, function, None, args)

    def _binary(self, power: int) -> ast.Expr:
        """Operands joined by operators that bind at least as close as `power`."""
        self._calculations += 1
        if max(self._calculations, self._relations) > MAX_DEPTH:
            raise TooDeepError
        # A primary with its signs before it and its selections, calls and indices behind
        first = self._token
        odd = False
        if first.kind == "!" or (first.kind == "-" and self._behind() not in _SIGNED):
            while self._accept(first.kind):
                odd = not odd
            if first.kind == "-" and self._token.kind not in _OPERANDS:
                raise self._not_viable(self._tokens[self._position - 1])
        result = self._primary()
        while (kind := self._token.kind) in (".", "["):
            result = self._selection(result) if kind == "." else self._index(result)
            self._height += 1
        left = self._operation(first, f"{first.kind}_", result) if odd else result
        while (own := _BINARY.get(self._token.kind, 0)) >= power:
            sign = self._next()
            height = self._height
            # A relation's left side was a calculation of its own, which is over.
            if own == _RELATION:
                self._relations += 1
                self._calculations -= 1
            right = self._binary(own + 1)
            if own == _RELATION:
                self._relations -= 1
                self._calculations += 1
            self._height = max(height, self._height) + 1
            left = self._operation(sign, _FUNCTIONS[sign.kind], left, right)
        self._calculations -= 1
        return left

    def _selection(self, operand: ast.Expr) -> ast.Expr:
        dot = self._next()
        optional = self._accept("?")
        name = self._token
        if name.kind == lexer.IDENTIFIER and not optional and self._behind() == "(":
            self._next()
            return self._invocation(name.text, operand)
        if not optional and name.kind not in _NAMES:
            raise self._not_viable(dot)
        field = self._field_name()
        if not optional:
            return ast.Select(self.ids.take(), dot.offset, operand, field)
        literal = ast.Literal(self.ids.take(), name.offset, field)
        return self._operation(dot, "_?._", operand, literal)

    def _field_name(self) -> str:
        if self._token.kind == lexer.ESCAPED:
            return self._next().text[1:-1]
        if self._token.kind != lexer.IDENTIFIER:
            raise self._unexpected(*_NAMES)
        return self._next().text

    def _index(self, operand: ast.Expr) -> ast.Expr:
        height = self._height
        bracket = self._next()
        self._begin("?", *_OPERANDS)
        function = "_[?_]" if self._accept("?") else "_[_]"
        index = self._expression()
        self._expect("]")
        self._height = max(height, self._height)
        return self._operation(bracket, function, operand, index)

    def _primary(self) -> ast.Expr:
        self._height = 0
        kind = self._token.kind
        if kind in _LITERALS or (kind == "-" and self._behind() in _SIGNED):
            start = self._token
            sign = "-" if self._accept("-") else ""
            token = self._next()
            try:
                value = _LITERALS[token.kind](sign + token.text)
            except lexer.LiteralError as error:
                return self._complain(str(error), start.offset)
            return ast.Literal(self.ids.take(), start.offset, value)
        if kind in (lexer.IDENTIFIER, "."):
            start = self._token
            dot = "." if self._accept(".") else ""
            if self._token.kind == lexer.IDENTIFIER:
                distance = 1
                while (
                    self._behind(distance) == "." and self._behind(distance + 1) == lexer.IDENTIFIER
                ):
                    distance += 2
                if self._behind(distance) == "{":
                    return self._struct(dot)
            if self._token.kind != lexer.IDENTIFIER:
                raise self._not_viable(start)
            name = self._next()
            before = len(self.issues)
            called = self._token.kind == "("
            call = self._invocation(dot + name.text, None) if called else None
            if name.text in RESERVED:
                # Of what is called by a reserved name, the arguments are not looked at.
                del self.issues[before:]
                return self._complain(f"reserved identifier: {name.text}", start.offset)
            return call or ast.Ident(self.ids.take(), name.offset, dot + name.text)
        if kind == "(":
            self._next()
            nested = self._expression()
            self._expect(")")
            return nested
        if kind == "[":
            return self._list()
        if kind == "{":
            brace = self._token
            entries: list[ast.MapEntry] = []

            def entry() -> None:
                optional = self._accept("?")
                key = self._expression()
                height = self._height
                colon = self._expect(":")
                value = self._expression()
                self._height = max(height, self._height)
                entries.append(ast.MapEntry(self.ids.take(), colon.offset, key, value, optional))

            self._parts("}", entry)
            return ast.MapLiteral(self.ids.take(), brace.offset, tuple(entries))
        raise self._unexpected(*_OPERANDS)

    def _complain(self, message: str, offset: int) -> ast.Expr:
        """Note an issue; the expression that it is about becomes an unknown one."""
        self.issues.append(Issue(message, offset))
        return ast.Call(self.ids.take(), offset, "", None, ())

    def _invocation(self, function: str, target: ast.Expr | None) -> ast.Expr:
        height = self._height
        parenthesis = self._next()
        args: list[ast.Expr] = []
        self._begin(")", *_OPERANDS)
        if self._token.kind != ")":
            args.append(self._expression())
            height = max(height, self._height)
            while self._accept(","):
                args.append(self._expression())
                height = max(height, self._height)
        self._expect(")")
        self._height = height
        expanded = self._expand(function, target, tuple(args), parenthesis.offset)
        if expanded is not None:
            return expanded
        return ast.Call(self.ids.take(), parenthesis.offset, function, target, tuple(args))

    def _expand(
        self, function: str, target: ast.Expr | None, args: tuple[ast.Expr, ...], offset: int
    ) -> ast.Expr | None:
        """Return the expansion of a macro; None for the call of a function."""
        receiver = target is not None
        macro = self._macros.get((function, receiver, len(args))) or self._macros.get(
            (function, receiver, None)
        )
        if macro is None:
            return None
        large = f"expression count exceeds limit of {MAX_NODES} while expanding macro '{function}'"
        if self.ids.following > MAX_NODES + 1:
            return self._complain(large, offset)
        try:
            expanded = macro.expand(Builder(self.ids, offset), target, args)
        except MacroError as error:
            return self._complain(error.issue.message, error.issue.offset or 0)
        if self.ids.following > MAX_NODES + 1:
            return self._complain(large, offset)
        if expanded is not None:
            self.macro_calls[expanded.id] = ast.MacroCall(function, target, args)
        return expanded

    def _parts(
        self, close: str, read: Callable[[], None], first: tuple[str, ...] = _OPERANDS
    ) -> None:
        """Read the parts between the brackets of a literal; a comma may follow the last. first: the
        tokens that a part may begin with, but for `?`."""
        self._next()
        self._begin(close, ",", "?", *first)
        height = 0
        if self._token.kind not in (close, ","):
            read()
            height = self._height
            while self._token.kind == "," and self._behind() not in (close, ","):
                self._next()
                read()
                height = max(height, self._height)
        if not self._accept(",") and self._token.kind != close:
            raise self._unexpected(close, ",")
        self._expect(close)
        self._height = height

    def _list(self) -> ast.Expr:
        bracket = self._token
        elements: list[ast.Expr] = []
        optional: list[int] = []

        def element() -> None:
            if self._accept("?"):
                optional.append(len(elements))
            elements.append(self._expression())

        self._parts("]", element)
        return ast.ListLiteral(
            self.ids.take(), bracket.offset, tuple(elements), frozenset(optional)
        )

    def _struct(self, dot: str) -> ast.Expr:
        name = dot + self._next().text
        while self._accept("."):
            name += f".{self._next().text}"
        brace = self._token
        fields: list[ast.FieldEntry] = []

        def field() -> None:
            optional = self._accept("?")
            named = self._field_name()
            colon = self._expect(":")
            value = self._expression()
            fields.append(ast.FieldEntry(self.ids.take(), colon.offset, named, value, optional))

        self._parts("}", field, _NAMES)
        return ast.StructLiteral(self.ids.take(), brace.offset, name, tuple(fields))

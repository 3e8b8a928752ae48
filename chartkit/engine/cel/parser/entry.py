"""From the text of a CEL expression to its tree, as cel-go reads it."""

from __future__ import annotations

from chartkit.engine.cel.ast import Parsed
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, Issue
from chartkit.engine.cel.parser import lexer
from chartkit.engine.cel.parser.parser import Reader, TooDeepError, UnexpectedTokenError

MAX_SIZE = 100_000
"""The most characters of an expression."""
MAX_ISSUES = 100
"""The most complaints about one expression that are shown."""


def parse(source: str, environment: Environment) -> Parsed:
    """The tree of an expression, with the environment's macros expanded.

    Raises CelCompileError, with cel-go's wording, where the text is not an expression, is too long
    or too deep, or where a macro does not take its arguments.
    """
    if len(source) > MAX_SIZE:
        sizes = f"size: {len(source)}, limit {MAX_SIZE}"
        raise _failure(source, [_placeless(f"expression code point size exceeds limit: {sizes}")])
    tokens, unreadable = lexer.tokenize(source)
    issues = [unreadable] if unreadable else []
    reader = Reader(source, tokens, environment)
    try:
        root = reader.whole()
    except UnexpectedTokenError as error:
        # Behind a character that begins no token nothing is read.
        first = issues[:1] if error.offset == tokens[-1].offset else []
        wrong = Issue(str(error), error.offset) if source else _placeless(str(error), "1:0")
        raise _failure(source, first or [wrong]) from None
    except TooDeepError as error:
        raise _failure(source, [*issues, *reader.issues, _placeless(str(error))]) from None
    except RecursionError:
        raise _failure(source, [_placeless(str(TooDeepError()))]) from None
    issues += reader.issues
    if issues:
        raise _failure(source, issues)
    return Parsed(source, root, reader.macro_calls)


def _placeless(message: str, position: str = "-1:0") -> Issue:
    """An issue without line and column, as cel-go prints one for an empty text."""
    return Issue(f"ERROR: <input>:{position}: {message}")


def _failure(source: str, issues: list[Issue]) -> CelCompileError:
    def place(issue: Issue) -> int:
        return -1 if issue.offset is None else issue.offset

    shown = sorted(issues[:MAX_ISSUES], key=place)
    if len(issues) > MAX_ISSUES:
        shown.append(Issue(f"{len(issues) - MAX_ISSUES} more errors were truncated"))
    return CelCompileError(source, shown)

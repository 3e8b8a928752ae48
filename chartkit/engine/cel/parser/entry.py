"""From the text of a CEL expression to its tree, as cel-go reads it.

Its tokens are read by `parser`. Where they are no expression, `syntax_errors` finds what is wrong
with them; it knows more of the grammar but is slower.
"""

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

    Raises CelCompileError, with cel-go's wording, where the text is no expression, is too long or
    too deep, or where a macro does not take its arguments.
    """
    if len(source) > MAX_SIZE:
        sizes = f"size: {len(source)}, limit {MAX_SIZE}"
        raise _failure(source, [_placeless(f"expression code point size exceeds limit: {sizes}")])
    tokens, issues = lexer.tokenize(source)
    if len(issues) > MAX_ISSUES:
        too_many = Issue(f"Syntax error: More than {MAX_ISSUES} syntax errors")
        raise _failure(source, [*issues[:MAX_ISSUES], too_many])
    reader = Reader(tokens, environment)
    try:
        root = reader.whole()
    except UnexpectedTokenError:
        # Few texts are no expression, and the graph that tells why takes long to be made.
        from chartkit.engine.cel.parser.syntax_errors import complaints

        raise _failure(source, issues + complaints(source, tokens)) from None
    except TooDeepError as error:
        raise _failure(source, [*issues, *reader.issues, _placeless(str(error))]) from None
    except RecursionError:
        raise _failure(source, [_placeless(str(TooDeepError()))]) from None
    issues += reader.issues
    if issues:
        raise _failure(source, issues)
    return Parsed(source, root, reader.macro_calls)


def _placeless(message: str) -> Issue:
    """An issue about no place, as cel-go prints one: before line and column were counted."""
    return Issue(f"ERROR: <input>:-1:0: {message}")


def _failure(source: str, issues: list[Issue]) -> CelCompileError:
    def place(issue: Issue) -> int:
        return -1 if issue.offset is None else issue.offset

    shown = sorted(issues[:MAX_ISSUES], key=place)
    if len(issues) > MAX_ISSUES:
        shown.append(Issue(f"{len(issues) - MAX_ISSUES} more errors were truncated"))
    return CelCompileError(source, shown)

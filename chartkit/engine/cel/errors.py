"""The two ways in which CEL fails: an expression that does not compile, one that has no value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chartkit.errors import CompileError, EvaluationError
from chartkit.model import Diagnostic, Severity

_LONGEST_LINE = 16_384
"""Lines with more bytes than this are not repeated below a complaint."""


class CelError(EvaluationError):
    """An expression has no value: a missing key, an overflow, an argument of another type.

    `&&`, `||` and the macros made of them may absorb it. The message is cel-go's.
    """


class Stopped(CelError):  # noqa: N818 - says what happened, as the message does
    """The evaluation ended where it was: nothing absorbs it.

    cel-go reports its own failures so, with `internal error: ` before them.
    """


class CostLimitExceeded(Stopped):
    """The expression was stopped because it did more work than its environment allows."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One complaint about an expression; offset: in characters from its start, None if there is
    none."""

    message: str
    offset: int | None = None


class CelCompileError(CompileError):
    """An expression does not parse, does not check, or cannot be made into a program.

    `str(error)` is cel-go's text: for each issue `ERROR: <input>:1:3: …`, the line of the source
    and a caret below the place; an issue without a place is its message alone.
    """

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        self.source = source
        self.issues = tuple(issues)
        self.text = "\n".join(describe(source, issue) for issue in self.issues)
        super().__init__([Diagnostic("cel", Severity.ERROR, self.text)])

    def __str__(self) -> str:
        return self.text


def describe(source: str, issue: Issue) -> str:
    """The issue as cel-go prints it, with the line it is about and a caret."""
    if issue.offset is None:
        return issue.message
    # The line (from 1) and column (in characters, from 0) of an offset.
    before = source[: issue.offset]
    line, column = before.count("\n") + 1, issue.offset - (before.rfind("\n") + 1)
    head = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    text = source.split("\n")[line - 1].replace("\t", " ")
    if len(text.encode("utf-8", "surrogatepass")) > _LONGEST_LINE:
        return head
    # A wide character takes a wide dot and a wide caret, so that they stand below it.
    dots = "".join("." if ord(char) < 0x80 else "．" for char in text[:column])
    wide = column < len(text) and ord(text[column]) >= 0x80
    return f"{head}\n | {text}\n | {dots}{'＾' if wide else '^'}"

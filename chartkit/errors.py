"""The errors that chartkit raises on purpose, each with its place and the way out.

Only the boundary in `chartkit.cli` turns them into text and an exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from chartkit.model import Diagnostic, Location


class ChartkitError(Exception):
    """What went wrong (one line), where, and what to do about it."""

    exit_code: ClassVar[int] = 2

    def __init__(
        self, message: str, location: Location | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{hint}"


class InputError(ChartkitError):
    """A file, option or value that the user gave cannot be used."""


class CompileError(ChartkitError):
    """A policy that cannot be compiled; carries every diagnostic that was found in it."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        first = diagnostics[0]
        super().__init__(first.message, first.location, first.hint)
        self.diagnostics = tuple(diagnostics)


class RenderError(ChartkitError):
    """Helm could not render a chart with the values it was given."""


class LookupFailed(ChartkitError):  # noqa: N818 - the design's own name
    """Something a policy asks the cluster, a registry or a service for is not to be had."""


class NoSource(LookupFailed):
    """Nothing is connected that could answer."""


class EvaluationError(ChartkitError):
    """A rule could not be decided for one resource; becomes `Status.ERROR` for that result."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM: like Ctrl-C, it ends what is being done, and what is temporary is removed."""

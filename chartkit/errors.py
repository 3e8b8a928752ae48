"""The errors that chartkit raises on purpose, each with its location and a hint.

The boundary in `chartkit.cli` turns them into text and an exit code, `contained` into answers of
servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn, TypeVar

from chartkit.model import Diagnostic, Location

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
DEBUG: Final = "CHARTKIT_DEBUG"
"""The environment variable that shows the traceback of a bug."""


def extra(name: str) -> str:
    """Return the command that installs the packages of an extra, as a hint."""
    return f"pip install '.[{name}]' where chartkit's source is, or 'WHEEL[{name}]'"


class ChartkitError(Exception):
    """An error with a one-line message, its location, and a hint."""

    exit_code: ClassVar[int] = 2

    def __init__(
        self, message: str, location: Location | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        prefix = f"{self.location}: " if self.location else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{prefix}{self.message}{hint}"


class InputError(ChartkitError):
    """A file, option or value of the user's that cannot be used."""


class CompileError(ChartkitError):
    """A policy that cannot be compiled; carries all its diagnostics."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        first = diagnostics[0]
        super().__init__(first.message, first.location, first.hint)
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self) -> tuple[type[CompileError], tuple[tuple[Diagnostic, ...]]]:
        """Be the same error in another process."""
        return type(self), (self.diagnostics,)


class RenderError(ChartkitError):
    """Helm could not render a chart with the values it was given."""


class HelmMissingError(ChartkitError):
    """Neither Helm's library nor a program is there: the fault of no chart."""


class MissingChartError(RenderError):
    """A chart depends on charts that are not in its `charts/`."""


class LookupFailed(ChartkitError):  # noqa: N818 - the design's own name
    """An answer of the cluster, a registry or a service that a policy needs and cannot get."""


class NoSource(LookupFailed):
    """No source of answers is connected."""


class EvaluationError(ChartkitError):
    """A rule that cannot be evaluated for a resource; its result becomes `Status.ERROR`."""


class ExecutorError(ChartkitError):
    """Other machines that cannot do what they are given."""


class BugError(ChartkitError):
    """An error that chartkit does not raise on purpose, with the input that shows it."""

    exit_code = 3


class Bugs:
    """A block in which any error but chartkit's own and the system's is raised as a BugError.

    It keeps the input's location where an error itself would lose it, such as between processes.
    """

    __slots__ = ("_place",)

    def __init__(self, location: Location | None = None) -> None:
        self._place = location

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, ChartkitError | OSError):
            raise BugError(bug_message(error), self._place) from error


def bug_message(error: Exception) -> str:
    """Return the message about an error that chartkit does not raise on purpose."""
    import traceback  # Only a bug needs it.

    what = " ".join(f"{type(error).__name__}: {error}".split())
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].name}, line {frames[-1].lineno}" if frames else "nowhere"
    return f"a bug, not your mistake: {what} (in {where}; {DEBUG}=1 shows more)"


def contained(work: Callable[[], T], failed: Callable[[Exception, str], T]) -> T:
    """Return the result of work, or of `failed` for the error that ended it and its message: the
    boundary of a server, which goes on after any error."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the boundary
        is_meant = isinstance(error, ChartkitError)
        return failed(error, str(error) if is_meant else bug_message(error))


class Reraise:
    """A block whose errors of some types are raised as another type, with a prefix."""

    __slots__ = ("_caught", "_prefix", "_raised")

    def __init__(
        self,
        prefix: str,
        caught: type[Exception] | tuple[type[Exception], ...] = ChartkitError,
        raised: type[ChartkitError] = EvaluationError,
    ) -> None:
        """prefix: with what parts it from the error's own message."""
        self._prefix = prefix
        self._caught = caught
        self._raised = raised

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, self._caught):
            text = error.message if isinstance(error, ChartkitError) else error
            raise self._raised(f"{self._prefix}{text}") from error


def raising(error: type[ChartkitError], message: str) -> Callable[..., NoReturn]:
    """Return a function that raises an error, whatever it is called with."""

    def fail(*_: object) -> NoReturn:
        raise error(message)

    return fail


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, which ends the command like Ctrl-C and removes temporary files."""


@contextmanager
def system_errors(what: str, path: Path | str) -> Iterator[None]:
    """Raise InputError with the system's reason if an operation on a path fails; what: the message
    before the reason, such as `cannot be read`."""
    try:
        yield
    except OSError as error:
        message = f"{what}: {error.strerror or error}"
        raise InputError(message, Location(str(path))) from None

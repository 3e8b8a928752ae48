"""The only place where errors become text and exit codes."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import click

from chartkit.errors import DEBUG, BugError, ChartkitError, TerminatedError, bug_message
from chartkit.safe_text import shown

BUG = 3
USAGE = 2
INTERRUPTED = 130
TERMINATED = 143
"""128 and the number of SIGTERM, as shells count."""
_TRIAL = "--dry-run"
_CARRIES_OUT = frozenset({"--yes", "--write"})
"""Options without which a command changes nothing, or asks first."""
_SYSTEM_SAYS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.EMFILE, errno.ENFILE}
    | {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
    | {errno.EACCES, errno.EPERM}
)
"""Errors outside the program's control: a full or broken disk, too many open files, a path that the
system refuses or the user may not access."""


def end_at_sigterm() -> None:
    """Have SIGTERM raise TerminatedError, once, unless the caller of the process ignores it."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise TerminatedError


def run(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code: 0 all good, 1 violations or failed checks, 2 usage or
    input, 3 a bug in chartkit."""
    try:
        command()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except click.ClickException as error:
        click.echo(shown(_usage(error)), err=True)
        return USAGE
    except ChartkitError as error:
        _trace(error, isinstance(error, BugError))
        diagnostics = getattr(error, "diagnostics", ())
        lines = [str(row) for row in diagnostics] or [shown(" ".join(str(error).split()))]
        for line in lines:
            click.echo(line, err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        code = exit_code(error.__cause__ or error)
        click.echo("terminated" if code == TERMINATED else "interrupted", err=True)
        return code
    except BrokenPipeError:
        # Whoever read standard output has gone: what is left must not be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the boundary: anything else is a bug
        # Python's own RuntimeError about a link to itself stands for the system's error.
        said = error.__context__ if isinstance(error, RuntimeError) else error
        said = said if isinstance(said, OSError) and said.errno in _SYSTEM_SAYS else None
        if said is None:
            _trace(error, is_bug=True)
            click.echo(f"chartkit: {bug_message(error)}", err=True)
            return BUG
        file = shown(str(said.filename)) if said.filename else "the output"
        click.echo(f"{file}: {said.strerror}", err=True)
        return USAGE
    return 0


def exit_code(error: BaseException) -> int:
    """Return the exit code after Ctrl-C or SIGTERM."""
    return TERMINATED if isinstance(error, TerminatedError) else INTERRUPTED


def _usage(error: click.ClickException) -> str:
    """Return a usage error in one line, with the command that shows help."""
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return f"chartkit: {message}"
    if isinstance(error, click.NoSuchOption) and error.option_name == _TRIAL:
        for option in context.command.params:
            if isinstance(option, click.Option) and not _CARRIES_OUT.isdisjoint(option.opts):
                message += f" {option.opts[0]}: {option.help}"
    return f"{context.command_path}: {message} (`{context.command_path} --help` shows the usage)"


def _trace(error: Exception, is_bug: bool) -> None:
    if is_bug and os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)

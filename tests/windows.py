"""Runs chartkit as if on Windows: its modules find neither the modules nor the names of POSIX.

python -m tests.windows imports all modules; with arguments it runs the command `chartkit`. The
modules of Python and of other packages are loaded before, and keep what they need of this system.
"""

import os
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Final

_MISSING: Final = ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty")
_OS: Final = frozenset(
    (
        *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "P_PID", "WEXITED"),
        *("WNOHANG", "WNOWAIT", "chown", "fchmod", "fchown", "fork", "getegid", "geteuid"),
        *("getgid", "getgroups", "getpgid", "getuid", "killpg", "memfd_create", "mkfifo", "nice"),
        *("posix_spawn", "pread", "pwrite", "register_at_fork", "sched_getaffinity", "setpgid"),
        *("setsid", "statvfs", "sysconf", "uname", "wait", "wait3", "wait4", "waitid"),
    )
)
_SIGNAL: Final = frozenset(
    (
        *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGUSR1"),
        *("SIG_BLOCK", "SIG_UNBLOCK", "alarm", "pthread_sigmask", "setitimer", "sigwait"),
    )
)


def _without(module: ModuleType, names: frozenset[str], **changed: object) -> ModuleType:
    found = ModuleType(module.__name__, module.__doc__)
    kept = {name: value for name, value in vars(module).items() if name not in names}
    vars(found).update(kept | changed)
    return found


def modules() -> Iterator[str]:
    """Yield the names of all modules of chartkit."""
    import chartkit

    for each in walk_packages(chartkit.__path__, "chartkit."):
        if not each.name.endswith("__main__"):
            yield each.name


def _link(source: str, target: str, *, follow_symlinks: bool = True) -> None:
    """Link a file as Windows does, which has no choice about links."""
    if not follow_symlinks:
        raise NotImplementedError("link: follow_symlinks unavailable on this platform")
    os.link(source, target)


def _locking(_handle: int, _mode: int, _count: int) -> None:
    """Lock nothing: nobody else is there."""


def main() -> None:
    """Import everything twice, the second time as on Windows; run the command line."""
    names = [*modules()]
    for name in names:
        import_module(name)
    for name in [*sys.modules]:
        if name.partition(".")[0] == "chartkit":
            del sys.modules[name]
    sys.modules.update(dict.fromkeys(_MISSING))  # type: ignore[arg-type]
    sys.modules["os"] = _without(os, _OS, name="nt", link=_link, supports_follow_symlinks=set())
    sys.modules["signal"] = _without(signal, _SIGNAL)
    sys.modules["sys"] = _without(sys, frozenset(("getdlopenflags",)), platform="win32")
    locks = ModuleType("msvcrt")
    vars(locks).update(locking=_locking, LK_LOCK=1, LK_NBLCK=2, LK_UNLCK=0)
    sys.modules["msvcrt"] = locks
    for name in names:
        import_module(name)
    if sys.argv[1:]:
        import_module("chartkit.cli.main").main(sys.argv[1:])


if __name__ == "__main__":
    main()

"""Takes rights away from the process that calls it (memory, files, the network), and executes a
program without them.

Python's standard library has no call for Landlock and seccomp: their system calls are made by
ctypes. Whatever the system does not have is left out; docs/security.md names what is left then.
A repository may have hundreds of builds, each of which starts here: `typing`, `enum` and `json`
would take as long to import as all the rest.
Call `confine` before any thread is started.

Sources: Linux, `include/uapi/linux/{landlock,seccomp,prctl,filter,audit}.h`.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Final


class Exit:
    """The exit code of a child that stopped itself; Go uses 2, shells 126 and above."""

    CPU: Final = 101
    MEMORY: Final = 102
    NOT_STARTED: Final = 103


_SET_NO_NEW_PRIVILEGES: Final = 38
_SET_SECCOMP: Final = 22
_SET_PARENT_DEATH_SIGNAL: Final = 1
_SECCOMP_FILTER: Final = 2
_SIGKILL: Final = 9

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_PATH_BENEATH: Final = 1
_EXECUTE: Final = 1 << 0
_READ_FILE: Final = 1 << 2
_READ_FOLDER: Final = 1 << 3
_OF_FILES: Final = 0b1100000000000111
"""Execute, write, read, truncate and ioctl: the rights that a rule for a file may name."""
_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 5: 16}
"""The number of rights over files by the version of Landlock that brought the last of them."""
_TCP: Final = 0b11
_SCOPES: Final = 0b11
_TCP_VERSION: Final = 4
_SCOPE_VERSION: Final = 6

_ALLOWED: Final = 0x7FFF0000
_REFUSED: Final = 0x00050000 | 13
"""The call fails with EACCES."""
_IO_URING_SETUP: Final = 425
_SOCKET: Final = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""The architecture as seccomp names it, and the number of `socket` there."""


def confine(
    memory: int,
    output: int,
    readable: Iterable[str] | None,
    writable: Sequence[str] = (),
    cpu_seconds: int | None = None,
) -> None:
    """Limits this process and what it executes.

    memory: bytes of private memory; output: the largest file that it may write; readable: files and
    folders that it may read and execute, None for all; writable: folders in which it may do
    anything; cpu_seconds: of processor time, None where someone else counts.
    """
    _limit("RLIMIT_CORE", 0)
    _limit("RLIMIT_FSIZE", output)
    # Go reserves far more addresses than it uses: the data segment is what it really asks for.
    _limit("RLIMIT_DATA", memory)
    if cpu_seconds is not None:
        _limit("RLIMIT_CPU", cpu_seconds)
    if sys.platform != "linux":
        return
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0:
        if readable is not None:
            _restrict_files(system, readable, writable)
        # seccomp: no socket of any family, and no io_uring, which could open one.
        numbers = _SOCKET.get(os.uname().machine)
        if numbers is not None and struct.calcsize("P") == 8:
            architecture, socket = numbers
            steps = [
                (0x20, 0, 0, 4),  # load the architecture
                (0x15, 0, 4, architecture),  # another one: refuse
                (0x20, 0, 0, 0),  # load the number of the call
                (0x15, 2, 0, socket),
                (0x15, 1, 0, _IO_URING_SETUP),
                (0x06, 0, 0, _ALLOWED),
                (0x06, 0, 0, _REFUSED),
            ]
            code = b"".join(struct.pack("=HBBI", *step) for step in steps)
            held = ctypes.create_string_buffer(code, len(code))
            program = struct.pack("@HP", len(steps), ctypes.addressof(held))
            system.prctl(_SET_SECCOMP, _SECCOMP_FILTER, program, 0, 0)


def die_with_parent(parent: int) -> None:
    """Has the system kill this process once the thread that started it ends; parent: its process,
    which may be gone by now."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _limit(name: str, value: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    which = getattr(resource, name)
    _, hardest = resource.getrlimit(which)
    if hardest != resource.RLIM_INFINITY:
        value = min(value, hardest)
    try:
        resource.setrlimit(which, (value, value))
    except (OSError, ValueError):
        # macOS does not take every limit; the worker watches its memory itself.
        return


def _restrict_files(system: ctypes.CDLL, readable: Iterable[str], writable: Sequence[str]) -> None:
    """Landlock: everything else on the file system is out of reach, and TCP as well."""
    version = system.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return
    everything = (1 << max(count for since, count in _RIGHTS.items() if since <= version)) - 1
    tcp = _TCP if version >= _TCP_VERSION else 0
    scopes = _SCOPES if version >= _SCOPE_VERSION else 0
    fields = [everything, tcp, scopes][: 3 if scopes else 2 if tcp else 1]
    asked = struct.pack(f"={len(fields)}Q", *fields)
    rules = system.syscall(_CREATE_RULESET, asked, ctypes.c_size_t(len(asked)), ctypes.c_uint32(0))
    if rules < 0:
        return
    try:
        for path in readable:
            _allow(system, rules, path, _EXECUTE | _READ_FILE | _READ_FOLDER)
        for path in writable:
            _allow(system, rules, path, everything)
        system.syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    finally:
        os.close(rules)


def _allow(system: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        granted = rights if os.path.isdir(path) else rights & _OF_FILES
        rule = struct.pack("=Qi", granted, opened)
        system.syscall(
            _ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)
        )
    finally:
        os.close(opened)


def packed(settings: Mapping[str, Any]) -> str:
    """Return settings as an argument for `main`, started by the same Python."""
    return marshal.dumps(dict(settings)).hex()


def main(settings: str, program: str, arguments: list[str]) -> None:
    """Executes a program; ends with NOT_STARTED and the system's reason where that fails. settings:
    what `confine` takes, and the parent's process id, as `packed` writes them."""
    given = marshal.loads(bytes.fromhex(settings))
    die_with_parent(given.pop("parent"))
    confine(**given)
    try:
        os.execv(program, [program, *arguments])
    except OSError as error:
        sys.stderr.write(error.strerror or str(error))
        sys.stderr.flush()
        os._exit(Exit.NOT_STARTED)

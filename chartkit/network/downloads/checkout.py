"""Takes a revision out of a git checkout without running anything that the checkout brings.

A repository's configuration and attributes can name programs: hooks, filters, a monitor of the
file system. Only commands are used that look at stored objects, and those programs are turned off.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.lockfile import (
    PLAIN,
    FileCollector,
    Limits,
    checked_name,
    is_left_out,
)

_GIT: Final = "git"
_HEAD: Final = "HEAD"
_QUIET: Final = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "protocol.allow=never",
    "-c",
    "safe.bareRepository=explicit",
)
_FILES: Final = ("100644", "100755")
_LINK: Final = "120000"
_SECONDS: Final = 120.0
_BLOCK: Final = 512
"""Bytes of a block, in which the shell's limit of files counts."""
_SHA256: Final = 64
_HEADER: Final = 3
_FETCHING: Final = (
    *("-c", "protocol.ssh.allow=always", "-c", "fetch.fsckObjects=true", "-c", "pack.threads=1"),
    *("-c", "core.bigFileThreshold=32m", "-c", "fetch.unpackLimit=1", "-c", "credential.helper="),
)
_INDEXING: Final = (
    *("-c", "core.bigFileThreshold=32m", "-c", "pack.threads=1"),
    *("index-pack", "--stdin", "--fsck-objects"),
)
_MEMORY: Final = 2_000_000
"""KiB of memory for the objects of a pack, whose sizes only unpacking shows."""


def is_checkout(path: Path) -> bool:
    """Report whether a folder is a git checkout."""
    return (path / ".git").exists()


def read_checkout(
    path: Path, ref: str, limits: Limits, only: Sequence[str] = ()
) -> tuple[str, dict[str, bytes]]:
    """Return the commit that a ref names (empty: what is checked out), and its files by path. only:
    the files and folders that are wanted, all where it names none. What is changed and not
    committed is not taken. Raises InputError."""
    hint = "install git, or give the folder without .git"
    _require_git("a checkout", Location(str(path)), hint)
    commit = _commit(path, ref)
    collected = FileCollector(str(path), limits)
    wanted: list[tuple[str, str, int]] = []
    done = _run(path, ["ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", *only])
    _require(done, path)
    for row in done.stdout.split(b"\0")[:-1]:
        about, _, raw = row.partition(b"\t")
        mode, kind, blob, size = about.decode("ascii").split()
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            what = f"the name {raw!r} is not UTF-8 text"
            raise InputError(what, Location(str(path))) from None
        if mode == _LINK:
            what = f"'{checked_name(name, str(path))}' is a link"
            raise InputError(what, Location(str(path)), PLAIN)
        # What is not a blob is another repository's commit: a submodule, of which nothing is here.
        if kind == "blob" and mode in _FILES and not is_left_out(name):
            wanted.append((checked_name(name, str(path)), blob, int(size)))
            collected.announce(len(wanted), int(size))
    if sum(length for _, _, length in wanted) > limits.total:
        text = f"is larger than {limits.total:,} bytes"
        raise InputError(text, Location(str(path)))
    contents = blobs_of(path, [blob for _, blob, _ in wanted])
    for (name, _, _), content in zip(wanted, contents, strict=True):
        collected.add(name, content)
    return commit, collected.finish()


def store_pack(folder: Path, pack: bytes, algorithm: str, location: Location) -> None:
    """Make an empty folder a checkout with the objects of a pack, which are checked by their
    digests; algorithm: of these; location: where it came from. Raise InputError."""
    _require_git("a repository", location, "install git, or give the URL of an archive")
    made = _run(folder, ["init", "-q", "--template=", f"--object-format={algorithm}"])
    done = made if made.returncode else _run(folder, _INDEXING, pack, most_memory=_MEMORY)
    if done.returncode:
        raise InputError("the server's answer is damaged, or too much", location)


def fetch_into(
    folder: Path, remote: str, ref: str, ssh: str, limits: Limits, location: Location
) -> None:
    """Make an empty folder a checkout with what a ref of a repository names (empty: its HEAD), as
    FETCH_HEAD; ssh: the command by which it is reached. Raise InputError."""
    _require_git("a repository", location)
    algorithm = "sha256" if len(ref) == _SHA256 and ref.isalnum() else "sha1"
    _run(folder, ["init", "-q", "--template=", f"--object-format={algorithm}"])
    options = ("-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance")
    done = _run(
        folder,
        [*_FETCHING, "fetch", *options, "--end-of-options", remote, ref or _HEAD],
        most_memory=_MEMORY,
        most_written=limits.archive,
        settings={"GIT_SSH_COMMAND": ssh, "GIT_SSH_VARIANT": "ssh"},
    )
    if done.returncode:
        text = _error(done, "the server's answer is too much").removeprefix("fatal: ")
        hint = "ssh must know the host's key and use yours without asking: try ssh -T with the host"
        raise InputError(f"git cannot fetch it: {text}", location, hint)


def tree_of(path: Path, ref: str) -> dict[str, str]:
    """Return the IDs of the files that a revision of a checkout has, by path; links and submodules
    are left out. Raise InputError for what is not a revision."""
    _require_git("a checkout", Location(str(path)))
    commit = _commit(path, ref)
    done = _run(path, ["ls-tree", "-r", "-z", "--full-tree", commit])
    _require(done, path)
    tree: dict[str, str] = {}
    for row in done.stdout.split(b"\0")[:-1]:
        about, _, name = row.partition(b"\t")
        mode, _, blob = about.decode("ascii").split()
        if mode in _FILES:
            tree[os.fsdecode(name)] = blob
    return tree


def blob_id(content: bytes, like: str) -> str:
    """Return the ID of a content in git; like: another ID, for its kind of digest."""
    digest = hashlib.sha256 if len(like) == _SHA256 else hashlib.sha1
    return digest(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def blobs_of(path: Path, blobs: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of files by their IDs; raise InputError."""
    done = _run(path, ["cat-file", "--batch"], "".join(f"{blob}\n" for blob in blobs).encode())
    _require(done, path)
    at = 0
    for blob in blobs:
        end = done.stdout.find(b"\n", at)
        header = done.stdout[at:end].decode("ascii", "replace").split()
        if len(header) != _HEADER or header[0] != blob:
            hint = "fetch it whole, and try again"
            raise InputError("the checkout lacks objects", Location(str(path)), hint)
        at = end + 1 + int(header[2])
        yield done.stdout[end + 1 : at]
        at += 1


def _commit(path: Path, ref: str) -> str:
    named = f"{ref or _HEAD}^{{commit}}"
    done = _run(path, ["rev-parse", "--verify", "--quiet", "--end-of-options", named])
    if done.returncode == 0:
        return done.stdout.decode("ascii").strip()
    why = _error(done, f"there is no commit '{ref or _HEAD}' in it").removeprefix("fatal: ")
    raise InputError(why, Location(str(path)), "give a branch, a tag or a commit")


def _run(
    path: Path,
    arguments: Sequence[str],
    given: bytes = b"",
    most_memory: int = 0,
    most_written: int = 0,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.CompletedProcess[bytes]:
    """Run git. most_memory: KiB; most_written: bytes of a file; 0 for no limit."""
    bounds = f"ulimit -v {most_memory}" if most_memory else ""
    bounds += f" && ulimit -f {most_written // _BLOCK}" if most_written else ""
    is_bounded = bounds and os.name == "posix"
    limit = ("/bin/sh", "-c", f'{bounds} && exec "$@"', "sh") if is_bounded else ()
    # The process's environment without variables that lead git elsewhere.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_")
    } | {
        "GIT_CEILING_DIRECTORIES": str(path.resolve().parent),
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }
    try:
        return subprocess.run(
            [*limit, _GIT, "-C", str(path.resolve()), *_QUIET, *arguments],
            input=given,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            env={**environment, **settings},
        )
    except subprocess.TimeoutExpired:
        text = f"git did not finish within {_SECONDS:g} seconds"
        raise InputError(text, Location(str(path))) from None


def _require(done: subprocess.CompletedProcess[bytes], path: Path) -> None:
    if done.returncode:
        raise InputError(_error(done, "git cannot read it"), Location(str(path)))


def _error(done: subprocess.CompletedProcess[bytes], otherwise: str) -> str:
    """Return the first line of git's own error; otherwise: the text where it has none."""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[0] if said else otherwise


def _require_git(what: str, location: Location, hint: str = "install git") -> None:
    if shutil.which(_GIT) is None:
        raise InputError(f"git is needed to read {what}", location, hint)

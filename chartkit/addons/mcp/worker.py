"""The child process that answers calls, one after the other, with commands of chartkit.

Standard input: a line of JSON for each call. Standard output: a line of JSON for each answer. From
the first call on the process has the rights of a sandbox: it reads the roots and the program,
writes temporary files, and opens no connection. Its parent ends it where a call takes too long.
"""

from __future__ import annotations

import gc
import io
import json
import os
import re
import select
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from chartkit.addons.mcp.bounded import (
    bounded,
    bounded_text,
    text_of,
    without_passes,
    without_passing_checks,
)
from chartkit.addons.mcp.roots import placed
from chartkit.addons.mcp.tools import NOTES, QUERIED, Tool, tools
from chartkit.bundled import profiles_dir
from chartkit.cli import boundary, terminal
from chartkit.cli.main import COLLECTED_AFTER, cli
from chartkit.errors import InputError
from chartkit.helm.sandbox.confine import confine, die_with_parent
from chartkit.helm.sandbox.limits import DEFAULT, size
from chartkit.helm.sandbox.process import FileAccess
from chartkit.model import Json

_LARGEST_FILE: Final = 256 << 20
_REMARKS: Final = 4_000
"""The most characters of what a command says on standard error."""
_OPTION: Final = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_POD: Final = b"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a}]}}"
_FIRST: Final = (
    "scan - -o json",
    "why - -o json -p pss-restricted",
    "scan - --fix --diff",
    "policies search probes -o json",
    "policies lint pss-baseline -o json",
)
"""Commands that are run before any call, for what they import to be there."""


def main(parent: str, folder: str) -> None:
    """Answer calls until standard input ends; folder: for temporary files."""
    calls = sys.stdin.buffer
    # What anything prints goes to standard error: standard output is for answers alone.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    die_with_parent(int(parent))
    gc.set_threshold(*COLLECTED_AFTER)
    for command in _FIRST:
        _run(partial(_command, command.split()), _POD)
        if sys.platform != "win32" and select.select([calls], [], [], 0)[0]:
            break
    gc.freeze()
    is_confined = False
    while line := calls.readline():
        call = json.loads(line)
        if not is_confined:
            _confine(call["roots"], folder)
            is_confined = True
        os.chdir(next(iter(call["roots"]), folder))
        answers.write(json.dumps(_answer(call)).encode() + b"\n")
        answers.flush()


def _confine(roots: Sequence[str], folder: str) -> None:
    program = [sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)]
    used = filter(None, map(shutil.which, ("helm", "kustomize", "kubectl", "git")))
    own = (*program, str(profiles_dir()), *map(os.path.realpath, used), *roots)
    readable = FileAccess(own, folder).allowed()
    confine(DEFAULT.memory, _LARGEST_FILE, readable, writable=[folder, os.devnull])


def _answer(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a call: its text, the JSON document if there is one, whether it is an
    error, and whether the process is broken."""
    tool, given, notes = tools()[call["tool"]], call["arguments"], list[str]()
    with TemporaryDirectory() as folder:

        def command() -> None:
            values = placed(tool, tool.values(given), call["roots"], Path(folder))
            _command(tool.arguments(values))

        code, out, err, is_broken = _run(command, b"")
    # Texts have the names of parameters; on Windows a path in JSON has other separators.
    for prefix in (f"{folder}{os.sep}", json.dumps(f"{folder}{os.sep}")[1:-1]):
        out, err = out.replace(prefix, ""), err.replace(prefix, "")
    said = bounded_text(_OPTION.sub(lambda found: _named(tool, found[0]), err), _REMARKS, notes)
    notes = [*said.splitlines(), *notes]
    answer: dict[str, Any] = {"broken": is_broken, "document": None, "is_error": False}
    if tool.output and out:
        answer["document"] = document = _document(tool, given, json.loads(out), call["room"], notes)
        return answer | {"text": text_of(document)}
    text = bounded_text(out, call["room"], notes).rstrip("\n")
    is_error = bool(tool.output) or code in (boundary.USAGE, boundary.BUG)
    return answer | {"text": "\n".join(filter(None, (text, *notes))), "is_error": is_error}


def _document(
    tool: Tool, given: Mapping[str, Json], document: Json, room: int, notes: list[str]
) -> Json:
    """Return the JSON of an answer as agents get it."""
    if query := given.get("query"):
        document = {QUERIED: bounded(document, room, f"({query})", notes)}
    else:
        if not given.get("detailed") and not given.get("policy") and tool.output in _BRIEF:
            _BRIEF[tool.output](document, notes)
        document = bounded(document, room, "", notes)
    return {**document, NOTES: notes} if notes else document


_BRIEF: Final = {"scan": without_passes, "why": without_passing_checks}


def _named(tool: Tool, option: str) -> str:
    """Return an option as the tool names it."""
    names = (name for name, each in tool.parameters.items() if option in each.opts)
    return next((f"`{name}`" for name in names), option)


def _command(arguments: Sequence[str]) -> None:
    cli.main(list(arguments), prog_name="chartkit", standalone_mode=False)


def _run(command: Callable[[], None], stdin: bytes) -> tuple[int, str, str, bool]:
    """Run a command; return its exit code, what it prints, what it says on standard error, and
    whether memory ran out."""
    is_broken = False

    def bounded_command() -> None:
        nonlocal is_broken
        try:
            command()
        except Exception as error:
            is_broken = any(isinstance(cause, MemoryError) for cause in _causes(error))
            if not is_broken:
                raise
            message = f"it needs more than {size(DEFAULT.memory)} of memory"
            raise InputError(message, hint="name fewer or smaller files") from None

    before = sys.stdin, sys.stdout, sys.stderr
    buffers = [io.BytesIO(content) for content in (stdin, b"", b"")]
    # Each closes its buffer when nothing refers to it.
    streams = [io.TextIOWrapper(each, encoding="utf-8", write_through=True) for each in buffers]
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        with terminal.guarded():
            code = boundary.run(bounded_command)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    out, err = (buffer.getvalue().decode("utf-8", "replace") for buffer in buffers[1:])
    return code, out, err, is_broken


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__

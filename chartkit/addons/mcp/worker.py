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
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from chartkit.addons.mcp.bounded import bounded, text_of, without_passes
from chartkit.addons.mcp.roots import placed
from chartkit.addons.mcp.tools import declared, tools
from chartkit.bundled import profiles_dir
from chartkit.cli import boundary, terminal
from chartkit.cli.main import COLLECTED_AFTER, cli
from chartkit.helm.sandbox.confine import Exit, confine, die_with_parent
from chartkit.helm.sandbox.process import DEFAULT, FileAccess

_LARGEST_FILE: Final = 256 << 20
_ROOM: Final = 30_000
"""The most characters of an answer, which are about 10,000 tokens."""
_REMARKS: Final = 4_000
"""The most characters of what a command says on standard error."""
_CUTS: Final = 20
"""The most notes of what was left out."""
_OPTION: Final = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_POD: Final = b"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a}]}}"


def main(parent: str, folder: str) -> None:
    """Answer calls until standard input ends; folder: for temporary files."""
    calls = sys.stdin.buffer
    # What anything prints goes to standard error: standard output is for answers alone.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if sys.platform != "win32":
        die_with_parent(int(parent))
    gc.set_threshold(*COLLECTED_AFTER)
    for command in declared()["first"]:
        _run(command.split, _POD)
        if sys.platform != "win32" and select.select([calls], [], [], 0)[0]:
            break
    gc.freeze()
    is_confined = False
    try:
        while line := calls.readline():
            call = json.loads(line)
            if not is_confined:
                roots = call["roots"]
                program = (sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path))
                used = filter(None, map(shutil.which, ("helm", "kustomize", "kubectl", "git")))
                own = (*program, str(profiles_dir()), *map(os.path.realpath, used), *roots)
                readable = FileAccess(own, folder).allowed()
                confine(DEFAULT.memory, _LARGEST_FILE, readable, writable=[folder, os.devnull])
                is_confined = True
            answers.write(json.dumps(_answer(call)).encode() + b"\n")
            answers.flush()
    except MemoryError:
        os._exit(Exit.MEMORY)


def _answer(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a call: its text, the JSON document if there is one, and whether it is
    an error."""
    tool, given, roots, notes = tools()[call["tool"]], call["arguments"], call["roots"], list[str]()
    with TemporaryDirectory() as folder:

        def arguments() -> list[str]:
            os.chdir(next(iter(roots), folder))
            return tool.arguments(placed(tool, tool.values(given), roots, Path(folder)))

        code, out, err = _run(arguments, b"")
        os.chdir(os.sep)
    # Texts have the names of parameters; on Windows a path in JSON has other separators.
    for prefix in (f"{folder}{os.sep}", json.dumps(f"{folder}{os.sep}")[1:-1]):
        out, err = out.replace(prefix, ""), err.replace(prefix, "")
    names = {option: f"`{name}`" for name, each in tool.parameters.items() for option in each.opts}
    err = _OPTION.sub(lambda found: names.get(found[0], found[0]), err)
    said = bounded(err, _REMARKS, "remarks", notes, {}).splitlines()
    if tool.output and out:
        document, query = json.loads(out), given.get("query")
        filters: Mapping[str, str] = {}
        if not (query or given.get("detailed") or given.get("policy")):
            filters = without_passes(tool.output, document, notes)
        document = bounded(document, _ROOM, f"({query})" if query else "", notes, filters)
        document = {"queried": document} if query else document
        if said or notes:
            document["notes"] = [*said, *notes[:_CUTS]]
        return {"text": text_of(document), "document": document, "is_error": False}
    text = bounded(out, _ROOM, "answer", notes, {}).rstrip("\n")
    is_error = bool(tool.output) or code in (boundary.USAGE, boundary.BUG)
    text = "\n".join(filter(None, (text, *said, *notes)))
    return {"text": text, "document": None, "is_error": is_error}


def _run(arguments: Callable[[], list[str]], stdin: bytes) -> tuple[int, str, str]:
    """Run a command line; return its exit code, what it prints, and what it says on standard
    error."""

    def command() -> None:
        try:
            cli.main(arguments(), prog_name="chartkit", standalone_mode=False)
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None:
                if isinstance(cause, MemoryError):
                    os._exit(Exit.MEMORY)
                cause = cause.__cause__ or cause.__context__
            raise

    before = sys.stdin, sys.stdout, sys.stderr
    buffers = [io.BytesIO(content) for content in (stdin, b"", b"")]
    # Each closes its buffer when nothing refers to it.
    streams = [io.TextIOWrapper(each, encoding="utf-8", write_through=True) for each in buffers]
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        with terminal.guarded():
            code = boundary.run(command)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    out, err = (buffer.getvalue().decode("utf-8", "replace") for buffer in buffers[1:])
    return code, out, err

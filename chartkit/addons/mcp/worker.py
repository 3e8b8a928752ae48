"""The child process that answers calls, one after the other, with commands of chartkit.

Standard input: a line of JSON for each call. Standard output: a line of JSON for each answer, whose
size is bounded. From the first call on the process has the rights of a sandbox: it reads the roots
and the program, writes temporary files, and opens no connection. Its parent ends it where a call
takes too long.
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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import jmespath

from chartkit.addons.mcp.tools import Tool, declared, tools
from chartkit.bundled import profiles_dir
from chartkit.cli import boundary, terminal
from chartkit.cli.main import COLLECTED_AFTER, cli
from chartkit.errors import InputError
from chartkit.helm.sandbox.confine import Exit, confine, die_with_parent
from chartkit.helm.sandbox.process import DEFAULT, FileAccess
from chartkit.model import Json
from chartkit.safe_text import shown
from chartkit.scan.inputs import is_remote
from chartkit.wording import shortened

_LARGEST_FILE: Final = 256 << 20
_ROOM: Final = 30_000
"""The most characters of an answer, which are about 10,000 tokens."""
_REMARKS: Final = 4_000
"""The most characters of what a command says on standard error."""
_CUTS: Final = 20
"""The most notes of what was left out."""
_OPTION: Final = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_POD: Final = b"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a}]}}"
_LONGEST: Final = 200
_LEAST: Final = 200
"""The room without which a member of an object is left out."""
_WANTED: Final = {
    "scan": (
        *("", "results", "[?result!='pass' && result!='skip']"),
        "pass or are skipped (`detailed` gives them)",
    ),
    "test": ("cases", "rows", "[?result!='Pass']", "are as expected (`detailed` gives them)"),
    "why": (
        *("objects", "rules", "[?result!='pass' && !(result=='none' && decision.field=='/kind')]"),
        "pass or are about other kinds (name a `policy`)",
    ),
}
"""The list of a document's parts, or of the document itself, that has results, which of these are
wanted, and what the others are."""


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
    """The answer to a call: its text, the JSON document if any, and whether it is an error."""
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
    names = {option: f"`{name}`" for name, own in tool.parameters.items() for option in own.opts}
    err = _OPTION.sub(lambda match: names.get(match[0], match[0]), err)
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
    """Run a command line: its exit code, what it prints, and its standard error."""

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
    streams = [io.TextIOWrapper(raw, encoding="utf-8", write_through=True) for raw in buffers]
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


def placed(
    tool: Tool, values: Mapping[str, list[str]], roots: Sequence[str], folder: Path
) -> dict[str, list[str]]:
    """Return the values of parameters with paths that may be read, and texts as files of a folder
    (`objects-1.yaml`); raise InputError."""
    answer = dict(values)
    for name in filter(tool.holds_paths, values):
        answer[name] = []
        for number, value in enumerate(values[name], 1):
            if "\n" not in value and not value.lstrip().startswith("{"):
                answer[name].append(_checked(value, roots))
                continue
            file = folder / f"{name}-{number}.yaml"
            file.write_text(value, "utf-8", "surrogatepass", newline="\n")
            answer[name].append(str(file))
    return answer


def _checked(text: str, roots: Sequence[str]) -> str:
    """Return the path that a text means; raise InputError for one outside of the roots, which have
    no links in their paths. A relative path starts at the first root that has it."""
    name = shown(shortened(text, _LONGEST))
    if is_remote(text) or text == "-":
        hint = "give a path below the roots, or the YAML itself"
        raise InputError(f"{name}: chartkit mcp reads nothing but files", hint=hint)
    if "\0" in text:
        raise InputError(f"{name}: is not a path")
    paths = [os.path.join(root, text) for root in roots]
    path = next(filter(os.path.lexists, paths), None)
    if path is None and text in (profile.stem for profile in profiles_dir().glob("*.yaml")):
        return text
    if not roots:
        hint = "start `chartkit mcp --root FOLDER`, or give the YAML itself"
        raise InputError(f"{name}: there is no root to read it from", hint=hint)
    real = Path(os.path.realpath(path or paths[0]))
    if not any(real.is_relative_to(root) for root in roots):
        hint = f"the roots are {', '.join(map(shown, roots))}"
        raise InputError(f"{name}: is outside of the roots", hint=hint)
    return text if path in (None, paths[0]) else path


def text_of(value: Json) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def without_passes(output: str, document: Json, notes: list[str]) -> Mapping[str, str]:
    """Take what passes out of the report of a scan or test, or out of the answer of `why`, and all
    but the most telling field of the results of a scan. Return the filter of each list that has
    fewer members; output: the name of the command's JSON."""
    if output not in _WANTED:
        return {}
    outer, key, wanted, why = _WANTED[output]
    count = total = 0
    for holder in document[outer] if outer else [document]:
        rows = holder[key]
        holder[key] = jmespath.search(wanted, rows)
        total += len(rows)
        count += len(rows) - len(holder[key])
    if count:
        notes.append(f"left out: {count} of {total} {key}, which {why}")
    if output == "scan" and [row.pop("fields") for row in document["results"] if "fields" in row]:
        notes.append("left out: further fields of results (`detailed` gives them)")
    return {key: wanted}


def bounded(
    value: Json, room: int, path: str, notes: list[str], filters: Mapping[str, str]
) -> Json:
    """Return a value of at most about so many characters of JSON, and add a note for each list and
    text that is cut. path: what the value is called, for a document as `query` calls it; filters:
    by which lists of the document have fewer members already."""
    if len(text_of(value)) <= room:
        return value
    if isinstance(value, str):
        kept = value[:room]
        kept = kept[: kept.rfind("\n") + 1] or kept
        notes.append(f"{path}: the first {len(kept):,} of {len(value):,} characters")
        return f"{kept}…"
    if isinstance(value, list):
        items: list[Json] = []
        for item in value:
            room -= len(text_of(item)) + 1
            if room < 0:
                break
            items.append(item)
        if value and not items:
            room += len(text_of(value[0]))
            items.append(bounded(value[0], room, f"{path}[0]", notes, filters))
        if left_out := len(value) - len(items):
            rest = f"query `{path}[{len(items)}:]` gives them"
            notes.append(f"left out: {left_out:,} of {len(value):,} ({rest})")
        return items
    if not isinstance(value, dict):
        return value
    sizes = {key: len(text_of(value[key])) + len(key) + 4 for key in value}
    cut = {}
    for number, key in enumerate(sorted(value, key=sizes.__getitem__)):
        share = room // (len(value) - number) - len(key) - 4
        if share < min(sizes[key], _LEAST):
            continue
        name = f"{path}.{key if key.isidentifier() else json.dumps(key)}".lstrip(".")
        name = f"({name}{filters[key]})" if key in filters else name
        cut[key] = bounded(value[key], share, name, notes, filters)
        room -= len(text_of(cut[key])) + len(key) + 4
    if left_out := len(value) - len(cut):
        notes.append(f"left out: {left_out:,} of {len(value):,} members of {path or 'the answer'}")
    return {key: cut[key] for key in value if key in cut}

"""Generated folders on disk: composed with what people wrote, compared, and written in one step.

A chart folder keeps a record in `.chartkit/`: the values files as they were last generated (the
base of the three-way merge) and the digests of the files that chartkit owns. Files that chartkit
did not write stay as they are.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chartkit.documents.json_text import parse_json
from chartkit.documents.reader import read_source
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Severity
from chartkit.output import atomic_folder
from chartkit.output.atomic_folder import leads_out, write_below
from chartkit.output.values_merge import Prefer, merge_values

RECORD = ".chartkit"
RULE_OVERWRITTEN = "CK122"
_FILES = f"{RECORD}/files.json"
_IGNORE = ".helmignore"


@dataclass(frozen=True, slots=True)
class GeneratedChart:
    """A chart as it is to be written.

    name: the chart's name and folder; files: text by path inside the chart, owned by chartkit and
    written as they are; values: text by file name (`values.yaml`, `values_dev.yaml` …), where hand
    edits are kept by a three-way merge.
    """

    name: str
    files: Mapping[str, str]
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder as it is to be.

    folder: where it is to stand; files: text by path inside; removed: files there that chartkit
    wrote once and no longer does; edited: files of chartkit's that were changed by hand.
    """

    folder: Path
    files: Mapping[str, str]
    removed: frozenset[str] = frozenset()
    edited: tuple[str, ...] = ()

    def diagnostics(self) -> list[Diagnostic]:
        """A warning for every hand edit that will be lost."""
        hint = "chartkit owns the file: change its source, or the values"
        message = "was changed by hand and is written anew"
        return [
            Diagnostic(
                RULE_OVERWRITTEN,
                Severity.WARNING,
                message,
                Location(str(self.folder / name), 1),
                hint,
            )
            for name in self.edited
        ]


def compose(plan: GeneratedChart, folder: Path, prefer: Prefer = Prefer.NEITHER) -> Tree:
    """A chart's folder with hand edits of its values merged in; folder: the chart's own. Raises
    ConflictError where an edit and the new values cannot both be had, InputError where a file there
    cannot be read."""
    files = {name: text for name, text in plan.files.items() if name != _IGNORE}
    if files:
        text = plan.files.get(_IGNORE, "")
        line = f"{RECORD}/"
        ignoring = text if line in text.splitlines() else f"{text.rstrip()}\n{line}\n".lstrip("\n")
        files[_IGNORE] = ignoring
    file = folder / _FILES
    recorded: dict[str, str] = {}
    if file.is_file():
        hint = "remove it: `chartkit render` writes it anew"
        try:
            recorded_files = parse_json(read_source(file))["files"]
        except (ValueError, KeyError, TypeError):
            raise InputError("is not a record of chartkit's", Location(str(file)), hint) from None
        if not isinstance(recorded_files, dict) or any(map(leads_out, recorded_files)):
            raise InputError("is not a record of chartkit's", Location(str(file)), hint)
        recorded = {name: str(digest) for name, digest in recorded_files.items()}
    owned = {name: _digest(text) for name, text in sorted(files.items())}
    edited = tuple(
        name
        for name in owned
        if name in recorded and _on_disk(folder / name) not in (None, recorded[name], owned[name])
    )
    for name, text in plan.values.items():
        files[name] = _merged(folder, name, text, prefer)
        files[f"{RECORD}/{name}"] = text
    files[_FILES] = json.dumps({"files": owned}, indent=2) + "\n"
    removed = {name for name in recorded if name not in owned}
    # The values files that were generated last, and their bases.
    for base in sorted((folder / RECORD).glob("values*.yaml")):
        is_same = _on_disk(folder / base.name) == _on_disk(base)
        names = {f"{RECORD}/{base.name}", *([base.name] if is_same else [])}
        removed |= names - files.keys()
    return Tree(folder, files, frozenset(removed), edited)


def is_record(name: str) -> bool:
    """Tell whether a file of a chart is of its record."""
    return name.startswith(f"{RECORD}/")


def drifted(tree: Tree) -> list[str]:
    """Return the names of the files that differ on disk from what is generated."""
    names = []
    for name in sorted({*tree.files, *tree.removed}):
        file = tree.folder / name
        there = read_source(file) if file.is_file() else None
        if there != tree.files.get(name):
            names.append(name)
    return names


def drift(tree: Tree) -> str:
    """Return a unified diff from what stands on disk to what is generated; empty where nothing
    differs, and one line where the folder is not there."""
    if not tree.folder.exists():
        return f"{tree.folder}: is not there\n"
    parts: list[str] = []
    for name in drifted(tree):
        file = tree.folder / name
        there = read_source(file) if file.is_file() else ""
        wanted = tree.files.get(name, "")
        lines = difflib.unified_diff(
            there.splitlines(keepends=True),
            wanted.splitlines(keepends=True),
            str(file),
            f"{file} (generated)",
        )
        for line in lines:
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def lay_out(tree: Tree, parent: Path) -> Path:
    """Writes a tree below another folder, for Helm to read; gives the folder."""
    folder = parent / tree.folder.name
    folder.mkdir()
    _fill(folder, tree)
    return folder


def publish(tree: Tree, project: Path | None = None) -> None:
    """Puts a tree in its place in one step; raises InputError where it cannot be written.

    project: whose folder it is, which no link may lead out of.

    Killed at any moment, it leaves the old folder or the new one, and what else is left is
    cleared by the next call.
    """
    if project is not None:
        require_own(tree, project)
    with atomic_folder.replaced(tree.folder, project) as new:
        _fill(new, tree)


def require_own(tree: Tree, project: Path) -> None:
    """Raise InputError where a link leads from a tree's place out of the project, or takes the
    place of a folder in the tree that files are written to."""
    atomic_folder.require_inside(tree.folder, project)
    within = {parent for name in tree.files for parent in Path(name).parents}
    for path in sorted(within - {Path()}):
        if (tree.folder / path).is_symlink():
            hint = "put a folder there: chartkit writes its files"
            location = Location(str(tree.folder / path))
            raise InputError("is a link", location, hint)


def unchanged(tree: Tree) -> bool:
    """Report whether the folder on disk has the tree's files."""
    return tree.folder.is_dir() and not drift(tree)


def _fill(new: Path, tree: Tree) -> None:
    """Copy what a tree keeps and write its files; raise InputError for what takes their places."""
    try:
        if tree.folder.is_dir():
            left_out = tree.removed | tree.files.keys()
            for path in sorted(tree.folder.rglob("*")):
                name = path.relative_to(tree.folder).as_posix()
                if name not in left_out and (path.is_symlink() or not path.is_dir()):
                    copy = new / name
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, copy, follow_symlinks=False)
        write_below(new, tree.files)
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        location = Location(str(tree.folder / os.path.relpath(error.filename, new)))
        hint = "move it away: chartkit writes something else there"
        raise InputError("is in the way", location, hint) from None


def _merged(folder: Path, name: str, text: str, prefer: Prefer) -> str:
    file, base = folder / name, folder / RECORD / name
    if not file.exists():
        return text
    before = read_source(base) if base.is_file() else None
    return merge_values(before, read_source(file), text, str(file), prefer)


def _on_disk(file: Path) -> str | None:
    return _digest(read_source(file)) if file.is_file() else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

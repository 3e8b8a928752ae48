"""Changes that an update brings, policy by policy."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from chartkit.catalog.index import IndexedLibrary
from chartkit.catalog.model import Entry
from chartkit.catalog.vendoring.vendor import Update
from chartkit.wording import counted

_TRAITS: Final = ("name", "title", "category", "severity", "subjects", "kinds", "forms", "minimum")


class ChangeType(StrEnum):
    """The type of a policy's change."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one policy in an update.

    traits: name, old and new value; files: what became of its files, by their path in the library,
    without the policy's own where that is new or gone; diff: of those files, unified.
    """

    reference: str
    what: ChangeType
    title: str
    traits: tuple[tuple[str, str, str], ...] = ()
    files: Mapping[str, ChangeType] | None = None
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """policies: in the order of their references; others: files that belong to no policy."""

    policies: tuple[Change, ...]
    others: Mapping[str, ChangeType]


def changes(update: Update) -> Changes:
    """Everything that an update would change."""
    old, new = update.old, update.taken.files
    files = {
        name: _what(name in old, name in new)
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    }
    before, after = _by_reference(update.before), _by_reference(update.after)
    owners = _Owners(update)
    owned: dict[str, dict[str, ChangeType]] = {}
    others: dict[str, ChangeType] = {}
    for name, what in files.items():
        owner = owners.of(name)
        if owner is None:
            others[name] = what
        else:
            owned.setdefault(owner, {})[name] = what
    found = []
    for reference in sorted({*before, *after}):
        one, other = before.get(reference), after.get(reference)
        touched = owned.get(reference, {})
        if one is None or other is None or touched:
            found.append(_change(reference, one, other, touched, update))
    return Changes(tuple(found), others)


def _by_reference(indexed: IndexedLibrary) -> dict[str, Entry]:
    return {entry.reference: entry for entry in indexed.entries}


def _what(before: bool, after: bool) -> ChangeType:
    if before and after:
        return ChangeType.CHANGED
    return ChangeType.ADDED if after else ChangeType.REMOVED


class _Owners:
    """The policy of each file: the one that it holds, or that of the nearest folder."""

    def __init__(self, update: Update) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        root = f"{update.folder}/"
        for entry in (*update.before.entries, *update.after.entries):
            file = entry.file.removeprefix(root)
            self._files[file] = entry.reference
            folder = file.rpartition("/")[0]
            if folder:
                self._folders[folder] = entry.reference

    def of(self, name: str) -> str | None:
        if name in self._files:
            return self._files[name]
        folder = name
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self._folders:
                return self._folders[folder]
        return None


def _change(
    reference: str,
    before: Entry | None,
    after: Entry | None,
    files: Mapping[str, ChangeType],
    update: Update,
) -> Change:
    entry = after or before
    title = entry.title if entry is not None else ""
    what = _what(before is not None, after is not None)
    if before is None or after is None:
        return Change(reference, what, title, (), files, _diff(files, update))
    traits = tuple(
        (name, old, new)
        for name in _TRAITS
        for old, new in [(_shown(getattr(before, name)), _shown(getattr(after, name)))]
        if old != new
    )
    return Change(reference, what, title, traits, files, _diff(files, update))


def _shown(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _diff(files: Mapping[str, ChangeType], update: Update) -> str:
    return "".join(
        line
        for name in files
        for line in _file_diff(name, update.old.get(name), update.taken.files.get(name))
    )


def _file_diff(name: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    lines = difflib.unified_diff(
        _lines(old),
        _lines(new),
        "/dev/null" if old is None else f"a/{name}",
        "/dev/null" if new is None else f"b/{name}",
    )
    for line in lines:
        shown = "".join(each if each.isprintable() else "�" for each in line.rstrip("\n"))
        yield f"{shown}\n"


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").expandtabs().splitlines(keepends=True)


def as_text(found: Changes, diffs: bool) -> Iterator[str]:
    """A line a policy, below it what changed; diffs: whether files' differences are shown."""
    for change in found.policies:
        notes = [f"{name} {old or '-'} → {new or '-'}" for name, old, new in change.traits]
        if change.what is ChangeType.CHANGED:
            notes.append(_counted(change))
        about = "; ".join(notes) if notes else change.title
        yield f"  {change.what:8} {change.reference}: {about}"
        if diffs:
            yield from change.diff.splitlines()
    if found.others:
        yield f"  and {counted(len(found.others), 'file')} of no policy"


def _counted(change: Change) -> str:
    lines = [line for line in change.diff.splitlines() if not line.startswith(("+++", "---"))]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    names: Sequence[str] = list(change.files or ())
    tests = all(any(part.startswith(".") for part in name.split("/")) for name in names)
    what = f"+{added} -{removed} lines in {counted(len(names), 'file')}"
    return f"{what}, tests alone" if tests else what

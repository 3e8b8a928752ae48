"""The state of a migration, and its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from chartkit.model import Json
from chartkit.output.yaml_tree import (
    Block,
    Entry,
    Leaf,
    Path,
    Tree,
    as_block,
    copy_of,
    data_of,
    value_of,
)
from chartkit.values.moved import Row

Change = Callable[[Leaf | Block, Path], Leaf | Block]
"""A value for one of the places that it goes to; it may change the value that it is given."""


class Outcome(StrEnum):
    """The outcome of a key; asked: it is unknown, and the user must decide."""

    MOVED = "moved"
    CHANGED = "changed"
    REMOVED = "removed"
    ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Step:
    """The step of one key: its name, its old path and line, its new place, the reason, and what to
    do."""

    outcome: Outcome
    key: str
    path: Path
    line: int
    targets: tuple[str, ...]
    why: str
    do: str = ""


@dataclass(slots=True)
class Context:
    """The tree that is rearranged, and the steps so far.

    own_cleanup: the file has values of the cleanup controller, so that what was said of the one pod
    is not meant for it; sees_kube_system: policies are meant to see what is in kube-system.
    """

    tree: Tree
    own_cleanup: bool
    steps: list[Step] = field(default_factory=list)
    sees_kube_system: bool = False

    def value(self, path: Path) -> Json:
        """Return the value at a path of the file; None if there is none."""
        entry = self.tree.find(path)
        return None if entry is None else data_of(entry.value)

    def targets(self, row: Row) -> tuple[Path, ...]:
        """Return the new places of a key in this file."""
        return tuple(
            target
            for target in row.targets
            if target[0] != "cleanupController"
            or row.key[0] == "cleanupController"
            or not self.own_cleanup
        )

    def move(
        self,
        row: Row,
        *,
        key: Path = (),
        targets: Sequence[Path] = (),
        change: Change | None = None,
        outcome: Outcome = Outcome.MOVED,
        do: str = "",
    ) -> None:
        """Puts what stands at a key to its targets, the comments with the first of them."""
        key, places = key or row.key, targets or self.targets(row)
        entry = self.tree.take(key)
        refused = []
        for index, target in enumerate(places):
            value = entry.value if index == 0 else copy_of(entry.value)
            placed = entry if index == 0 else Entry("", value)
            if index == 0 and len(places) > 1:
                entry = Entry("", copy_of(value), line=entry.line)
            placed.value = change(value, target) if change else value
            if not self._put(target, placed):
                refused.append(target)
        name, line = ".".join(key), entry.line
        if refused:
            kept = "It is given there too, otherwise: what stood there is kept."
            places_text = tuple(".".join(place) for place in refused)
            self.steps.append(Step(Outcome.ASKED, name, key, line, places_text, kept, row.do))
        if len(refused) < len(places):
            done = tuple(".".join(place) for place in places if place not in refused)
            self.steps.append(Step(outcome, name, key, line, done, row.why, do or row.do))

    def set(self, target: Path, value: Json, entry: Entry | None = None) -> bool:
        """Puts a new value to a path, with the comments of an entry that it was made of; False
        where something else is there."""
        placed = entry or Entry("", Leaf(None))
        comment = placed.value.comment if isinstance(placed.value, Leaf) else ""
        placed.value = value_of(value)
        if isinstance(placed.value, Leaf):
            placed.value.comment = comment
        return self._put(target, placed)

    def remove(self, key: Path, why: str, do: str = "", outcome: Outcome = Outcome.REMOVED) -> None:
        """Takes a key out of the file."""
        entry = self.tree.drop(key)
        self.say(outcome, key, entry, (), why, do)

    def remove_all(self, parent: Path, entries: Sequence[Entry], why: str) -> None:
        """Takes keys out of a mapping of the file."""
        self.tree.drop_all(parent, entries)
        for entry in entries:
            self.say(Outcome.REMOVED, (*parent, entry.key), entry, (), why)

    def say(
        self,
        outcome: Outcome,
        key: Path,
        entry: Entry,
        targets: Sequence[Path],
        why: str,
        do: str = "",
        part: str = "",
    ) -> None:
        """Adds a step; part: of what stands at the key."""
        places = tuple(".".join(target) for target in targets)
        name = ".".join(key) + (f"[{part}]" if part else "")
        self.steps.append(Step(outcome, name, key, entry.line, places, why, do))

    def _put(self, target: Path, entry: Entry) -> bool:
        if self.tree.put(target, entry):
            return True
        present = self.tree.find(target)
        return present is not None and data_of(present.value) == data_of(entry.value)


def items(entry: Entry) -> list[Entry]:
    """The items of a list; none where it is not a list."""
    block = as_block(entry)
    return block.entries if block is not None and block.listed else []

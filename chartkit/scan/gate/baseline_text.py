"""The text of an updated baseline: comments and entries that have not changed stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_text
from chartkit.documents.yaml_dump import dump_text
from chartkit.errors import InputError
from chartkit.output.yaml_tree import Block, Entry, Leaf, Tree, write_tree
from chartkit.output.yaml_tree_reader import read_tree
from chartkit.scan.gate.baseline import API_VERSION, KIND, Baseline, KnownViolation, parse_baseline

_LIST: Final = "violations"
_NEW: Final = f"""\
# Known violations, which do not fail a run. `chartkit scan --baseline FILE --update-baseline`
# writes this file; reason, until and comments stay.
apiVersion: {API_VERSION}
kind: {KIND}
{_LIST}: []
"""


def baseline_text(baseline: Baseline, entries: Sequence[KnownViolation]) -> str:
    """Return the text of a baseline with other entries. Those that have not changed keep their
    text, and all of them their comments, unless the file has anchors or braces around it."""
    if baseline.document is not None:
        with suppress(InputError):
            tree = read_tree(baseline.document)
            text = _text(tree, baseline, entries) if tree.root.entries[0].line else ""
            if _reads_as(text, entries):
                return text
    (document,) = read_text(_NEW)
    return _text(read_tree(document), replace(baseline, entries=()), entries)


def _reads_as(text: str, entries: Sequence[KnownViolation]) -> bool:
    written = parse_baseline(read_text(text), Path()).entries
    return [replace(entry, index=-1) for entry in written] == [
        replace(entry, index=-1) for entry in entries
    ]


def _text(tree: Tree, baseline: Baseline, entries: Sequence[KnownViolation]) -> str:
    violations = tree.find((_LIST,))
    assert violations is not None
    block = violations.value if isinstance(violations.value, Block) else Block([], listed=True)
    items, before = block.entries, {entry.index: entry for entry in baseline.entries}
    if not entries:
        violations.lead += [line for item in items for line in item.lead]
        violations.value = Leaf([])
        return write_tree(tree)
    block.entries = []
    for entry in entries:
        item = items[entry.index] if 0 <= entry.index < len(items) else Entry("", Leaf(None))
        if before.get(entry.index) != entry:
            item.value = _item(entry)
        block.entries.append(item)
    first = block.entries[0]
    while first.lead and not first.lead[0].strip():
        del first.lead[0]
    violations.value = block
    return write_tree(tree)


def _item(entry: KnownViolation) -> Block:
    violation = entry.violation
    texts = {
        "policy": violation.policy,
        "rule": violation.rule,
        "object": violation.object,
        "field": violation.field,
        "result": "error" if violation.is_error else "",
    }
    members = {key: dump_text(text) for key, text in texts.items() if text}
    if entry.count > 1:
        members["count"] = str(entry.count)
    if entry.reason:
        members["reason"] = dump_text(entry.reason)
    if entry.until:
        members["until"] = entry.until.isoformat()
    return Block([Entry(key, Leaf(text, f" {text}".split("\n"))) for key, text in members.items()])

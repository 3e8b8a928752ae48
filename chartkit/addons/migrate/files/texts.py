"""Migrated objects, and the texts of their files: each legacy document replaced, the rest as it
was."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from chartkit.addons.migrate.conversion import Conversion, RuleOutcome
from chartkit.addons.migrate.files.differing import DIFFERS
from chartkit.addons.migrate.files.printed import (
    Comment,
    comments_in,
    composed,
    difference_notes,
    difference_sentence,
    indented,
    is_note,
    margins,
    printed,
    reason_note,
    without_notes,
)
from chartkit.addons.migrate.plan.inventory import LegacyObject
from chartkit.addons.migrate.proof import Proof
from chartkit.addons.migrate.proof.model import verdict
from chartkit.api import Counterexample, Verdict
from chartkit.charts.rbac.permissions import needs
from chartkit.charts.rbac.requirements import SECRETS_NOTE, Controller, Needs
from chartkit.documents.reader import Document
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.cluster_policy.policy_check.warnings import is_legacy
from chartkit.errors import InputError
from chartkit.model import Body, Location, Resource, mapping_at
from chartkit.output.yaml_edit import rewritten as edited
from chartkit.wording import shortened

_UNREADY: Final = (
    "Kyverno's reports controller may not read {resources} by its chart: until it may (get, list, "
    "watch), background scans report nothing of them, and the new policy, which judges requests "
    "all the same, has ready: false"
)
_MOST: Final = 500
"""The most characters of a reason that is about all rules of an object."""
_MORE: Final = "Kyverno's {controller} must be allowed to {verbs} {resource}"
_FAULTS: Final = {
    Verdict.DIFFERS: DIFFERS,
    Verdict.UNDECIDED: "not proved: no request made either form decide (--allow-difference takes "
    "it)",
}
_Right = tuple[Controller, str, str]


@dataclass(frozen=True, slots=True)
class MigratedObject:
    """A legacy object and what replaces it.

    conversion: None for an object that is left whole; reason: why it is; proof: None where nothing
    was proved; allowed: the reason for which its differences are taken.
    """

    legacy: LegacyObject
    conversion: Conversion | None
    reason: str = ""
    proof: Proof | None = None
    allowed: str = ""

    @property
    def differs(self) -> bool:
        """Report whether both forms differ, or were never seen to decide anything, and the user has
        not accepted that."""
        return bool(self.fault) and not self.allowed

    @property
    def verdict(self) -> Verdict:
        """The verdict of the proof."""
        return verdict(filter(None, [self.proof]))

    @property
    def counterexamples(self) -> tuple[Counterexample, ...]:
        """The differences that the proof found, each with the smallest request that makes it."""
        faults = () if self.proof is None else self.proof.faults
        return tuple(Counterexample(difference_sentence(row), row.case.document) for row in faults)

    @property
    def fault(self) -> str:
        """The reason why the proof does not hold; empty where it does or there is none."""
        return _FAULTS.get(self.verdict, "")

    @property
    def documents(self) -> Sequence[Body]:
        """The new objects; none of a policy whose forms differ, which stays as it is."""
        return () if self.conversion is None or self.differs else self.conversion.documents

    @property
    def needs(self) -> Sequence[str]:
        """Return what Kyverno's controllers must be allowed for the new objects."""
        return permission_notes(self.legacy.resource.body, self.documents)

    @property
    def outcomes(self) -> Sequence[RuleOutcome]:
        """Return the outcome of each rule, in their order."""
        if self.conversion is None:
            reason = shortened(self.reason, _MOST)
            return [
                RuleOutcome(rule.name, rule.type, Location("", path=rule.pointer), reason=reason)
                for rule in self.legacy.rules
            ]
        if not self.differs:
            return self.conversion.outcomes
        return [
            replace(outcome, reason=self.fault, replaced_by=(), changes=(), remarks=())
            if outcome.converted
            else outcome
            for outcome in self.conversion.outcomes
        ]

    @property
    def remaining(self) -> Body | None:
        """The legacy object with the rules that are left, None where none is."""
        if self.conversion is None or self.differs:
            return self.legacy.resource.body
        return self.conversion.remaining

    @property
    def is_whole(self) -> bool:
        """Report whether nothing of it is left to be done by hand."""
        return self.remaining is None

    def notes(self, outcome: RuleOutcome) -> list[str]:
        """Return what is to be said of a rule: why it is left, what differs, what changes, and
        remarks."""
        is_fault = self.differs and outcome.reason == self.fault
        sentences = [example.difference for example in self.counterexamples] if is_fault else ()
        return [*filter(None, [outcome.reason]), *sentences, *outcome.changes, *outcome.remarks]

    def locate(self, outcome: RuleOutcome) -> Location:
        """Return the place of a rule, or of the part of it that has no form."""
        return self.legacy.locate(outcome.location.path)


def permission_notes(legacy: Body, documents: Sequence[Body]) -> list[str]:
    """Return what Kyverno's controllers must be allowed for new policies, beyond what its chart
    gives them and what the old policy needed."""
    if not documents:
        return []
    old, new = needs([legacy]), needs(documents)
    unread = [_shown(right.group, right.resource) for right in new.permissions if right.scan]
    if any(unknown.message == SECRETS_NOTE for unknown in new.unknown):
        unread.append("secrets")
    resources = ", ".join(dict.fromkeys(unread))
    return [*_more(old, new), *([_UNREADY.format(resources=resources)] if unread else [])]


def _more(old: Needs, new: Needs) -> Iterator[str]:
    had: dict[_Right, set[str]] = {}
    for permission in old.permissions:
        right = permission.controller, permission.group, permission.resource
        had.setdefault(right, set()).update(permission.verbs)
    for permission in new.permissions:
        right = permission.controller, permission.group, permission.resource
        verbs = [verb for verb in permission.verbs if verb not in had.get(right, ())]
        if verbs and not permission.scan:
            controller = permission.controller.value.replace("-", " ")
            resource = _shown(permission.group, permission.resource)
            yield _MORE.format(controller=controller, verbs=", ".join(verbs), resource=resource)


def _shown(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource


SEPARATOR: Final = "---\n"
_MARKER: Final = re.compile(r"^---(?:[ \t]+#.*|[ \t]*)$\n?", re.MULTILINE)
_NO_CONTENT: Final = re.compile(r"(?:[ \t]*(?:#.*|---.*|%.*)?(?:\n|\Z))*")


@dataclass(frozen=True, slots=True)
class FileText:
    """A file with legacy objects: its text before and after."""

    file: str
    before: str
    after: str

    @property
    def changes(self) -> bool:
        """Report whether the migration changes it."""
        return self.before != self.after


def file_texts(migrated: Iterable[MigratedObject]) -> list[FileText]:
    """Return the texts of the files that the objects are in; those of charts and clusters have
    none."""
    files: dict[str, dict[int, list[MigratedObject]]] = {}
    documents: dict[tuple[str, int], Document] = {}
    for migrated_object in migrated:
        document = migrated_object.legacy.document
        if document is not None:
            file = document.source.file
            files.setdefault(file, defaultdict(list))[document.start].append(migrated_object)
            documents[file, document.start] = document
    return [
        _file(file, [(documents[file, start], objects) for start, objects in sorted(parts.items())])
        for file, parts in files.items()
    ]


def _file(file: str, parts: Sequence[tuple[Document, list[MigratedObject]]]) -> FileText:
    before = parts[0][0].source.text
    if file.endswith(".json"):
        return FileText(file, before, _as_json(parts[0][0], parts[0][1]))
    after, at = [], 0
    for document, objects in parts:
        region = _Region.of(document)
        after += [before[at : region.start], region.lead, _joined(_pieces(region, objects))]
        at = document.end
    return FileText(file, before, "".join([*after, before[at:]]))


def object_text(objects: Sequence[MigratedObject]) -> str:
    """Return the new text of the objects of one document, with the comments before it."""
    document = objects[0].legacy.document
    if document is None:
        return _joined(piece for migrated_object in objects for piece in _anew(migrated_object))
    region = _Region.of(document)
    comments = [line for line in region.lead.splitlines(keepends=True) if line.startswith("#")]
    text = _joined(_pieces(region, objects))
    return "".join(comments) + text if text else ""


@dataclass(frozen=True, slots=True)
class _Region:
    """The text of a document: start: its first character in the file, lead: what stands up to its
    `---`, text: the rest."""

    document: Document
    start: int
    lead: str
    text: str

    @staticmethod
    def of(document: Document) -> _Region:
        """Return the region of a document. The first document's region includes the comments before
        it."""
        whole, start = document.source.text, document.start
        if _NO_CONTENT.fullmatch(whole, 0, start):
            start = 0
        region = whole[start : document.end]
        content = composed(region)
        begin = 0 if content is None else content.start_mark.index
        marker = _MARKER.search(region, 0, begin)
        if marker is not None:
            return _Region(document, start, region[: marker.end()], region[marker.end() :])
        if region.startswith("---"):
            return _Region(document, start, SEPARATOR, region[3:].lstrip(" "))
        return _Region(document, start, "", region)


def _joined(pieces: Iterable[str]) -> str:
    return SEPARATOR.join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces)


def _pieces(region: _Region, objects: Sequence[MigratedObject]) -> Iterator[str]:
    """Yield the documents that a legacy document becomes."""
    if region.document.body is not objects[0].legacy.resource.body:
        # The items of a List, and the List with those that stay.
        for migrated_object in objects:
            yield from _new(migrated_object)
        if items := _left_items(region.document, objects):
            yield annotated(dump_yaml({**region.document.body, "items": items}), _reasons(objects))
        return
    (policy,) = objects
    comments = [comment for comment in comments_in(region.text) if not is_note(comment.text)]
    yield from _new(policy, comments)
    remaining = policy.remaining
    if remaining is None:
        return
    if policy.differs:
        yield annotated(region.text, difference_notes(policy.counterexamples, ""))
    elif not mapping_at(remaining, "spec").get("rules") or policy.conversion is None:
        yield annotated(region.text, _reasons([policy]))
    else:
        kept = {at: reason_note(row) for at, row in enumerate(policy.outcomes) if not row.converted}
        yield left_text(region.text, kept, remaining)


def _new(migrated: MigratedObject, comments: Sequence[Comment] = ()) -> Iterator[str]:
    documents = migrated.documents
    if not documents:
        return
    names = [f"{body['kind']}/{body['metadata']['name']}" for body in documents]
    place_of = {
        index: (names.index(outcome.replaced_by[0]), outcome.entry)
        for index, outcome in enumerate(migrated.outcomes)
        if outcome.converted and outcome.replaced_by and outcome.replaced_by[0] in names
    }
    made = margins(comments, documents, place_of)
    if migrated.fault:
        first = made[0].above.setdefault(("apiVersion",), [])
        first += difference_notes(migrated.counterexamples, migrated.allowed)
    for body, margin in zip(documents, made, strict=True):
        yield printed(body, margin)


def _anew(item: MigratedObject) -> Iterator[str]:
    """Yield the documents of an object that has no text of its own."""
    yield from _new(item)
    if item.remaining is not None:
        notes = difference_notes(item.counterexamples, "") if item.differs else _reasons([item])
        yield annotated(dump_yaml(item.remaining), notes)


def _reasons(objects: Iterable[MigratedObject]) -> list[str]:
    """Return why rules are left, each reason once."""
    left = (outcome for policy in objects for outcome in policy.outcomes if not outcome.converted)
    return list(dict.fromkeys(line for outcome in left for line in reason_note(outcome)))


def _left_items(document: Document, objects: Sequence[MigratedObject]) -> list[Body]:
    migrated = {id(policy.legacy.resource.body): policy for policy in objects}
    items: list[Body] = []
    for item in document.body["items"]:
        migrated_object = migrated.get(id(item))
        if migrated_object is None and not is_legacy(Resource(item)):
            items.append(item)
        elif migrated_object is not None and migrated_object.remaining is not None:
            items.append(migrated_object.remaining)
    return items


def _as_json(document: Document, objects: Sequence[MigratedObject]) -> str:
    """Return a JSON file's new text; several objects are a List."""
    if document.body is objects[0].legacy.resource.body:
        left = [] if objects[0].remaining is None else [objects[0].remaining]
    else:
        left = _left_items(document, objects)
    new = [body for migrated_object in objects for body in migrated_object.documents]
    if not new:
        return document.source.text
    bodies = [*new, *left]
    whole = bodies[0] if len(bodies) == 1 else {"apiVersion": "v1", "kind": "List", "items": bodies}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def annotated(text: str, lines: Sequence[str]) -> str:
    """Return the text of a document with notes above its first key."""
    clean = without_notes(text)
    root = composed(clean)
    at = root.start_mark.line if root is not None and root.start_mark.column == 0 else 0
    before = clean.splitlines(keepends=True)
    return "".join([*before[:at], *indented(lines, 0), *before[at:]])


def left_text(text: str, kept: Mapping[int, Sequence[str]], remaining: Body) -> str:
    """Return the text of a policy with some of its rules, each below its notes.

    kept: the notes by the rule's index; remaining: the policy as it must read. A text that cannot
    be cut line by line, as one with rules on one line, is written again.
    """
    cut = _cut(without_notes(text), kept)
    if cut is not None:
        with suppress(InputError):
            return edited(cut, remaining, Path(), "")
    notes = [line for lines in kept.values() for line in lines]
    return "".join(indented(notes, 0)) + dump_yaml(remaining)


def _cut(text: str, kept: Mapping[int, Sequence[str]]) -> str | None:
    node = composed(text)
    for step in ("spec", "rules"):
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        node = next((value for key, value in pairs if key.value == step), None)
    rules = node if isinstance(node, yaml.SequenceNode) else None
    if rules is None or rules.flow_style or not rules.value:
        return None
    lines = text.splitlines(keepends=True)
    starts = [_with_comments(lines, item.start_mark.line) for item in rules.value]
    ends = [*starts[1:], _end(rules)]
    written = lines[: starts[0]]
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if index in kept:
            item = rules.value[index].start_mark.line
            column = len(lines[item]) - len(lines[item].lstrip())
            written += [*lines[start:item], *indented(kept[index], column), *lines[item:end]]
    return "".join([*written, *lines[ends[-1] :]])


def _with_comments(lines: Sequence[str], line: int) -> int:
    while line and lines[line - 1].lstrip().startswith("#"):
        line -= 1
    return line


def _end(node: Any) -> int:
    """Return the line behind a node's last scalar."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        mark = node.end_mark
        return int(mark.line + bool(mark.column))
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def named_in(folder: Path, name: str) -> Path:
    """The path that a file of a folder names, with its links followed as far as they lead. No file
    has a null byte in its name."""
    return Path(os.path.realpath(folder / name.replace("\x00", "")))

"""Values of an older chart made into values of the chart as it is now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from typing import Any

import yaml

from chartkit.addons.migrate.values.context import Context, Outcome, Step
from chartkit.addons.migrate.values.transforms import TRANSFORMS
from chartkit.documents.reader import Document, read_file, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.helm.chart_values import merge
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Json, Location, value_at
from chartkit.output.yaml_tree import Block, Entry, Leaf, Path, as_block, data_of, write_tree
from chartkit.output.yaml_tree_reader import read_tree
from chartkit.schemas.json_schema import require_no_object, require_single_keys
from chartkit.suggestions import suggestion
from chartkit.values.moved import (
    ENGINE,
    FIRST_OF_THREE,
    LAST_OF_TWO,
    POLICIES,
    REPORTER,
    REPORTERS_OWN,
    Known,
    Row,
    Span,
    is_of_engine,
    known,
    misshapen,
    origin,
    parents,
    refusals,
    rows,
)

LONGEST = 500_000
"""Characters of a values file with its comments; Kyverno's own has 71,000."""
MOST_VALUES = 50_000
"""The most values of a file, aliases counted each time; Kyverno's own has 1,300."""
_NEW_CONTROLLERS = ("backgroundController", "reportsController")
_SAY = "Say what is meant."
_MOST_SUGGESTED = 1_000
_SELECTOR = ("config", "webhooks", "namespaceSelector")


@dataclass(frozen=True, slots=True)
class Migration:
    """A values file as the chart takes it now.

    file: the old one; span: the charts that it may have been for; text: the new one; steps: what
    became of its keys, in their order; kept: the keys that comments at the end of the text hold.
    """

    file: str
    chart: str
    span: Span
    text: str
    steps: tuple[Step, ...]
    kept: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Report whether nothing is left for people to say."""
        return not any(step.outcome is Outcome.ASKED for step in self.steps)


def migrate(document: Document, chart: str = ENGINE, given: Version | None = None) -> Migration:
    """Values for a chart as it is now, of values for an older one.

    document: the old values, a mapping; given: the chart version that they were for, None to see it
    from their keys. Raises InputError where that cannot be seen, and for a file that cannot be
    rearranged.
    """
    _require_size(document)
    now = known(chart)
    span = origin(document, chart, given)
    table = {key: row for key, row in rows(chart).items() if row.span.meets(span)}
    holders = parents(table)

    def opens(path: Path) -> bool:
        below = any(path[:length] in table for length in range(1, len(path)))
        return path in holders or below or now.has(path)

    _require_no_aliases_in_lists(document)
    tree = read_tree(document, now.rank)
    own_cleanup = tree.find(("cleanupController",)) is not None
    run = _Run(Context(tree, own_cleanup), now, chart, table, holders, span)
    run.drop_nulls(opens)
    run.walk(tree.root, ())
    run.see_kube_system()
    tree.space()
    text, values = write_tree(tree), tree.data()
    written = _written(text)
    if written is None or written.body != values:
        hint = "write its values in blocks, without anchors and merge keys"
        raise InputError("cannot be rearranged as it is written", document.location, hint)
    run.check(written)
    steps = sorted(run.context.steps, key=lambda step: step.line)
    kept = leftovers(document.body, values, steps)
    if kept:
        tree.foot += ["", *as_comments(document, text, kept)]
        text = write_tree(tree)
    names = tuple(".".join(path) for path in kept)
    return Migration(document.source.file, chart, span, text, tuple(steps), names)


def _require_size(document: Document) -> None:
    """Raise InputError for a document that is larger than values of any chart are."""
    values = [document.body]
    for value in values:
        if value.__class__ is dict:
            values += value.values()
        elif value.__class__ is list:
            values += value
        else:
            continue
        if len(values) > MOST_VALUES:
            break
    if len(document.source.text) > LONGEST or len(values) > MOST_VALUES:
        message = f"is larger than a values file: {LONGEST:,} characters, {MOST_VALUES:,} values"
        hint = "take out what the chart does not read, and migrate the rest"
        raise InputError(message, document.location, hint)


def _require_no_aliases_in_lists(document: Document) -> None:
    if "*" not in document.source.text:
        return
    above: list[bool] = []
    for event in yaml.parse(document.source.text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            above.append(isinstance(event, yaml.SequenceStartEvent))
        elif isinstance(event, yaml.CollectionEndEvent):
            above.pop()
        elif isinstance(event, yaml.AliasEvent) and above and above[-1]:
            mark: Any = event.start_mark
            location = Location(document.source.file, mark.line + 1, mark.column + 1)
            hint = "write the values out in place of *aliases in lists"
            raise InputError("has aliases in lists, which cannot be moved", location, hint)


def _written(text: str) -> Document | None:
    """Return the values that a text is YAML for; None where it is not one."""
    try:
        return next(iter(read_text(text)), None)
    except InputError:
        return None


def read_values(file: File) -> Document:
    """A values file; raises InputError where it is not one."""
    documents = read_file(file)
    if not documents:
        raise InputError("has no values", Location(str(file)))
    if len(documents) > 1:
        raise InputError("has more than one YAML document", documents[1].location, "keep one")
    if not isinstance(documents[0].body, dict):
        raise InputError("must be a mapping of values", Location(str(file), 1))
    require_no_object(documents[0])
    require_single_keys(documents[0])
    return documents[0]


@dataclass(frozen=True, slots=True)
class _Run:
    """One migration: what is worked on, what the chart has now, the rows that hold for it, and the
    keys that hold theirs."""

    context: Context
    now: Known
    chart: str
    table: dict[Path, Row]
    parents: frozenset[Path]
    span: Span

    def walk(self, block: Block, path: Path) -> None:
        """Looks at every key below a path."""
        tree, seen, there = self.context.tree, -1, set[int]()
        for entry in list(block.entries):
            if tree.changes != seen:
                seen, there = tree.changes, {id(entry) for entry in block.entries}
            if id(entry) in there:
                self._key((*path, entry.key), entry)

    def _key(self, key: Path, entry: Entry) -> None:
        row = self.table.get(key)
        if row is not None:
            why = misshapen(row.transform, data_of(entry.value))
            if why:
                self.context.say(Outcome.ASKED, key, entry, (), why, _SAY)
            elif self._is_clear(row, entry):
                TRANSFORMS[row.transform](self.context, row)
        elif key in self.parents:
            inner = as_block(entry)
            if inner is not None and not inner.listed:
                self.walk(inner, key)
            elif not self.now.has(key):
                self._shapeless(key, entry)
        elif not self.now.has(key) or (
            # Chart 3 brought these, and the file is for chart 2.
            self.span.last <= LAST_OF_TWO and key[0] in _NEW_CONTROLLERS
        ):
            self._unknown(key, entry)
        elif (
            self.chart == ENGINE
            and not self.now.is_value(key)
            and isinstance(entry.value, Block)
            and not entry.value.listed
        ):
            self.walk(entry.value, key)

    def _is_clear(self, row: Row, entry: Entry) -> bool:
        """Report whether a row holds for every chart that the file may be of; asks where it does
        not."""
        across = self.span.first <= LAST_OF_TWO and self.span.last >= FIRST_OF_THREE
        if row.transform != "filters" or not across or not data_of(entry.value):
            return True
        why = "In values of chart 2 it means something else than in those of chart 3."
        do = "Say with --from which chart the file is of."
        self.context.say(Outcome.ASKED, row.key, entry, (), why, do)
        return False

    def _shapeless(self, key: Path, entry: Entry) -> None:
        if not data_of(entry.value):
            self.context.remove(key, "It is empty, and says nothing.")
            return
        why = "A mapping stood there in every chart."
        self.context.say(Outcome.ASKED, key, entry, (), why, _SAY)

    def _unknown(self, key: Path, entry: Entry) -> None:
        name = ".".join(key)
        row = rows(self.chart).get(key)
        if row is not None:
            why = f"Charts {row.span} had it; in {self.span} it had no effect."
            self.context.remove(key, why)
        elif self.chart == POLICIES and is_of_engine(key):
            self.context.remove(
                key, "It is of the engine's chart.", "Take it over without --chart."
            )
        elif self.now.has(key):
            why = f"In the chart {self.span} it had no effect, and it has one now."
            do = f"Leave {name} out, or keep it where it is meant."
            self.context.say(Outcome.ASKED, key, entry, (), why, do)
        else:
            why = "No chart that is known had it."
            do = "It is left where it was: correct its name, or leave it out."
            # A file that is none of the chart's at all has nothing to suggest for each of its keys.
            few = len(self.context.steps) < _MOST_SUGGESTED
            meant = suggestion(key[-1], self.now.names) if len(key) == 1 and few else None
            do += f" {meant[0].upper()}{meant[1:]}" if meant else ""
            if self.chart != REPORTER and key[0] in REPORTERS_OWN:
                why = f"It is of {REPORTER}'s chart."
                do = f"Take the file over with --chart {REPORTER}."
            if key == (ENGINE,):
                do = "Take what stands below it, a chart's own values, over as a file by itself."
            self.context.say(Outcome.ASKED, key, entry, (), why, do)

    def drop_nulls(self, opens: Callable[[Path], bool]) -> None:
        """Takes out nulls that said nothing, and would be refused where they go."""
        silent: dict[Path, list[Entry]] = {}
        for path, entry in _named(self.context.tree.root, opens):
            is_null = isinstance(entry.value, Leaf) and entry.value.data is None
            if is_null and not self._null_says_something(path):
                silent.setdefault(path[:-1], []).append(entry)
        for parent, entries in silent.items():
            self.context.remove_all(parent, entries, "It is empty, and says nothing.")

    def _null_says_something(self, path: Path) -> bool:
        for length in range(len(path), 0, -1):
            row = self.table.get(path[:length])
            if row is not None:
                rest = path[length:]
                return row.transform == "move" and all(
                    self.now.may_be_null((*target, *rest)) for target in row.targets
                )
        return self.now.may_be_null(path) or not self.now.has(path)

    def check(self, written: Document) -> None:
        """Asks about what the chart refuses, and about what is refused of old values alike."""
        steps = [step for step in self.context.steps if step.outcome is Outcome.ASKED]
        asked = {name for step in steps for name in (step.key, *step.targets)}
        unknown = {step.path for step in steps if not self.now.has(step.path)}
        for path, message, hint in refusals(self.chart, written, unknown):
            key = ".".join(path)
            if key not in asked:
                reason = message.removeprefix(f"'{key}': ")
                why, do = f"The chart refuses it: {reason}.", hint or "Correct it."
                self.context.steps.append(Step(Outcome.ASKED, key, path, 0, (), why, do))

    def see_kube_system(self) -> None:
        """Opens the webhooks for kube-system where policies are meant to see it."""
        context = self.context
        if not context.sees_kube_system or context.tree.find(_SELECTOR) is not None:
            return
        context.tree.put((*_SELECTOR, "matchExpressions"), Entry("", Leaf([])))
        why = "Policies are meant to see kube-system, which the chart's webhooks leave out."
        target = ".".join((*_SELECTOR, "matchExpressions"))
        path = _SELECTOR[:-1]
        step = Step(Outcome.CHANGED, ".".join(path), path, 0, (target,), why)
        context.steps.append(step)


def _has_null(data: Json) -> bool:
    return isinstance(data, dict) and any(item is None or _has_null(item) for item in data.values())


def _named(block: Block, opens: Callable[[Path], bool]) -> Iterator[tuple[Path, Entry]]:
    """Yield the leaves below a mapping with their paths, within braces, too."""
    todo: list[tuple[Path, Block]] = [((), block)]
    while todo:
        parent, block = todo.pop()
        for entry in block.entries:
            # What stands in braces is opened where there is something to take out.
            path = (*parent, entry.key)
            if isinstance(entry.value, Leaf) and opens(path) and _has_null(entry.value.data):
                as_block(entry)
            if isinstance(entry.value, Block) and not entry.value.listed:
                todo.append((path, entry.value))
            else:
                yield path, entry


def leftovers(old: Body, new: Body, steps: Sequence[Step]) -> dict[Path, str]:
    """Return what is to be decided of each key whose value the new file does not have.

    A key that is where it was, or that stands with the same value where it goes, is in the file;
    so is one whose parts went somewhere each by itself.
    """
    decisions: dict[Path, dict[str, None]] = {}
    holders = {step.path[:length] for step in steps for length in range(len(step.path))}
    for step in steps:
        path = step.path
        if step.outcome is not Outcome.ASKED or path in holders or not _has(old, path):
            continue
        value = value_at(old, path)
        targets = (_path(new, target) for target in step.targets)
        stands = (target is not None and value_at(new, target) == value for target in targets)
        if value_at(new, path) != value and not any(stands):
            decisions.setdefault(path, {})[step.do] = None
    return {path: " ".join(filter(None, said)) for path, said in decisions.items()}


def as_comments(document: Document, text: str, kept: Mapping[Path, str]) -> Iterator[str]:
    """Yield comment lines that hold old values, grouped by decision.

    document: the old file; text: the new one, whose comments are not repeated.
    """
    decisions: dict[str, list[Path]] = {}
    for path, do in kept.items():
        decisions.setdefault(do, []).append(path)
    there = {line.strip() for line in text.splitlines()}
    old = document.source.text.splitlines()

    @cache
    def above(key: Path) -> Sequence[str]:
        return _comments(old, document.locate(*key).line)

    for do, paths in decisions.items():
        names = ", ".join(".".join(path) for path in paths)
        yield f"# TODO: decide about {names}. {do}".rstrip()
        keys = (path[:length] for path in paths for length in range(1, len(path) + 1))
        lines = (line for key in keys for line in above(key))
        yield from (line for line in dict.fromkeys(lines) if line not in there)
        values: Body = {}
        for path in paths:
            values = merge(values, _below(path, value_at(document.body, path)))
        yield from (f"#   {line}".rstrip() for line in dump_yaml(values).splitlines())


def _comments(lines: Sequence[str], line: int) -> list[str]:
    """The comments that stand on the key of a line."""
    start = end = line - 1
    while start and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return [line.strip() for line in lines[start:end]]


def _below(path: Path, value: Json) -> Body:
    head, *rest = path
    return {head: _below(tuple(rest), value) if rest else value}


def _has(values: Json, path: Path) -> bool:
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def _path(values: Json, name: str) -> Path | None:
    """Return the path of a dotted name; a key may contain dots itself."""
    if not isinstance(values, dict):
        return None
    if name in values:
        return (name,)
    for dot in re.finditer(r"\.", name):
        head = name[: dot.start()]
        below = _path(values[head], name[dot.end() :]) if head in values else None
        if below is not None:
            return (head, *below)
    return None

"""The keys and command-line arguments of older charts and where their values are now, as tables,
and the current charts' keys: their order, which may be null, and which chart a file is of.

A value of another shape than its change reads is left for people to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from types import MappingProxyType
from typing import Final

from chartkit import bundled
from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.engine.values import Section, Value, written_out
from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.kyverno import controllers
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Json, mapping_at, pointer_steps
from chartkit.schemas import json_schema

Path = tuple[str, ...]

OLDEST: Final = Version(2, 0)
LAST_OF_TWO: Final = Version(2, 7)
FIRST_OF_THREE: Final = Version(3, 0)
NEWEST: Final = Version(3, 9)
CONTROLLERS: Final = tuple(controllers.CONTROLLERS.values())
_DATA: Final = File(__file__).parent / "data"
ENGINE: Final = "kyverno"
POLICIES: Final = "kyverno-policies"
REPORTER: Final = "policy-reporter"
CHARTS: Final = (ENGINE, POLICIES, REPORTER)
REPORTERS_OWN: Final = ("kyvernoPlugin", "ui")
"""Keys at the top that tell values of policy-reporter's chart from those of Kyverno's."""
_MOST_REFUSED: Final = 1_000
_AND_MORE: Final = "Correct these first: there may be more than 1,000 such values."


@dataclass(frozen=True, slots=True)
class Span:
    """The charts from one version to another, both among them."""

    first: Version = OLDEST
    last: Version = NEWEST

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"

    def meets(self, other: Span) -> bool:
        """Report whether a chart is in both."""
        return self.first <= other.last and other.first <= self.last

    def holds(self, other: Span) -> bool:
        """Report whether all charts of the other are in this one."""
        return self.first <= other.first and other.last <= self.last

    def within(self, other: Span) -> Span | None:
        """The charts that both have in common, or None."""
        if not self.meets(other):
            return None
        return Span(max(self.first, other.first), min(self.last, other.last))


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of a key.

    span: the charts that had it; targets: where it goes, none where nowhere; transform: how its
    value changes; why, do: the reason, and what is left to do, for people.
    """

    key: Path
    span: Span
    targets: tuple[Path, ...]
    transform: str
    why: str
    do: str

    @property
    def name(self) -> str:
        """The key with dots."""
        return ".".join(self.key)


@dataclass(frozen=True, slots=True)
class Argument:
    """The outcome of a command-line argument; kind: how its value is read."""

    flag: str
    kind: str
    targets: tuple[Path, ...]
    why: str
    do: str


@cache
def rows(chart: str) -> Mapping[Path, Row]:
    """The table of a chart: `kyverno`, `kyverno-policies` or `policy-reporter`."""
    table: dict[Path, Row] = {}
    for row in _read(f"{chart}.yaml")["keys"]:
        span = Span(
            parse_version(row.get("since", str(OLDEST)), "the chart"),
            parse_version(row.get("until", str(LAST_OF_TWO)), "the chart"),
        )
        targets = [row["to"]] if isinstance(row.get("to"), str) else row.get("to", [])
        if "each" in row:
            targets = [f"{controller}.{row['each']}" for controller in CONTROLLERS]
        key, new_keys = path(row["key"]), tuple(map(path, targets))
        transform = row.get("as", "move" if targets else "remove")
        table[key] = Row(key, span, new_keys, transform, row["why"], row.get("do", ""))
    return MappingProxyType(table)


def parents(keys: Iterable[Path]) -> frozenset[Path]:
    """Return keys with all that hold them."""
    return frozenset(key[:length] for key in keys for length in range(1, len(key) + 1))


@cache
def arguments() -> Mapping[str, Argument]:
    """The table of command line arguments, by each name that a flag had."""
    by_flag: dict[str, Argument] = {}
    for row in _read("arguments.yaml")["arguments"]:
        argument = Argument(
            row["flag"],
            row.get("value", "text"),
            tuple(path(target) for target in row.get("to", ())),
            row.get("why", "The chart has a key for it."),
            row.get("do", ""),
        )
        by_flag |= dict.fromkeys((argument.flag, *row.get("also", ())), argument)
    return MappingProxyType(by_flag)


def path(text: str) -> Path:
    """A path of keys without dots in them, from its text."""
    return tuple(text.split("."))


def _read(name: str) -> Body:
    body: Body = read_file(_DATA / name)[0].body
    return body


@cache
def _signs() -> Mapping[str, frozenset[str]]:
    return {name: frozenset(keys) for name, keys in _read("signs.yaml").items()}


def _is_single(value: Json) -> bool:
    return not isinstance(value, dict | list)


def _is_singles(value: Json) -> bool:
    members = value.values() if isinstance(value, dict) else value
    return _is_single(value) or all(map(_is_single, members))


def _is_environment(value: Json) -> bool:
    return not isinstance(value, dict) or _is_singles(value)


def _is_texts(value: Json) -> bool:
    listed = value if isinstance(value, list) else [value or ""]
    return all(isinstance(item, str) for item in listed)


_TEXTS: Final = ("filters", "spared-namespaces", "groups", "names")
_SHAPES: Final[Mapping[str, tuple[str, Callable[[Json], bool]]]] = {
    **dict.fromkeys(("image", "tag", "topology-key"), ("A single value", _is_single)),
    **dict.fromkeys(("kubectl-image", "test-image"), ("An image", _is_singles)),
    "env": ("A mapping of variables", _is_environment),
    "arguments": ("A list of arguments", _is_singles),
    **dict.fromkeys(_TEXTS, ("A list of texts", _is_texts)),
}
"""The shapes of values by the kind of their change: a name for messages, and whether one has it."""


def misshapen(transform: str, value: Json) -> str:
    """Return why a kind of change cannot read a value; empty where it can."""
    shape = _SHAPES.get(transform)
    if shape is None or shape[1](value):
        return ""
    return f"{shape[0]} stood there in every chart."


@dataclass(frozen=True, slots=True)
class Known:
    """The keys of a chart: a catalogue of all of them, or the names of the topmost ones, where
    what is below them depends on the chart's policies."""

    catalogue: Section | None
    names: frozenset[str]

    def has(self, path: Path) -> bool:
        """Report whether the chart has a key, or leaves open what is below one."""
        entry = self._entry(path)
        return entry is not None or (self.catalogue is None and path[0] in self.names)

    def may_be_null(self, path: Path) -> bool:
        """Report whether null is a value there."""
        entry = self._entry(path)
        return self.catalogue is None or (isinstance(entry, Value) and entry.type.endswith("?"))

    def is_value(self, path: Path) -> bool:
        """Report whether a key is one of the chart's and holds none of its keys."""
        return isinstance(self._entry(path), Value)

    def rank(self, path: Path) -> int:
        """Return the position of a key among its siblings; unknown keys come last."""
        entry: Section | Value | None = self.catalogue
        for step in path[:-1]:
            entry = entry.entries.get(step) if isinstance(entry, Section) else None
        if not isinstance(entry, Section) or path[-1] not in entry.entries:
            return 10**6
        return list(entry.entries).index(path[-1])

    def _entry(self, path: Path) -> Section | Value | None:
        entry: Section | Value | None = self.catalogue
        for step in path:
            if isinstance(entry, Value):
                return entry
            entry = entry.entries.get(step) if isinstance(entry, Section) else None
        return entry


@cache
def known(chart: str) -> Known:
    """The keys of a chart."""
    if chart == ENGINE:
        catalogue = engine_chart.catalogue()
        return Known(catalogue, frozenset(catalogue.entries))
    if chart == REPORTER:
        return Known(None, frozenset(_read(f"{chart}.yaml")["now"]))
    file = bundled.chart_source_dir(chart) / "values.schema.json"
    return Known(None, frozenset(json.loads(file.read_text("utf-8"))["properties"]))


@cache
def _rules() -> Mapping[str, Json]:
    return written_out(engine_chart.catalogue())


@cache
def _holders() -> frozenset[Path]:
    return parents(rows(ENGINE))


def refusals(
    chart: str, document: Document, leave_out: Set[Path]
) -> Iterator[tuple[Path, str, str | None]]:
    """Return the values that a chart refuses: the path, the message and the fix. For the
    engine's chart only: the other one depends on its policies. leave_out: keys that are refused,
    as is known. The rest of more than 1,000 is not looked for, as the last fix says."""
    if chart != ENGINE:
        return
    body = _as_helm_has(document.body, leave_out, ())
    ignored = frozenset({"required"})
    violations = json_schema.violations(document, _rules(), body, ignored, _MOST_REFUSED)
    for number, diagnostic in enumerate(violations, 1):
        pointer = diagnostic.location.path if diagnostic.location else ""
        hint = _AND_MORE if number == _MOST_REFUSED else diagnostic.hint
        yield pointer_steps(pointer), diagnostic.message, hint


def _as_helm_has(values: Json, leave_out: Set[Path], parent: Path) -> Json:
    """The values as Helm leaves them, which deletes keys that are null."""
    if not isinstance(values, dict):
        return values
    return {
        key: _as_helm_has(value, leave_out, (*parent, key))
        for key, value in values.items()
        if value is not None and (*parent, key) not in leave_out
    }


def is_of_engine(path: Path) -> bool:
    """Report whether a key is of the engine's chart, and not of names and labels that both have."""
    if path[0] in ("nameOverride", "customLabels"):
        return False
    return path[0] in _first_keys()


def is_engine_values(values: Body, named: bool) -> bool:
    """Report whether values are of the engine's chart; named: whether the user says so, so that
    keys that other charts have, too, are enough."""
    if _signs()["distinctive"] & values.keys():
        return True
    known_keys = [isinstance(key, str) and is_of_engine((key,)) for key in values]
    if not named and all(known_keys) and len(known_keys) > 0:
        config = mapping_at(values, "config")
        return bool(_signs()["old"] & values.keys() or _signs()["oldConfig"] & config.keys())
    return named and any(known_keys)


@cache
def _first_keys() -> Set[str]:
    old = {key[0] for key, row in rows(ENGINE).items() if row.transform != "other-chart"}
    return old | engine_chart.catalogue().entries.keys()


def origin(document: Document, chart: str, given: Version | None) -> Span:
    """The charts that a file may be of; given: what its owner says. Raises InputError where its
    keys contradict each other."""
    if given is not None:
        if not OLDEST <= given <= NEWEST:
            hint = f"charts {OLDEST} to {NEWEST} are known"
            raise InputError(f"chart {given} is not known", None, hint)
        return Span(given, given)
    span = Span()
    decider: Path = ()
    if chart != ENGINE:
        return span
    for path, own in _evidence(document.body, ()):
        narrowed = span.within(own)
        if narrowed is None:
            first = f"{'.'.join(decider)} (chart {span})"
            message = f"has {'.'.join(path)} of chart {own} beside {first}"
            hint = "say with --from which chart it is of"
            raise InputError(message, document.locate(*path), hint)
        if narrowed != span:
            span, decider = narrowed, path
    return span


def _evidence(body: Json, parent: Path) -> Iterator[tuple[Path, Span]]:
    """The keys that tell something, with the charts that had them."""
    table, holders, now = rows(ENGINE), _holders(), known(ENGINE)
    for key, value in body.items() if isinstance(body, dict) else ():
        path = (*parent, key)
        row = table.get(path)
        if row is not None and not now.has(path):
            yield path, row.span
        elif row is None and path in holders:
            yield from _evidence(value, path)
        elif row is None and now.has(path) and path[0] not in _signs()["shared"]:
            yield path, Span(FIRST_OF_THREE, NEWEST)

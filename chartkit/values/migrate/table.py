"""The outcomes of the keys and command-line arguments of older charts, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from types import MappingProxyType
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body
from chartkit.values.migrate.tree import Path

OLDEST: Final = Version(2, 0)
LAST_OF_TWO: Final = Version(2, 7)
FIRST_OF_THREE: Final = Version(3, 0)
NEWEST: Final = Version(3, 9)
CONTROLLERS: Final = (
    "admissionController",
    "backgroundController",
    "cleanupController",
    "reportsController",
)
_DATA: Final = File(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Span:
    """The charts from one version to another, both among them."""

    first: Version = OLDEST
    last: Version = NEWEST

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"

    def meets(self, other: Span) -> bool:
        """Return whether a chart is in both."""
        return self.first <= other.last and other.first <= self.last

    def holds(self, other: Span) -> bool:
        """Return whether all charts of the other are in this one."""
        return self.first <= other.first and other.last <= self.last

    def within(self, other: Span) -> Span | None:
        """The charts that are in both; None where there are none."""
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
    found = [_row(each) for each in _read(f"{chart}.yaml")["keys"]]
    return MappingProxyType({row.key: row for row in found})


@cache
def keys_now(chart: str) -> Sequence[str]:
    """The keys at the top of a chart's values now, where its table names them."""
    return tuple(_read(f"{chart}.yaml")["now"])


@cache
def arguments() -> Mapping[str, Argument]:
    """The table of command line arguments, by each name that a flag had."""
    found: dict[str, Argument] = {}
    for each in _read("arguments.yaml")["arguments"]:
        argument = Argument(
            each["flag"],
            each.get("value", "text"),
            tuple(path(target) for target in each.get("to", ())),
            each.get("why", "The chart has a key for it."),
            each.get("do", ""),
        )
        found |= dict.fromkeys((argument.flag, *each.get("also", ())), argument)
    return MappingProxyType(found)


def path(text: str) -> Path:
    """A path of keys without dots in them, from its text."""
    return tuple(text.split("."))


def _row(each: Body) -> Row:
    span = Span(
        parse_version(each.get("since", str(OLDEST)), "the chart"),
        parse_version(each.get("until", str(LAST_OF_TWO)), "the chart"),
    )
    targets: Sequence[str] = [each["to"]] if isinstance(each.get("to"), str) else each.get("to", [])
    if "each" in each:
        targets = [f"{controller}.{each['each']}" for controller in CONTROLLERS]
    return Row(
        path(each["key"]),
        span,
        tuple(path(target) for target in targets),
        each.get("as", "move" if targets else "remove"),
        each["why"],
        each.get("do", ""),
    )


def _read(name: str) -> Body:
    body: Body = read_file(_DATA / name)[0].body
    return body

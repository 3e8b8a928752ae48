"""The outcomes of the keys and command-line arguments of older charts, as tables.

A value of another shape than its change reads is left for people to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from types import MappingProxyType
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, Json

Path = tuple[str, ...]

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
        """Report whether a chart is in both."""
        return self.first <= other.last and other.first <= self.last

    def holds(self, other: Span) -> bool:
        """Report whether all charts of the other are in this one."""
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
    found = [_row(key) for key in _read(f"{chart}.yaml")["keys"]]
    return MappingProxyType({row.key: row for row in found})


def parents(keys: Iterable[Path]) -> frozenset[Path]:
    """Return keys with all that hold them."""
    return frozenset(key[:length] for key in keys for length in range(1, len(key) + 1))


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


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of values: its name in messages, and whether a value has it."""

    name: str
    holds: Callable[[Json], bool]


def _is_single(value: Json) -> bool:
    return not isinstance(value, dict | list)


def _is_singles(value: Json) -> bool:
    members = value.values() if isinstance(value, dict) else value
    return _is_single(value) or all(map(_is_single, members))


def _is_environment(value: Json) -> bool:
    return not isinstance(value, dict) or _is_singles(value)


def _is_texts(value: Json) -> bool:
    listed = value if isinstance(value, list) else [value or ""]
    return all(isinstance(each, str) for each in listed)


_SINGLE: Final = Shape("A single value", _is_single)
_IMAGE: Final = Shape("An image", _is_singles)
_ENVIRONMENT: Final = Shape("A mapping of variables", _is_environment)
_ARGUMENTS: Final = Shape("A list of arguments", _is_singles)
_TEXTS: Final = Shape("A list of texts", _is_texts)
_SHAPES: Final[Mapping[str, Shape]] = {
    "image": _SINGLE,
    "tag": _SINGLE,
    "kubectl-image": _IMAGE,
    "test-image": _IMAGE,
    "env": _ENVIRONMENT,
    "arguments": _ARGUMENTS,
    "topology-key": _SINGLE,
    "filters": _TEXTS,
    "spared-namespaces": _TEXTS,
    "groups": _TEXTS,
    "names": _TEXTS,
}


def misshapen(transform: str, value: Json) -> str:
    """Return why a kind of change cannot read a value; empty where it can."""
    shape = _SHAPES.get(transform)
    if shape is None or shape.holds(value):
        return ""
    return f"{shape.name} stood there in every chart."

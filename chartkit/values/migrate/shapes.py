"""Shapes of values that changes read: what has another one is left for people to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from chartkit.model import Json


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
_SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
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
)


def misshapen(transform: str, value: Json) -> str:
    """Return why a kind of change cannot read a value; empty where it can."""
    shape = _SHAPES.get(transform)
    if shape is None or shape.holds(value):
        return ""
    return f"{shape.name} stood there in every chart."

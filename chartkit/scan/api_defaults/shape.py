"""The changes that an API server makes to a typed object, as a tree of shapes.

Kubernetes decodes an object into Go structs, runs the defaulting functions of its version, and
encodes it again. A `Shape` describes what that changes in one struct. Nothing here raises: a value
that does not have its field's type is left unchanged, and so is a field that no shape names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from chartkit.go.quantity import Quantity
from chartkit.model import Body, Json

_NONE: Final[Mapping[str, Json]] = {}
_MAPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("annotations", "labels", "matchLabels", "nodeSelector"), ""),
    **dict.fromkeys(("binaryData", "data", "parameters", "stringData", "volumeAttributes"), ""),
    **dict.fromkeys(("capacity", "hard", "limits", "overhead", "requests"), "0"),
}
"""Fields that are maps with arbitrary keys, and the meaning of a null in them; empty maps are left
out."""

_KEPT_LISTS: Final = frozenset(
    ("admissionReviewVersions", "containers", "nodeSelectorTerms", "paths", "verbs")
)
"""Fields that are written even where the list is empty."""

_MILLI: Final = -3


Step = Callable[[Body], None]
"""A change of one struct in place."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One struct, in the order of what is done: absent: pointers and structs, filled in where the
    field is missing; steps: what is worked out; empty: plain fields, filled in also where they are
    zero; zero: plain fields, left out where they are zero; amounts: fields that are a quantity;
    resources: maps of quantities; parts: the shapes below, by the first field of their paths, each
    with its path (`env[].valueFrom`)."""

    absent: Mapping[str, Json] = field(default_factory=lambda: _NONE)
    steps: tuple[Step, ...] = ()
    empty: Mapping[str, Json] = field(default_factory=lambda: _NONE)
    zero: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    parts: Mapping[str, Sequence[tuple[str, Shape]]] = field(default_factory=dict)


def fill(shape: Shape, body: Body) -> None:
    """Change a body as an API server does."""
    for name, value in shape.absent.items():
        if name not in body:
            body[name] = copied(value)
    for step in shape.steps:
        step(body)
    for name, value in shape.empty.items():
        if name not in body or is_zero(body[name]):
            body[name] = copied(value)
    for name in shape.zero:
        if name in body and is_zero(body[name]):
            del body[name]
    for name in shape.amounts:
        if name in body:
            body[name] = canonical(body[name])
    for name in shape.resources:
        if isinstance(amounts := body.get(name), dict):
            amounts.update((key, canonical(amount, _MILLI)) for key, amount in amounts.items())
    for name in filter(body.__contains__, shape.parts):
        for path, part in shape.parts[name]:
            for below in at(body, path):
                fill(part, below)


def at(value: Json, path: str) -> Iterator[Body]:
    """Yield the objects at a path (`containers[].env[]`) below a value."""
    name, is_list, rest = first_step(path)
    below = value.get(name) if isinstance(value, dict) else None
    for item in below if is_list and isinstance(below, list) else [below]:
        if rest:
            yield from at(item, rest)
        elif isinstance(item, dict):
            yield item


@cache
def first_step(path: str) -> tuple[str, bool, str]:
    """Return the field that a path begins with, whether its elements are meant, and the rest."""
    step, _, rest = path.partition(".")
    name = step.removesuffix("[]")
    return name, name != step, rest


def is_zero(value: Json) -> bool:
    """Report whether a value counts as unset: null, an empty string, 0 or false."""
    return not value and (value is None or isinstance(value, str | bool | int))


def canonical(value: Json, least_exponent: int | None = None) -> Json:
    """Return a quantity as Kubernetes writes it, rounded up to 10^least_exponent; an invalid
    quantity is returned unchanged."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        amount = Quantity.parse(str(value))
    except ValueError:
        return value
    if least_exponent is not None and amount.exponent < least_exponent:
        unit: int = 10 ** (least_exponent - amount.exponent)
        if amount.unscaled % unit:
            rounded = -(-amount.unscaled // unit)
            amount = Quantity(rounded, least_exponent, amount.format)
    return str(amount)


def tidy(value: Json) -> Json:
    """Return a copy of a typed value without what Go omits: nulls, empty lists, empty maps."""
    if isinstance(value, list):
        return [tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept: Body = {}
    for key, item in value.items():
        if item.__class__ is str:
            kept[key] = item
            continue
        if item is None or (item == [] and key not in _KEPT_LISTS):
            continue
        if key in _MAPS and isinstance(item, dict):
            if item:
                kept[key] = {
                    name: _MAPS[key] if member is None else copied(member)
                    for name, member in item.items()
                }
            continue
        kept[key] = tidy(item)
    return kept


def copied(value: Json) -> Json:
    """Return a deep copy of a value's containers."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value

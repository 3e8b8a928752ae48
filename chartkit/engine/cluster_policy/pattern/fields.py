"""The fields of a value that a mismatch is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from chartkit.engine.cluster_policy.pattern.build import Mismatch, Part
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.engine.jmespath.traced import Traced
from chartkit.model import FieldPath, Json

_ITSELF: Final[tuple[FieldPath, ...]] = ((),)

_scalar = lru_cache(maxsize=1024, typed=True)(compile_scalar)


def mismatched_fields(mismatch: Mismatch, judged: Traced) -> Iterator[FieldPath]:
    """Yield the fields, the most telling first; judged: the value that does not match."""
    if mismatch.place is None:
        return
    part, places = mismatch.place
    indices = iter(places)
    steps = [next(indices) if step is None else step for step in part.path.steps]
    found = judged.inside(steps)
    for inner in _inside(part, found.value):
        yield from found.inside(inner).fields()


def _inside(part: Part, value: Json) -> Sequence[FieldPath]:
    """Return the places below a part of a pattern that tell more than the part, and itself."""
    pattern = part.pattern
    if value is None and isinstance(pattern, dict):
        return part.required if len(part.required) == 1 else ((), *part.required)
    if isinstance(value, list) and not isinstance(pattern, dict | list):
        holds = _scalar(pattern)
        return (*((index,) for index, member in enumerate(value) if not holds(member)), ())
    return _ITSELF

"""The fields of a value that a mismatch is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chartkit.engine.cluster_policy.pattern.anchors import parse_anchor
from chartkit.engine.cluster_policy.pattern.build import Mismatch
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.engine.jmespath.traced import Path, Traced
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.model import Json


def mismatched_fields(mismatch: Mismatch, judged: Traced) -> Iterator[Path]:
    """Yield the fields, the most telling first; judged: the value that does not match."""
    if mismatch.place is None:
        return
    part, places = mismatch.place
    indices = iter(places)
    steps = [next(indices) if step is None else step for step in part.path.steps]
    for inner in _inside(part.pattern, _walk(judged, steps).value):
        yield from _walk(judged, (*steps, *inner)).fields()


def _walk(value: Traced, steps: Sequence[str | int]) -> Traced:
    """Return the value at a path; where a key is none that objects have, what it is sought in."""
    for step in steps:
        if isinstance(step, str) and (has_wildcard(step) or parse_anchor(step) is not None):
            break
        if isinstance(value.value, list) and isinstance(step, str):
            step = int(step)
        value = value.member(step)
    return value


def _inside(pattern: Json, value: Json) -> Iterator[Path]:
    """Yield the places below a part of a pattern that tell more than the part, and itself."""
    if value is None and isinstance(pattern, dict):
        keys = list(_required(pattern, ()))
        if len(keys) == 1:
            yield keys[0]
        else:
            yield ()
            yield from keys
        return
    if isinstance(value, list) and not isinstance(pattern, dict | list):
        holds = compile_scalar(pattern)
        yield from ((index,) for index, member in enumerate(value) if not holds(member))
    yield ()


def _required(pattern: Json, path: Path) -> Iterator[Path]:
    """Yield the keys that an object must have to match."""
    if not isinstance(pattern, dict) or not pattern:
        yield path
        return
    for key, member in pattern.items():
        if parse_anchor(key) is None and not has_wildcard(key):
            yield from _required(member, (*path, key))

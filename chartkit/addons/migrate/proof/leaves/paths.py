"""Paths in the document of a request, and documents changed at a path without being changed.

A document has `object`, `oldObject`, `operation`, `userInfo`, `roles`, `clusterRoles` and
`namespaceLabels`. A path is a tuple of keys; `EACH` and `AT` stand for
what a list or a map has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final

from chartkit.model import Body, Json


class Step(Enum):
    """A step of a path that is not a key.

    EACH: an element of a list, or a key of a map; AT: an element of a list, or a value of a map.
    """

    EACH = "[]"
    AT = "[*]"


class Absent(Enum):
    """The value of a field that is not there."""

    ABSENT = "absent"


EACH: Final = Step.EACH
AT: Final = Step.AT
ABSENT: Final = Absent.ABSENT
Path = tuple[str | Step, ...]

MakeElement = Callable[[Path], Json]
"""Makes an element of the list at a path."""


def path_text(path: Path) -> str:
    """Return a path as policies write it: `object.spec.containers[].image`."""
    text = ""
    for step in path:
        if isinstance(step, Step):
            text += step.value
        elif isinstance(step, str) and step.replace("_", "a").isalnum():
            text += f".{step}" if text else step
        else:
            text += f"[{step}]"
    return text


def values_at(value: Json, path: Path) -> Iterator[Json]:
    """Yield the values at a path; `ABSENT` where a key is missing."""
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if isinstance(step, Step):
        members = value.values() if isinstance(value, dict) else value
        if isinstance(value, dict | list):
            for member in members:
                yield from values_at(member, rest)
    elif isinstance(value, dict) and step in value:
        yield from values_at(value[step], rest)
    else:
        yield ABSENT


def with_value(
    value: Json, path: Path, new: Json, make: MakeElement, *, mixed: bool = False, done: Path = ()
) -> Json:
    """Return a value with a new one at a path; `ABSENT` removes the field.

    make: gives the first element of a list that is not there; mixed: whether the last of at least
    two elements alone is changed, and not all of them.
    """
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, Step):
        members = list(value) if isinstance(value, list) else []
        if new is ABSENT and not rest:
            return members[:-1] if mixed else []
        while len(members) < 1 + mixed:
            members.append(make(done) if not members or rest else members[0])
        if mixed and len(members) > 1 and isinstance(members[-1], dict):
            members[-1] = _renamed(members[-1], members[:-1])
        below = (*done, EACH)
        changed = range(len(members) - 1, len(members)) if mixed else range(len(members))
        for index in changed:
            members[index] = with_value(members[index], rest, new, make, mixed=mixed, done=below)
        return members
    body: Body = dict(value) if isinstance(value, dict) else {}
    if new is ABSENT and (not rest or step not in body):
        body.pop(step, None)
        return body
    below = (*done, step)
    body[step] = with_value(body.get(step), rest, new, make, mixed=mixed, done=below)
    return body


def _renamed(member: Body, others: list[Json]) -> Body:
    """Return an element with a name of its own, as lists that are maps by name require."""
    names = [one.get("name") for one in others if isinstance(one, dict)]
    metadata = member.get("metadata")
    if isinstance(metadata, dict) and "name" in metadata:
        return {**member, "metadata": {**metadata, "name": f"{metadata['name']}-2"}}
    name = member.get("name")
    renamed = {**member, "name": f"{name}-2"} if isinstance(name, str) and name in names else member
    return {**renamed, "uid": f"{member['uid']}-2"} if "uid" in member else renamed

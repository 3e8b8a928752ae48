"""Paths in the document of a case, and in the objects and images that a policy looks up.

A document has the objects of a cluster below `cluster` by the resource that URLs name:
`v1/configmaps`; below `image` it has what a registry answers for every image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import parse_qs

from chartkit.model import Body, Json


class Step(Enum):
    """A step of a path that is not a key.

    EACH: an element of a list, or a key of a map; AT: an element of a list, or a value of a map.
    """

    EACH = "[]"
    AT = "[*]"
    __hash__ = object.__hash__


class Absent(Enum):
    """The value of a field that is not there."""

    ABSENT = "absent"


EACH: Final = Step.EACH
AT: Final = Step.AT
ABSENT: Final = Absent.ABSENT
Path = tuple[str | Step, ...]


class Mixed(Enum):
    """The lists in a path of which one element alone is changed: none, all, or the innermost."""

    NO = "no"
    EVERY = "every"
    INNER = "inner"
    __hash__ = object.__hash__


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
    value: Json,
    path: Path,
    new: Json,
    make: MakeElement,
    rivals: Sequence[Iterable[str]],
    *,
    mixed: Mixed = Mixed.NO,
    done: Path = (),
) -> Json:
    """Return a value with a new one at a path; `ABSENT` removes the field.

    make: gives the first element of a list that is not there; rivals: for each step of the path the
    keys to remove; mixed: the lists of which the last of at least two elements alone is changed,
    and not all of them.
    """
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, Step):
        members = list(value) if isinstance(value, list) else []
        alone = mixed is Mixed.EVERY or (mixed is Mixed.INNER and EACH not in rest)
        if new is ABSENT and not rest:
            return members[:-1] if alone else []
        while len(members) < 1 + alone:
            members.append(members[0] if members else make(done))
        if alone and len(members) > 1 and isinstance(members[-1], dict):
            members[-1] = renamed(members[-1], members[:-1])
        below = (*done, EACH)
        changed = range(len(members) - 1, len(members)) if alone else range(len(members))
        for index in changed:
            members[index] = with_value(
                members[index], rest, new, make, rivals, mixed=mixed, done=below
            )
        return members
    body: Body = dict(value) if isinstance(value, dict) else {}
    if new is ABSENT and (not rest or step not in body):
        body.pop(step, None)
        return body
    below = (*done, step)
    inside = with_value(body.get(step), rest, new, make, rivals, mixed=mixed, done=below)
    for other in rivals[len(done)]:
        body.pop(other, None)
    body[step] = inside
    return body


def renamed(member: Body, others: list[Json]) -> Body:
    """Return an element with a name of its own, as lists that are maps by name require."""
    names = [other.get("name") for other in others if isinstance(other, dict)]
    metadata = member.get("metadata")
    if isinstance(metadata, dict) and "name" in metadata:
        return {**member, "metadata": {**metadata, "name": f"{metadata['name']}-2"}}
    name = member.get("name")
    renamed = {**member, "name": f"{name}-b"} if isinstance(name, str) and name in names else member
    return {**renamed, "uid": f"{member['uid']}-2"} if "uid" in member else renamed


CLUSTER: Final = "cluster"
GLOBAL: Final = "globalContext"
SUBRESOURCE: Final = "subresource"
IMAGE: Final = "image"


@dataclass(frozen=True, slots=True)
class Lookup:
    """Objects that a policy looks up; namespace, name: empty for all, `x` for one that depends on
    the request; labels: those of which a list has the objects alone."""

    api_version: str
    resource: str
    namespace: str = ""
    name: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Return the key of its objects in the document of a case."""
        return f"{self.api_version}/{self.resource}"

    @property
    def path(self) -> Path:
        """Return the place of its answer: an object, or the list of all."""
        return (CLUSTER, self.key, EACH) if self.name else (CLUSTER, self.key)


def selected_labels(query: str) -> Iterator[tuple[str, str]]:
    """Yield the labels that the query of a URL asks for with an equals sign."""
    for selector in parse_qs(query).get("labelSelector", ()):
        for part in selector.split(","):
            key, _, text = part.replace("==", "=").partition("=")
            if text and not key.endswith("!"):
                yield key.strip(), text.strip()

"""Objects as an API server stores them, with the defaults that it fills in before policies see
them, by the table of built-in kinds (`kinds.yaml`).

The rules are those of Kubernetes 1.35: the versioned defaulting of each API group, what decoding
and encoding leave of an object, and the default admission plugins that ask for nothing in the
cluster but a Pod's service account. What a server makes up is not here: uid, times, generation,
status, addresses, ports of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.model import Body, Resource
from chartkit.scan.api_defaults import admission, steps
from chartkit.scan.api_defaults.admission import Accounts, mount_token
from chartkit.scan.api_defaults.shape import Shape, Step, fill, first_step, tidy

_TABLE: Final = Path(__file__).with_name("kinds.yaml")
_STEPS: Final = {**vars(steps), **vars(admission)}


def all_as_stored(resources: Sequence[Resource]) -> list[Resource]:
    """Return objects as an API server stores them; Pods take fields from the service accounts among
    the objects."""
    accounts = {
        (resource.namespace or "default", resource.name): resource.body
        for resource in resources
        if (resource.api_version, resource.kind) == ("v1", "ServiceAccount")
    }
    return [as_stored(resource, accounts) for resource in resources]


def as_stored(resource: Resource, accounts: Accounts | None = None) -> Resource:
    """Return an object as an API server stores it; the same object if its kind is not built in. The
    given object is not changed. accounts: the known service accounts."""
    kind = resource.api_version, resource.kind
    shape = _shapes().get(kind)
    if shape is None:
        return resource
    body: Body = tidy(resource.body)
    fill(shape, body)
    stored = Resource(body, resource.location)
    if kind == ("v1", "Pod"):
        mount_token(stored, accounts or {})
    return stored


@cache
def _shapes() -> Mapping[tuple[str, str], Shape]:
    table: Body = read_file(_TABLE)[0].body
    named: dict[str, Shape] = {}
    for name, body in table["shapes"].items():
        named[name] = _shape(body, named)
    return {
        (version, kind): _shape(body, named)
        for version, kinds in table["kinds"].items()
        for kind, body in kinds.items()
    }


def _shape(body: str | Body, named: Mapping[str, Shape]) -> Shape:
    if isinstance(body, str):
        return named[body]
    whole = named[body["partsOf"]].parts if "partsOf" in body else {}
    parts = {name: [*some] for name, some in whole.items()}
    for path, part in body.get("parts", {}).items():
        parts.setdefault(first_step(path)[0], []).append((path, _shape(part, named)))
    return Shape(
        absent=body.get("absent", {}),
        steps=tuple(map(_step, body.get("steps", ()))),
        empty=body.get("empty", {}),
        zero=tuple(body.get("zero", "").split()),
        amounts=tuple(body.get("amounts", ())),
        resources=tuple(body.get("resources", ())),
        parts=parts,
    )


def _step(given: str | Body) -> Step:
    """Return a step by its name, or make one of the arguments that are given with it."""
    if isinstance(given, str):
        step: Step = _STEPS[given]
        return step
    ((name, arguments),) = given.items()
    made: Step = _STEPS[name](*arguments)
    return made

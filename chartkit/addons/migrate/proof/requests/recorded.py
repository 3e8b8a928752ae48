"""The places that a policy reads, recorded while it answers requests, and the literals that it has:
what the forms of a policy say of themselves is not all that they look at."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.proof.leaves.leaf import Leaf, around_all, compared, place
from chartkit.addons.migrate.proof.leaves.legacy import literals_in
from chartkit.addons.migrate.proof.leaves.paths import EACH, Path
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.cases import Space, met_bases, with_values
from chartkit.addons.migrate.proof.requests.facets import Facet, facets_of
from chartkit.addons.migrate.proof.requests.schema import (
    LIST,
    SCALARS,
    least,
    normalized,
    root_type,
)
from chartkit.engine import Request
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.reads import Reads
from chartkit.model import Body, Json, Resource

_MOST: Final = 8
"""The most rounds in which the fields that an object lacks are put there."""
_OBJECTS: Final = ("object", "oldObject")


_NAMED: Final[dict[str, Path]] = {
    name: tuple(name.split("."))
    for name in (
        *("request.operation", "request.userInfo.username", "request.userInfo.groups"),
        *("request.roles", "request.clusterRoles", "request.namespace"),
    )
}
"""The parts of a request, besides its objects, that rules name."""
_ACCOUNTS: Final[tuple[str, ...]] = ("serviceAccountName", "serviceAccountNamespace")
"""The names of the parts of a user that is a service account."""
Ask = Callable[[Case, Request], object]
"""A function that asks a policy about a case, by a request whose reads are recorded."""


def besides(
    leaves: Sequence[Leaf],
    parts: Iterable[tuple[str, Body]],
    ask: Ask,
    base: Case,
    kind: GroupVersionKind,
    assumed: Mapping[str, str],
) -> Iterator[Leaf]:
    """Yield what a ClusterPolicy looks at and no leaf is about, and the literals that it has
    besides those of leaves.

    parts: its rules by name; ask: asks it; base: the least object of a kind; assumed: the types of
    its fields.
    """
    values = {(type(value), str(value)) for leaf in leaves for value in leaf.values}
    facets, _ = facets_of(leaves, kind, assumed)
    paths = {facet.path for facet in facets}
    met = met_bases(Space(kind, (base,), tuple(facets)))
    read = {path for case in (base, *met[:1]) for path in _places_read(ask, case, kind)}
    # What a loop asks of the elements of a list is seen as one read of the list.
    read |= {path for path in paths if any(path[:end] in read for end in range(3, len(path)))}
    for group, body in parts:
        literals = [part for literal in literals_in(body) for part in _alternatives(literal)]
        others = [literal for literal in literals if (type(literal), str(literal)) not in values]
        text = json.dumps(body, default=str)
        named = (place(path) for name, path in _NAMED.items() if name in text)
        accounts = {path for name in _ACCOUNTS if name in text for path in place((name,))}
        for path in sorted(read.union(accounts, *named), key=str):
            is_whole = path in accounts or path not in paths
            if others or is_whole:
                compared_with = compared(path, literals if is_whole else others)
                yield Leaf(path, tuple(around_all(compared_with)), group)


_IS_PATTERN: Final = re.compile("[|&]|^ *[<>]")


def _alternatives(literal: Json) -> Iterator[Json]:
    """Yield the alternatives of a pattern without their operators, or the literal itself. A value
    that is the text of the whole pattern, `a | b` or `>5`, passes a ClusterPolicy
    (`differences.OWN_WILDCARDS`): it is not tried.
    """
    if isinstance(literal, str) and _IS_PATTERN.search(literal):
        parts = (part.strip(" <>=") for part in re.split("[|&]", literal))
        yield from filter(None, parts)
    else:
        yield literal


def _places_read(ask: Ask, case: Case, kind: GroupVersionKind) -> frozenset[Path]:
    """Return the scalars and lists that a policy reads of an object, and of the one before it: what
    the object lacks is put there, as small as it may be, and the policy asked again."""
    root, space = root_type(kind), Space(kind, (case,), ())
    read: dict[Path, str] = {}
    for _ in range(_MOST):
        new: dict[Path, str] = {}
        for name, *steps in _read(ask, case):
            at = normalized(root, tuple(steps))
            if at is not None and (name, *at[0]) not in read:
                new[name, *at[0]] = at[1]
        holders = sorted((path for path in new if new[path] not in SCALARS), key=len)
        read |= new
        if not holders:
            break
        facets = [Facet(path, (least(new[path]),), 0, frozenset()) for path in holders]
        case = with_values(case, [(facet, facet.values[0]) for facet in facets], space)
    return frozenset(
        path for path, name in read.items() if name in SCALARS or name.startswith(LIST)
    )


def _read(ask: Ask, case: Case) -> Iterator[Path]:
    """Yield the paths that are read for a request, and for a background scan."""
    scanned = {key: value for key, value in case.document.items() if key != "userInfo"}
    for asked in (case, Case(scanned)):
        request = asked.request()
        old = request.old
        reads = Reads(request.resource.body, {} if old is None else old.body)
        body, before = reads.roots
        resource = Resource(body, request.resource.location)
        recorded = None if old is None else Resource(before, old.location)
        ask(asked, replace(request, resource=resource, old=recorded))
        for number, *steps in reads.paths():
            if number is not None:
                path = (EACH if step is None else step for step in steps)
                yield (_OBJECTS[int(number)], *path)

"""Differences grouped by cause, each with the smallest request that makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.proof.forms import Said
from chartkit.addons.migrate.proof.leaves.paths import CLUSTER, IMAGE, SUBRESOURCE
from chartkit.addons.migrate.proof.model import Aspect
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.contents import Contents
from chartkit.addons.migrate.proof.requests.schema import TEMPLATED
from chartkit.addons.migrate.proof.requests.storable import refusal
from chartkit.engine.cel_policies.kinds.validating import INDEX
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.model import (
    WITHOUT,
    Body,
    Json,
    Resource,
    Status,
    mapping_at,
    values_below,
    with_value,
)

MOST_TRIES: Final = 400
_KEPT: Final = frozenset(("object", "oldObject", "operation", CLUSTER, IMAGE, SUBRESOURCE))
_FIXED: Final = frozenset(("operation", "apiVersion", "kind"))

_SIMPLE: Final = "registry.example/"
_IMAGE: Final = f"{_SIMPLE}app:1.0"
"""The simplest image: least objects have it."""
_USER: Final = ("userInfo", "username")
"""Every request has it."""


def minimized(case: Case, differs: Callable[[Case], bool], most: int = MOST_TRIES) -> Case:
    """Return a request from which nothing can be taken away without losing the difference.

    differs: whether a request still makes it; most: how many requests are tried.
    """
    tries, shrinking, contents = 0, True, Contents()
    while shrinking:
        shrinking, at = False, 0
        candidates = list(_smaller(case.document))
        while at < len(candidates):
            candidate = replace(case, document=candidates[at])
            at += 1
            if refusal(candidate.document, contents):
                continue
            tries += 1
            if tries > most:
                return case
            if differs(candidate):
                case, shrinking, at = candidate, True, at - 1
                candidates = list(_smaller(case.document))
    return case


def _smaller(document: Body) -> Iterator[Body]:
    """Yield documents with one part less, large parts first, then simpler values."""
    if document.get("operation") != "CREATE" and SUBRESOURCE not in document:
        created = {key: value for key, value in document.items() if key != "oldObject"}
        yield {**created, "operation": "CREATE"}
    for key in document:
        if key not in _KEPT:
            yield {name: value for name, value in document.items() if name != key}
    below = [
        (path, value)
        for path, value in values_below(document)
        if path[:1] not in ((), (SUBRESOURCE,))
    ]
    below = sorted(
        (step for step in below if step[0][-1] not in _FIXED), key=lambda step: len(step[0])
    )
    for pointer, _ in below:
        if len(pointer) > 1 and pointer != _USER and (pointer[0] != CLUSTER or len(pointer) > 2):
            yield with_value(document, pointer, WITHOUT)
    for pointer, value in below:
        if pointer[-1] == "image" and isinstance(value, str) and not value.startswith(_SIMPLE):
            yield with_value(document, pointer, _IMAGE)
        for simpler in _simpler(value):
            yield with_value(document, pointer, simpler)


def _simpler(value: Json) -> Iterator[Json]:
    """Yield simpler values of the same type."""
    if isinstance(value, str):
        if value.startswith(_SIMPLE) or len(value) <= 1:
            return
        yield "x"
        yield from dict.fromkeys((value[len(value) // 2 :], value[1:], value[:-1]))
    elif isinstance(value, int) and not isinstance(value, bool) and value not in (0, 1):
        yield 1
        yield 0


def signature(aspect: Aspect, case: Case, legacy: Said, new: Said) -> tuple[object, ...]:
    """Return what distinguishes a difference from another: the aspect, and who said what."""
    rules = tuple(
        (written_name(result.rule), result.status)
        for result in legacy.results
        if result.status is not Status.PASS
    )
    policies = tuple(
        (result.policy_id, result.status, result.properties.get(INDEX))
        for result in new.results
        if result.status is not Status.PASS
    )
    about = (case.is_background, case.document.get("operation"))
    return (aspect, *about, legacy.answer.result, new.answer.result, rules, policies)


def as_pod(case: Case) -> Body:
    """Return a request with the Pod of a controller in its place."""
    body = case.document["object"]
    template = TEMPLATED.get(kind_of(Resource(body)))
    if template is None:
        return case.document
    pod: Body = {**mapping_at(body, *template), "apiVersion": "v1", "kind": "Pod"}
    return {**case.document, "object": {**pod, "metadata": body["metadata"]}}

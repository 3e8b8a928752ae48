"""The smallest object of a kind, as an API server takes it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.model import Body, Location, Resource
from chartkit.suggestions import suggestion


@cache
def skeletons() -> Mapping[str, Body]:
    """Return the skeletons by kind."""
    (document,) = read_file(Path(__file__).with_name("skeletons.yaml"))
    found: Mapping[str, Body] = document.body
    return found


def skeleton(kind: str) -> Resource:
    """Return the skeleton of a kind; raise InputError for one that has none."""
    body = skeletons().get(kind)
    if body is None:
        known = ", ".join(skeletons())
        hint = suggestion(kind, skeletons()) or f"--from FILE names an object of it; known: {known}"
        raise InputError(f"there is no smallest object of kind '{kind}'", hint=hint)
    return Resource(body, Location(f"<{kind}>"))

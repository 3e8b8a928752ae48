"""Lists of objects, read page by page and handed on one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.model import Body, Json
from chartkit.network.cluster.cleaning import cleaned
from chartkit.network.cluster.source import EXPIRED, TOO_LARGE, RefusedError, Source, with_query

PAGE: Final = 500
"""Objects a page, as `kubectl` has it."""
SMALLEST: Final = 5
MOST_RESTARTS: Final = 5


def listed(source: Source, path: str, api_version: str, kind: str) -> Iterator[Body]:
    """Yield the objects of a list, each with its kind, without fields that no policy evaluates.

    A list whose token to go on has expired (410) is read again from its start; what was handed on
    is not handed on twice. Where a page is too large, smaller ones follow. Raises what the source
    raises.
    """
    seen: set[tuple[str, str]] = set()
    following = ""
    restarts, size = 0, PAGE
    while True:
        query = {"limit": str(size)} | ({"continue": following} if following else {})
        try:
            page = source.get(with_query(path, query))
        except RefusedError as error:
            if error.status == TOO_LARGE and size > SMALLEST:
                size //= 10
                continue
            if error.status != EXPIRED or not following or restarts == MOST_RESTARTS:
                raise
            restarts += 1
            following = ""
            # Another question than before, so that a recording keeps the answers to both.
            size = max(1, size - 1)
            continue
        for body in _items(page):
            whole = cleaned({"apiVersion": api_version, "kind": kind, **body})
            metadata = whole["metadata"]
            key = (metadata.get("namespace") or "", metadata["name"])
            if key not in seen:
                seen.add(key)
                yield whole
        going_on = page.get("metadata")
        following = str((going_on if isinstance(going_on, dict) else {}).get("continue") or "")
        if not following:
            return


def _items(page: Body) -> Iterator[Body]:
    """Yield the objects of a page; raises RefusedError for anything but a list of objects."""
    items = page.get("items", "")
    if not str(page.get("kind", "List")).endswith("List") or not isinstance(items, list | None):
        raise RefusedError(0, "the response is not a list")
    for item in items or ():
        if not isinstance(item, dict) or not _is_named(item.get("metadata")):
            raise RefusedError(0, "the response lists something that is not an object")
        yield item


def _is_named(metadata: Json) -> bool:
    """Tell whether this is the metadata of an object: its name is a text, and so is its
    namespace."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return False
    return isinstance(metadata.get("namespace"), str | None)

"""The folder that archives wrap around a policy library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def strip_root(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files without the one folder that archives wrap around a library.

    It is kept where it is a category: where below it a folder is a policy.
    """
    tops = {name.partition("/")[0] for name in files}
    inner = {name.partition("/")[2]: content for name, content in files.items()}
    if len(tops) != 1 or "" in inner or not _has_categories(inner):
        return dict(files)
    return inner


def _has_categories(names: Iterable[str]) -> bool:
    """Return whether a file is as deep as a category's policies."""
    return any(
        name.count("/") >= 2 and not any(part.startswith(".") for part in name.split("/"))
        for name in names
    )

"""Values of charts, merged as Helm merges them, with the place of each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.model import Body, Location
from chartkit.schemas.json_schema import require_single_keys

ValuesSource = Path | Document | Mapping[str, Any]
"""A values file, one that was read already, or values as they are."""


@dataclass(frozen=True, slots=True)
class Values:
    """merged: what Helm is given; documents: the files it comes from, the last wins."""

    merged: Body
    documents: tuple[Document, ...]

    def locate(self, path: Sequence[str | int]) -> Location | None:
        """The place of a key in the last file that has all of it, or most of it."""
        best: Location | None = None
        for document in reversed(self.documents):
            location = document.locate(*path)
            if best is None or location.path.count("/") > best.path.count("/"):
                best = location
        return best


def read_values(sources: Sequence[ValuesSource]) -> Values:
    """Values merged as Helm merges them: maps key by key, anything else whole, null kept."""
    merged: Body = {}
    documents: list[Document] = []
    for source in sources:
        if isinstance(source, Mapping):
            body = source
        else:
            read = [source] if isinstance(source, Document) else read_file(source)
            documents.extend(read[:1])
            if not read or read[0].body is None:
                body = {}
            else:
                values_body = read[0].body
                if len(read) > 1:
                    message = "has more than one YAML document"
                    raise InputError(message, read[1].location, "keep one")
                if not isinstance(values_body, dict):
                    file = str(source) if isinstance(source, Path) else source.source.file
                    raise InputError("must be a mapping of values", Location(file, 1))
                if isinstance(source, Path):
                    require_single_keys(read[0])
                body = values_body
        merged = merge(merged, body)
    return Values(merged, tuple(documents))


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Body:
    """One values map laid over another, as Helm lays values files over one another."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(below, value) if both and below is not None else value
    return merged

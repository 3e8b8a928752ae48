"""The types of custom kinds that policies imply: what has fields is an object, what is gone through
a list, and what is compared with a text is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chartkit.migration.proof.leaves.paths import ABSENT, EACH, Path, values_at
from chartkit.migration.proof.requests.facets import Facet
from chartkit.model import Body, Json


class ImpliedTypes:
    """The types that the places of custom kinds have by what the policies do with them."""

    def __init__(self, facets: Iterable[Facet]) -> None:
        self._types: dict[Path, tuple[type, ...]] = {}
        for facet in facets:
            if facet.typed or facet.path[0] not in ("object", "oldObject"):
                continue
            for index in range(2, len(facet.path)):
                step = facet.path[index]
                self._imply(facet.path[:index], (list,) if step is EACH else (dict,))
            if facet.types:
                self._imply(facet.path, facet.types)

    def _imply(self, path: Path, types: tuple[type, ...]) -> None:
        known = self._types.get(path, ())
        self._types[path] = tuple(dict.fromkeys((*known, *types)))

    def agree(self, document: Body) -> bool:
        """Return whether a request's object has these types, or none of its fields."""
        return not any(self._faults(document))

    def _faults(self, document: Body) -> Iterator[Path]:
        for path, types in self._types.items():
            for value in values_at(document, path):
                if value is not ABSENT and not _is_one(value, types):
                    yield path


def _is_one(value: Json, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types)

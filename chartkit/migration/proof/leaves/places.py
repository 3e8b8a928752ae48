"""Places of a request that expressions name, as paths in the document of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from chartkit.migration.proof.leaves.cluster import CLUSTER, GLOBAL
from chartkit.migration.proof.leaves.paths import EACH, Path
from chartkit.model import Json

Note = Callable[[Path, Iterable[Json]], None]
"""Takes a place that an expression looks at, and the literals that it is compared with."""

_OBJECT: Final[Path] = ("object",)
_RENAMED: Final[dict[Path, Path]] = {
    ("request", "object"): _OBJECT,
    ("request", "oldObject"): ("oldObject",),
    ("request", "userInfo"): ("userInfo",),
    ("request", "operation"): ("operation",),
    ("request", "roles"): ("roles",),
    ("request", "clusterRoles"): ("clusterRoles",),
    ("request", "namespace"): ("object", "metadata", "namespace"),
    ("request", "name"): ("object", "metadata", "name"),
    ("namespaceObject", "metadata", "labels"): ("namespaceLabels",),
    ("namespaceObject", "metadata", "name"): ("object", "metadata", "namespace"),
    ("serviceAccountName",): ("userInfo", "username"),
    ("serviceAccountNamespace",): ("userInfo", "username"),
}
_ROOTS: Final = frozenset(
    (
        *("object", "oldObject", "userInfo", "operation", "roles", "clusterRoles"),
        *("namespaceLabels", CLUSTER, GLOBAL),
    )
)
_IMAGES: Final = ("containers", "initContainers", "ephemeralContainers")


def place(path: Path) -> tuple[Path, ...]:
    """Return the places of a case's document that a path of an expression is about."""
    if path[:1] == (CLUSTER,) and path[2:3] == ("items",):
        path = (*path[:2], *path[3:])
    for length in (3, 2, 1):
        renamed = _RENAMED.get(path[:length])
        if renamed is not None:
            return ((*renamed, *path[length:]),)
    if path[:1] == ("images",):
        lists = [one for one in _IMAGES if one in path[1:2]] or _IMAGES
        return tuple(("object", "spec", one, EACH, "image") for one in lists)
    return (path,) if path and path[0] in _ROOTS else ()


def compared(path: Path, literals: Iterable[Json]) -> list[Json]:
    """Return the values of a place that come to literals which a part of it is compared with."""
    if path == ("serviceAccountName",):
        return [f"system:serviceaccount:default:{one}" for one in literals]
    if path == ("serviceAccountNamespace",):
        return [f"system:serviceaccount:{one}:app" for one in literals]
    if path[:1] == ("images",):
        return [_image(str(path[-1]), one) for one in literals]
    return list(literals)


def _image(part: str, text: Json) -> str:
    if part == "registry":
        return f"{text}/app:1.0"
    if part == "tag":
        return f"registry.example/app:{text}"
    if part == "digest":
        return f"registry.example/app@{text}"
    return (
        str(text) if part in ("reference", "referenceWithTag") else f"registry.example/{text}:1.0"
    )

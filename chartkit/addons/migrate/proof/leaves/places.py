"""Places of a request that expressions name, as paths in the document of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from chartkit.addons.migrate.proof.leaves.cluster import CLUSTER, GLOBAL, IMAGE
from chartkit.addons.migrate.proof.leaves.paths import EACH, Path
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
        *("namespaceLabels", CLUSTER, GLOBAL, IMAGE),
    )
)
_ACCOUNT: Final = "system:serviceaccount:"
_ALIKE: Final = "oidc-user-of-a-company"
"""The beginning of a user's name, as long as that of service accounts."""
_TEXTS: Final[dict[Path, int]] = {
    ("userInfo", "username"): 2,
    ("userInfo", "uid"): 2,
    ("userInfo", "groups"): 3,
    **dict.fromkeys((("roles",), ("clusterRoles",), ("namespaceLabels",)), 2),
    ("operation",): 1,
}
"""By place of a request: the longest path there, to a text."""
_REFERENCES: Final = frozenset(
    (IMAGE, part) for part in ("image", "registry", "repository", "identifier", "resolvedImage")
)
"""Parts of a registry's answer that the reference decides."""
_IMAGES: Final = ("containers", "initContainers", "ephemeralContainers")


def place(path: Path) -> tuple[Path, ...]:
    """Return the places of a case's document that a path of an expression is about."""
    if path[:1] == (CLUSTER,) and path[2:3] == ("items",):
        path = (*path[:2], *path[3:])
    for length in (3, 2, 1):
        renamed = _RENAMED.get(path[:length])
        if renamed is not None:
            return (_of_texts((*renamed, *path[length:])),)
    if path[:2] == (IMAGE, "configData"):
        path = (IMAGE, "config", *path[2:])
    if path[:1] == ("images",) or path[:2] in _REFERENCES:
        lists = [one for one in _IMAGES if one in path[1:2]] or _IMAGES
        return tuple(("object", "spec", one, EACH, "image") for one in lists)
    return (_of_texts(path),) if path and path[0] in _ROOTS else ()


def _of_texts(path: Path) -> Path:
    """Return the place of a request that a path is about: what is in it but objects is text."""
    longest = _TEXTS.get(path[:2], _TEXTS.get(path[:1], len(path)))
    return path[:longest]


def compared(path: Path, literals: Iterable[Json]) -> list[Json]:
    """Return the values of a place that come to literals which a part of it is compared with."""
    if path == ("serviceAccountName",):
        return [
            name for one in literals for name in (f"{_ACCOUNT}default:{one}", f"{_ALIKE}:{one}")
        ]
    if path == ("serviceAccountNamespace",):
        return [name for one in literals for name in (f"{_ACCOUNT}{one}:app", f"{_ALIKE}{one}:app")]
    if path[:1] == ("images",) or path[:2] in _REFERENCES:
        return [_image(str(path[-1]), one) for one in literals]
    return list(literals)


def _image(part: str, text: Json) -> str:
    if part == "registry":
        return f"{text}/app:1.0"
    if part == "tag":
        return f"registry.example/app:{text}"
    if part == "digest":
        return f"registry.example/app@{text}"
    if part in ("image", "reference", "referenceWithTag"):
        return str(text)
    return f"registry.example/{text}:1.0"

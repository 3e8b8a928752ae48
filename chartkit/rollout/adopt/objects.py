"""Objects as a project's files have them: without what an API server and deployers wrote."""

from __future__ import annotations

from typing import Final

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.model import Body, mapping_at
from chartkit.network.cluster.cleaning import LAST_APPLIED
from chartkit.rollout.adopt.model import Piece

_METADATA: Final = ("name", "namespace", "labels", "annotations")
_MARKS: Final = frozenset(
    (
        LAST_APPLIED,
        "app.kubernetes.io/managed-by",
        "helm.sh/chart",
        "argocd.argoproj.io/instance",
        "argocd.argoproj.io/tracking-id",
    )
)
_MARK_PREFIXES: Final = (
    "meta.helm.sh/",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
)


def plain(body: Body) -> Body:
    """Return an object without its status, the fields that an API server wrote, and the labels and
    annotations by which deployers know what is theirs."""
    metadata = mapping_at(body, "metadata")
    kept: Body = {key: metadata[key] for key in _METADATA if key in metadata}
    for key in ("labels", "annotations"):
        if isinstance(kept.get(key), dict):
            kept[key] = {name: each for name, each in kept[key].items() if not _is_mark(str(name))}
        if not kept.get(key):
            kept.pop(key, None)
    first: Body = {key: body[key] for key in ("apiVersion", "kind") if key in body}
    rest = {key: each for key, each in body.items() if key not in (*first, "metadata", "status")}
    return {**first, "metadata": kept, **rest}


def text_of(piece: Piece) -> str:
    """Return the text of an object for a file of the project."""
    return piece.text or dump_yaml(plain(piece.resource.body))


def _is_mark(name: str) -> bool:
    return name in _MARKS or name.startswith(_MARK_PREFIXES)

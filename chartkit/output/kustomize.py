"""Rendered charts as Kustomize bases and overlays.

What is the same in every environment stands in `base/`, what is not in `overlays/<env>/`, whole
and not as patches, so that an overlay can be read. Helm's hooks have no counterpart there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from chartkit.documents.reader import read_source
from chartkit.documents.yaml_dump import dump_documents, dump_yaml
from chartkit.model import Body, Resource

_API = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
_HEADER = "# Written by chartkit render --kustomize; an edit is lost.\n"
_DEFINITION = "CustomResourceDefinition"


def overlays(rendered: Mapping[str, Sequence[Resource]]) -> dict[str, str]:
    """The files of one chart's base and overlays, by path.

    rendered: what is installed, by environment.
    """
    common = _common(rendered)
    base = [each.body for each in next(iter(rendered.values()), ()) if _text(each) in common]
    # Kustomize refuses a base without anything in it.
    files = dict(_folder("base", [], base)) if base else {}
    for name, found in rendered.items():
        own = [each.body for each in found if _text(each) not in common]
        files.update(_folder(f"overlays/{name}", ["../../base"] if base else [], own))
    return files


def is_written(file: Path) -> bool:
    """Return whether chartkit wrote a file there."""
    return read_source(file).startswith(_HEADER)


def _common(rendered: Mapping[str, Sequence[Resource]]) -> frozenset[str]:
    """The objects, as text, that every environment has."""
    sides = [frozenset(map(_text, found)) for found in rendered.values()]
    return frozenset.intersection(*sides) if sides else frozenset()


def _text(resource: Resource) -> str:
    return json.dumps(resource.body, sort_keys=True)


def _folder(folder: str, below: Sequence[str], bodies: Sequence[Body]) -> Iterator[tuple[str, str]]:
    """One kustomization: its objects, the definitions in a file of their own."""
    parts = {
        "crds.yaml": [body for body in bodies if body["kind"] == _DEFINITION],
        "objects.yaml": [body for body in bodies if body["kind"] != _DEFINITION],
    }
    written = [name for name, found in parts.items() if found]
    for name in written:
        yield f"{folder}/{name}", _HEADER + dump_documents(parts[name])
    kustomization: Body = {**_API, "resources": [*below, *written]}
    yield f"{folder}/kustomization.yaml", _HEADER + dump_yaml(kustomization)

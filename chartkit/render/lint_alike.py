"""Environments in whose chart `helm lint` finds nothing, as it has found nothing in that of others.

Helm lints what a chart renders to object by object. Where an environment's objects differ from
those of linted ones in nothing that it looks at, it finds nothing in them either. In doubt it is
asked.

Source: `pkg/chart/v2/lint/rules` of Helm 4.2. Of its rules, those for templates alone depend on an
environment: the first line's indentation, whether YAML can be read, names, API versions that are
removed in the cluster's version, selectors of workloads, annotations of Lists.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from chartkit.helm.backend import chosen_program, library_folder
from chartkit.helm.render import RenderedChart
from chartkit.model import Resource, mapping_at

LIBRARY: Final = "helm-python-sdk"
READ: Final = frozenset({"0.2.2"})
"""The versions of Helm's library whose rules are those that this module goes by."""

_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
"""A name that an object of any kind may have."""
_SELECTING: Final = frozenset({"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"})
_SELECTORS: Final = ("matchLabels", "matchExpressions")
_LIST: Final = "List"
_LONGEST_LINE: Final = 60_000
"""Helm's rule for the first line reads no longer ones."""


def knows_rules() -> bool:
    """Return whether the Helm in use lints by the rules that this module goes by."""
    folder = library_folder() if chosen_program() is None else None
    if folder is None:
        return False
    name = LIBRARY.replace("-", "_")
    return any((folder / f"{name}-{version}.dist-info").is_dir() for version in READ)


def lints_alike(linted: Sequence[RenderedChart], other: RenderedChart, shown: Path) -> bool:
    """Return whether it is certain that `helm lint` finds nothing in what a chart renders to in one
    environment, where it has found nothing in what it renders to in others.

    linted: those of environments whose clusters are no older; shown: the folder in the objects'
    places.
    """
    if not linted or any(each.warnings for each in (*linted, other)):
        return False
    known = _Known(linted)
    by_file: dict[str, list[Resource]] = {}
    for each in (*other.resources, *other.hooks):
        by_file.setdefault(each.location.file, []).append(each)
    return all(
        any(each.texts.get(name) == text for each in linted)
        or known.has_like(text, by_file.get(str(shown / name.partition("/")[2]), []))
        for name, text in other.texts.items()
        if text.strip()
    )


class _Known:
    """The objects of a chart in which `helm lint` has found nothing."""

    def __init__(self, linted: Sequence[RenderedChart]) -> None:
        objects = [each for one in linted for each in (*one.resources, *one.hooks)]
        self._kinds = {(each.api_version, each.kind) for each in objects}
        self._names = {(each.kind, each.name) for each in objects}

    def has_like(self, text: str, objects: list[Resource]) -> bool:
        """Return whether a file is judged alike; objects: those that it renders to."""
        first = next((line for line in text.split("\n") if line.strip()), "")
        if first[:1].isspace() or len(first) > _LONGEST_LINE:
            return False
        return bool(objects) and all(self._is_right(each, text) for each in objects)

    def _is_right(self, resource: Resource, text: str) -> bool:
        given = mapping_at(resource.body, "metadata")
        if not isinstance(given.get("name"), str) or resource.kind == _LIST:
            return False
        if not isinstance(given.get("namespace", ""), str):
            return False
        if (resource.api_version, resource.kind) not in self._kinds:
            return False
        if resource.kind in _SELECTING and not any(each in text for each in _SELECTORS):
            return False
        named = (resource.kind, resource.name)
        return named in self._names or _NAME.fullmatch(resource.name) is not None

"""The objects and images that a policy asks for, as places in the document of a case.

A document has the objects of a cluster below `cluster` by the resource that URLs name:
`v1/configmaps`; below `image` it has what a registry answers for every image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from chartkit.addons.migrate.proof.leaves.paths import EACH, Path
from chartkit.engine.kubernetes.kinds import resource_name
from chartkit.model import Body, Json, list_of, mapping_at, mappings_at

CLUSTER: Final = "cluster"
GLOBAL: Final = "globalContext"
IMAGE: Final = "image"
_VARIABLE: Final = re.compile(r"\{\{.*?\}\}")
_UNKNOWN: Final = "x"


@dataclass(frozen=True, slots=True)
class Lookup:
    """Objects that a policy looks up; namespace, name: empty for all, `x` for one that depends on
    the request; labels: those of which a list has the objects alone."""

    api_version: str
    resource: str
    namespace: str = ""
    name: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Return the key of its objects in the document of a case."""
        return f"{self.api_version}/{self.resource}"

    @property
    def path(self) -> Path:
        """Return the place of its answer: an object, or the list of all."""
        return (CLUSTER, self.key, EACH) if self.name else (CLUSTER, self.key)


def url_lookup(url: Json) -> Lookup | None:
    """Return what a URL path of the Kubernetes API asks for; None for one that cannot be told."""
    if not isinstance(url, str):
        return None
    path, _, query = _VARIABLE.sub(_UNKNOWN, url).partition("?")
    root, *rest = path.strip("/").split("/")
    if root == "apis" and len(rest) >= 2:
        api_version, rest = "/".join(rest[:2]), rest[2:]
    elif root == "api" and rest:
        api_version, rest = rest[0], rest[1:]
    else:
        return None
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not rest or len(rest) > 2:
        return None
    name = rest[1] if len(rest) > 1 else ""
    return Lookup(api_version, rest[0], namespace, name, tuple(selected_labels(query)))


def selected_labels(query: str) -> Iterator[tuple[str, str]]:
    """Yield the labels that the query of a URL asks for with an equals sign."""
    for selector in parse_qs(query).get("labelSelector", ()):
        for part in selector.split(","):
            key, _, text = part.replace("==", "=").partition("=")
            if text and not key.endswith("!"):
                yield key.strip(), text.strip()


def configmap_lookup(entry: Json) -> Lookup | None:
    """Return what the `configMap` of a context entry asks for."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    name = _VARIABLE.sub(_UNKNOWN, entry["name"])
    namespace = _VARIABLE.sub(_UNKNOWN, str(entry.get("namespace") or "default"))
    return Lookup("v1", "configmaps", namespace, name)


def source_lookups(body: Json) -> Iterator[Lookup]:
    """Yield what a generate rule clones."""
    if not isinstance(body, dict):
        return
    clone = body.get("clone")
    if isinstance(clone, dict) and isinstance(clone.get("name"), str):
        version, plural = str(body.get("apiVersion") or "v1"), resource_name(str(body.get("kind")))
        yield Lookup(version, plural, _sample(clone.get("namespace")), _sample(clone["name"]))
    several = body.get("cloneList")
    if isinstance(several, dict):
        for text in several.get("kinds") or ():
            version, _, kind = str(text).rpartition("/")
            namespace, labels = _sample(several.get("namespace")), _selected(several)
            yield Lookup(version or "v1", resource_name(kind), namespace, labels=labels)


def _selected(body: Body) -> tuple[tuple[str, str], ...]:
    """Return labels of which a `selector` takes an object."""
    found = {
        key: text
        for key, text in mapping_at(body, "selector", "matchLabels").items()
        if isinstance(text, str)
    }
    for one in mappings_at(mapping_at(body, "selector"), "matchExpressions"):
        if one.get("operator") in ("In", "Exists") and isinstance(one.get("key"), str):
            found[one["key"]] = str(next(iter(list_of(one.get("values"))), _UNKNOWN))
    return tuple(found.items())


def _sample(text: Json) -> str:
    return _VARIABLE.sub(_UNKNOWN, text) if isinstance(text, str) else ""

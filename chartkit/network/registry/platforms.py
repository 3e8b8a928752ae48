"""The image of an index that is read: the one for linux/amd64, as by Kyverno on every platform."""

from __future__ import annotations

from typing import Final

from chartkit.engine.scalars.registry_reference import RegistryReference
from chartkit.model import Json
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.registry.client import DOCKER_INDEX, OCI_INDEX, Document, read_json
from chartkit.network.registry.errors import RegistryError
from chartkit.network.registry.settings import Limits

_INDEXES: Final = frozenset({OCI_INDEX, DOCKER_INDEX})
_SCHEMA_1: Final = "application/vnd.docker.distribution.manifest.v1"
_PLATFORM: Final = ("linux", "amd64")


def image_of(
    artifacts: Artifacts,
    repository: RegistryReference,
    document: Document,
    name: str,
    depth: int = Limits().depth,
) -> tuple[Json, Document]:
    """Return the index, None where a document is none, and the manifest of the platform.

    name: of the document, in messages; depth: how many indexes may stand in one another. Raises
    MissingError or RegistryError.
    """
    index: Json = None
    for _ in range(depth):
        if document.media_type not in _INDEXES:
            break
        listed = read_json(document.content, "the image index")
        index = listed if index is None else index
        document = artifacts.manifest(repository, _child(listed, name))
    if document.media_type in _INDEXES:
        raise RegistryError(f"more than {depth} indexes are nested")
    if document.media_type.startswith(_SCHEMA_1):
        raise RegistryError(f'unsupported MediaType: "{document.media_type}"')
    return index, document


def _child(index: Json, name: str) -> str:
    """Return the digest of the platform's image in an index; raises RegistryError."""
    listed = index.get("manifests") if isinstance(index, dict) else None
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict):
            continue
        platform = one.get("platform")
        if platform is None:
            named: tuple[Json, Json] = _PLATFORM
        else:
            at = platform if isinstance(platform, dict) else {}
            named = (at.get("os"), at.get("architecture"))
        digest = one.get("digest")
        if named == _PLATFORM and isinstance(digest, str) and digest.startswith("sha256:"):
            return digest
    raise RegistryError(f"no child with platform {'/'.join(_PLATFORM)} in index {name}")

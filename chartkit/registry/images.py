"""Images as policies ask for them: the port's answers, built as Kyverno builds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from chartkit.engine.values.image_reference import ImageReferenceError
from chartkit.engine.values.registry_reference import RegistryReference, parse_reference
from chartkit.model import Body, Json
from chartkit.registry.client import DOCKER_INDEX, OCI_INDEX, Client, Document, read_json
from chartkit.registry.credentials import read_docker_config
from chartkit.registry.errors import RegistryError
from chartkit.registry.settings import Settings
from chartkit.registry.shapes import config_shape, manifest_shape

_INDEXES: Final = frozenset({OCI_INDEX, DOCKER_INDEX})
_SCHEMA_1: Final = "application/vnd.docker.distribution.manifest.v1"
_PLATFORM: Final = ("linux", "amd64")
"""What Kyverno reads out of an index, whatever runs in the cluster."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class _Found:
    """A reference and what it leads to; top: the manifest or index that it names itself."""

    reference: RegistryReference
    top: Document


@dataclass(frozen=True, slots=True)
class _Image:
    """index: None where the reference leads to no index."""

    index: Json
    manifest: Json
    config: Json


@dataclass(slots=True)
class _Memory:
    """What was found for each reference in this run, or why nothing was."""

    found: dict[str, _Found | RegistryError] = field(default_factory=dict)
    images: dict[str, _Image | RegistryError] = field(default_factory=dict)


class Registries:
    """Asks registries for images, each reference once."""

    def __init__(self, settings: Settings) -> None:
        """Raises InputError for a configuration of Docker's that is wrong."""
        self._client = Client(settings, read_docker_config())
        self._depth = settings.limits.depth
        self._memory = _Memory()

    def digest(self, reference: str, /) -> str:
        """The digest that a reference leads to now; raises RegistryError in Kyverno's words."""
        return self._found(reference).top.digest

    def image(self, reference: str, /) -> Body:
        """An image for a context entry; raises RegistryError in Kyverno's words."""
        try:
            found = self._found(reference)
        except RegistryError as error:
            text = f"failed to fetch image descriptor: {reference}, error: {error.message}"
            raise _within(text, reference) from None
        image = self._image(reference, found)
        place = f"{found.reference.registry}/{found.reference.repository}"
        return {
            "image": reference,
            "resolvedImage": f"{place}@{found.top.digest}",
            "registry": found.reference.registry,
            "repository": found.reference.repository,
            "identifier": _identifier(found.reference),
            "manifestList": image.index,
            "manifest": image.manifest,
            "configData": image.config,
        }

    def descriptor(self, reference: str, /) -> Body:
        """An image for CEL; raises RegistryError."""
        found = self._found(reference, bare=True)
        image = self._image(reference, found, bare=True)
        parsed, digest = found.reference, found.top.digest
        place = f"{parsed.registry}/{parsed.repository}"
        tagged = f":{parsed.tag}" if parsed.tag else ""
        made: Body = {
            "image": reference,
            "resolvedImage": f"{place}{tagged}@{digest}",
            "registry": parsed.registry,
            "repository": parsed.repository,
            "identifier": parsed.identifier,
            "tag": parsed.tag,
            "digest": digest,
            "imageIndex": image.index,
            "manifest": manifest_shape(image.manifest),
            "config": config_shape(image.config),
        }
        return {key: value for key, value in made.items() if value not in (None, "")}

    def _found(self, reference: str, bare: bool = False) -> _Found:
        """bare: without the words around a failure that only context entries have."""
        try:
            return _once(self._memory.found, reference, lambda: self._find(reference))
        except RegistryError as error:
            if bare:
                raise
            what = "parse" if isinstance(error, _NoReferenceError) else "fetch"
            text = f"failed to {what} image reference: {reference}, error: {error.message}"
            raise RegistryError(text, hint=error.hint) from None

    def _find(self, reference: str) -> _Found:
        try:
            parsed = parse_reference(reference)
        except ImageReferenceError as error:
            raise _NoReferenceError(str(error)) from None
        return _Found(parsed, self._client.manifest(parsed, parsed.identifier))

    def _image(self, reference: str, found: _Found, bare: bool = False) -> _Image:
        try:
            return _once(self._memory.images, reference, lambda: self._read(found))
        except RegistryError as error:
            if bare:
                raise
            what = "fetch config for" if isinstance(error, _NoConfigError) else "resolve"
            text = f"failed to {what} image reference: {reference}, error: {error.message}"
            raise _within(text, reference) from None

    def _read(self, found: _Found) -> _Image:
        index: Json = None
        document = found.top
        for _ in range(self._depth):
            if document.media_type not in _INDEXES:
                break
            listed = read_json(document.content, "the image index")
            index = listed if index is None else index
            child = _child(listed, found.reference)
            document = self._client.manifest(found.reference, child)
        if document.media_type in _INDEXES:
            raise RegistryError(f"more than {self._depth} indexes stand in one another")
        if document.media_type.startswith(_SCHEMA_1):
            raise RegistryError(f'unsupported MediaType: "{document.media_type}"')
        manifest = read_json(document.content, "the manifest")
        config = manifest.get("config") if isinstance(manifest, dict) else None
        if not isinstance(config, dict):
            raise _NoConfigError("the manifest names no config")
        digest, size = config.get("digest"), config.get("size")
        if not isinstance(digest, str) or not isinstance(size, int) or isinstance(size, bool):
            raise _NoConfigError("the manifest's config has no digest or size")
        try:
            content = self._client.blob(found.reference, digest, size)
            return _Image(index, manifest, read_json(content, "the config"))
        except RegistryError as error:
            raise _NoConfigError(error.message, hint=error.hint) from None


class _NoReferenceError(RegistryError):
    """The text is no reference."""


class _NoConfigError(RegistryError):
    """The image is there, and its configuration is not to be had."""


def _within(text: str, reference: str) -> RegistryError:
    return RegistryError(f"failed to fetch image descriptor: {reference}, error: {text}")


def _once(known: dict[str, Found | RegistryError], key: str, make: Callable[[], Found]) -> Found:
    """A failure is known, too: nobody waits for the same answer twice."""
    if key not in known:
        try:
            known[key] = make()
        except RegistryError as error:
            known[key] = error
    made = known[key]
    if isinstance(made, RegistryError):
        raise made
    return made


def _identifier(reference: RegistryReference) -> str:
    """As Kyverno writes it: what stands behind the last colon before a digest counts as the tag,
    and be it the registry's port."""
    if not reference.digest:
        return reference.identifier
    before, colon, tag = reference.original.partition("@")[0].rpartition(":")
    return f"{tag}@{reference.digest}" if before and colon and tag else reference.digest


def _child(index: Json, reference: RegistryReference) -> str:
    """The digest of the platform's image in an index; raises RegistryError."""
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
    raise RegistryError(f"no child with platform {'/'.join(_PLATFORM)} in index {reference}")

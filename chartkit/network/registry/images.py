"""Images as policies ask for them, built as Kyverno builds them: the engine's port for images."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from chartkit.documents.reader import read_file
from chartkit.engine.ports.world import NOBODY_ELSE, Credentials
from chartkit.engine.scalars.image_reference import RegistryReference
from chartkit.errors import EvaluationError
from chartkit.go.types import GoTypes
from chartkit.model import Body, Json
from chartkit.network.http.limits import Memory
from chartkit.network.registry.artifacts import (
    Artifacts,
    NoReferenceError,
    ResolvedReference,
    image_of,
)
from chartkit.network.registry.client import Client, read_json
from chartkit.network.registry.credentials import (
    PullSecret,
    keychain_for,
    read_docker_config,
    read_pull_secret,
)
from chartkit.network.registry.settings import Limits, RegistryError, Settings
from chartkit.network.registry.transport import Transport

_FRACTION: Final = re.compile(r"\.(\d*?)0*(?=[Z+-])")
_TYPES: Final = Path(__file__).with_name("image_types.yaml")


@cache
def _tables() -> Mapping[str, Mapping[str, Body]]:
    tables: Mapping[str, Mapping[str, Body]] = read_file(_TYPES)[0].body
    return tables


@cache
def _types() -> GoTypes:
    return GoTypes(_tables()["fields"])


def _shape(struct: str, body: Json) -> Body:
    try:
        shape: Body = _written(struct, _types().decode(struct, body))
    except EvaluationError as error:
        raise RegistryError(error.message) from None
    return shape


def _written(kind: str, value: Json) -> Any:
    """Return a decoded value as Go writes it again."""
    if kind.startswith("[]"):
        return [_written(kind.removeprefix("[]"), item) for item in value]
    if kind == "Time":
        return _FRACTION.sub(lambda match: f".{match[1]}" if match[1] else "", value)
    fields = _tables()["fields"].get(kind)
    if fields is None:
        return value
    made, zeros = {}, _tables()["zeros"].get(kind, {})
    for name, inner in fields.items():
        member = _written(inner, value[name]) if name in value else zeros.get(name)
        if name in zeros or member not in (None, "", 0, False, [], {}):
            made[name] = member
    return made


@dataclass(frozen=True, slots=True)
class _Image:
    """index: None where the reference leads to no index."""

    index: Json
    manifest: Json
    config: Json


class Images:
    """Images as one set of credentials sees them, each reference asked for once."""

    def __init__(self, artifacts: Artifacts, limits: Limits) -> None:
        self.artifacts = artifacts
        self._limits = limits
        self._images: Memory[str, _Image] = Memory()

    def digest(self, reference: str) -> str:
        """The digest that a reference leads to now; raises RegistryError in Kyverno's words."""
        return self._found(reference).document.digest

    def image(self, reference: str) -> Body:
        """Return an image for a context entry; raises RegistryError in Kyverno's words."""
        try:
            resolved = self._found(reference)
        except RegistryError as error:
            text = f"failed to fetch image descriptor: {reference}, error: {error.message}"
            raise _within(error, text, reference) from None
        image, parsed = self._image(reference, resolved), resolved.reference
        # The identifier as Kyverno writes it: the text behind the last colon before a digest counts
        # as the tag, even the registry's port.
        if not parsed.digest:
            identifier = parsed.identifier
        else:
            before, colon, tag = parsed.original.partition("@")[0].rpartition(":")
            identifier = f"{tag}@{parsed.digest}" if before and colon and tag else parsed.digest
        return {
            "image": reference,
            "resolvedImage": f"{parsed.registry}/{parsed.repository}@{resolved.document.digest}",
            "registry": parsed.registry,
            "repository": parsed.repository,
            "identifier": identifier,
            "manifestList": image.index,
            "manifest": image.manifest,
            "configData": image.config,
        }

    def descriptor(self, reference: str) -> Body:
        """Return an image for CEL; raises RegistryError."""
        resolved = self._found(reference, bare=True)
        image = self._image(reference, resolved, bare=True)
        parsed, digest = resolved.reference, resolved.document.digest
        repository = f"{parsed.registry}/{parsed.repository}"
        tagged = f":{parsed.tag}" if parsed.tag else ""
        made: Body = {
            "image": reference,
            "resolvedImage": f"{repository}{tagged}@{digest}",
            "registry": parsed.registry,
            "repository": parsed.repository,
            "identifier": parsed.identifier,
            "tag": parsed.tag,
            "digest": digest,
            "imageIndex": image.index,
            "manifest": _shape("v1.Manifest", image.manifest),
            "config": _shape("v1.ConfigFile", image.config),
        }
        return {key: value for key, value in made.items() if value not in (None, "")}

    def _found(self, reference: str, bare: bool = False) -> ResolvedReference:
        """The document of a reference; bare: without the words that only context entries have."""
        try:
            return self.artifacts.resolve(reference)
        except RegistryError as error:
            if bare:
                raise
            what = "parse" if isinstance(error, NoReferenceError) else "fetch"
            text = f"failed to {what} image reference: {reference}, error: {error.message}"
            raise error.worded(text) from None

    def _image(self, reference: str, resolved: ResolvedReference, bare: bool = False) -> _Image:
        try:
            return self._images.once(reference, lambda: self._read(resolved))
        except RegistryError as error:
            if bare:
                raise
            if isinstance(error, _WrongConfigError):
                text = f"failed to decode config for image reference: {reference}, error: "
                raise error.worded(f"{text}{error.message}") from None
            what = "fetch config for" if isinstance(error, _NoConfigError) else "resolve"
            text = f"failed to {what} image reference: {reference}, error: {error.message}"
            raise _within(error, text, reference) from None

    def _read(self, resolved: ResolvedReference) -> _Image:
        index, document = image_of(
            self.artifacts,
            resolved.reference,
            resolved.document,
            str(resolved.reference),
            self._limits.depth,
        )
        try:
            manifest = read_json(document.content, "the manifest")
        except RegistryError as error:
            raise _NoConfigError(error.message) from None
        config = manifest.get("config") if isinstance(manifest, dict) else None
        if not isinstance(config, dict):
            raise _NoConfigError("the manifest names no config")
        content = self._config(resolved.reference, config)
        try:
            return _Image(index, manifest, read_json(content, "the config"))
        except RegistryError as error:
            raise _WrongConfigError(error.message) from None

    def _config(self, reference: RegistryReference, descriptor: Body) -> bytes:
        digest, size = descriptor.get("digest"), descriptor.get("size")
        if not isinstance(digest, str) or not isinstance(size, int) or isinstance(size, bool):
            raise _NoConfigError("the manifest's config has no digest or size")
        try:
            most, data = self._limits.document, descriptor.get("data")
            return self.artifacts.blob(reference, digest, size, most, data)
        except RegistryError as error:
            raise _NoConfigError(error.message, error.hint, error.unanswered) from None


class _NoConfigError(RegistryError):
    """The image is there, and its configuration is not to be had."""


class _WrongConfigError(RegistryError):
    """The configuration is there, and no JSON."""


def _within(error: RegistryError, text: str, reference: str) -> RegistryError:
    return error.worded(f"failed to fetch image descriptor: {reference}, error: {text}")


class Registries:
    """Asks registries for images, each reference once for all who have the same rights."""

    def __init__(self, settings: Settings) -> None:
        """Raises InputError for a configuration of Docker's that is wrong."""
        self._settings = settings
        self._config = read_docker_config()
        self._transport = Transport(settings)
        self._secrets: dict[str, PullSecret] = {}
        self._images: dict[tuple[str, bool], Images] = {}

    def learn(self, objects: Iterable[Body], /) -> None:
        """Remember the Secrets among objects, which policies name as credentials."""
        secrets = filter(None, map(read_pull_secret, objects))
        self._secrets.update({secret.place: secret for secret in secrets})

    def artifacts(self, credentials: Credentials) -> Artifacts:
        """Return the artifacts of images as a policy's credentials can see them."""
        return self._asked_as(credentials).artifacts

    def digest(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> str:
        """The digest that a reference leads to now; raises RegistryError in Kyverno's words."""
        return self._asked_as(credentials).digest(reference)

    def image(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """Return an image for a context entry; raises RegistryError in Kyverno's words."""
        return self._asked_as(credentials).image(reference)

    def descriptor(self, reference: str, credentials: Credentials = NOBODY_ELSE, /) -> Body:
        """Return an image for CEL; raises RegistryError."""
        return self._asked_as(credentials).descriptor(reference)

    def _asked_as(self, credentials: Credentials) -> Images:
        """Return the images known with the same rights."""
        keychain = keychain_for(credentials, self._secrets, self._config)
        key = (keychain.owner, credentials.insecure)
        if key not in self._images:
            client = Client(self._settings, self._transport, keychain, credentials.insecure)
            self._images[key] = Images(Artifacts(client), self._settings.limits)
        return self._images[key]

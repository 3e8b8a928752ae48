"""Image references as Kyverno takes them apart: registry, path, name, tag and digest.

The grammar follows distribution/reference. Kyverno puts the default registry before a name without
one, and unlike Docker adds no `library/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from chartkit.go import GoError
from chartkit.go.strconv import to_lower

DEFAULT_REGISTRY = "docker.io"
_MAX_PATH = 255

_LABEL = r"(?:[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]|[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:__|[._]|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?\Z"
)
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_LOWER_HEX = re.compile(r"[a-f0-9]+\Z")
_MAX_LENGTH = 4096


class ImageReferenceError(GoError):
    """A text that names no image; the message is Kyverno's."""


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image: `registry/path:tag` or `registry/path@digest`; tag and digest may be empty."""

    registry: str
    path: str
    tag: str
    digest: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def __str__(self) -> str:
        last = f"@{self.digest}" if self.digest else f":{self.tag}"
        return f"{self.registry}/{self.path}{last}" if self.registry else f"{self.path}{last}"


@lru_cache(1024)
def parse_image(image: str, default_registry: str = DEFAULT_REGISTRY) -> ImageReference:
    """The parts of an image name; a missing tag and digest become the tag `latest`.

    Raises `ImageReferenceError`.
    """
    first, slash, _ = image.partition("/")
    named = "." in first or ":" in first or first == "localhost" or to_lower(first) != first
    full = image if slash and named else f"{default_registry}/{image}"
    try:
        match = _REFERENCE.match(full) if len(full) <= _MAX_LENGTH else None
        if match is None:
            if len(full) <= _MAX_LENGTH and _REFERENCE.match(to_lower(full)):
                raise ImageReferenceError("repository name must be lowercase")
            raise ImageReferenceError("invalid reference format")
        if len(match["path"]) > _MAX_PATH:
            raise ImageReferenceError(
                f"repository name must not be more than {_MAX_PATH} characters"
            )
        digest, tag = match["digest"] or "", match["tag"] or ""
        if digest:
            algorithm, _, encoded = digest.partition(":")
            if algorithm not in _DIGEST_LENGTHS:
                raise ImageReferenceError("unsupported digest algorithm")
            if len(encoded) != _DIGEST_LENGTHS[algorithm]:
                raise ImageReferenceError("invalid checksum digest length")
            if not _LOWER_HEX.match(encoded):
                raise ImageReferenceError("invalid checksum digest format")
        elif not tag:
            tag = "latest"
        return ImageReference(match["domain"] or "", match["path"], tag, digest)
    except ImageReferenceError as error:
        settings = f"defaultRegistry: {default_registry}, enableDefaultRegistryMutation: true"
        raise ImageReferenceError(f"bad image: {full}, {settings}: {error}") from None


INDEX_REGISTRY = "index.docker.io"
_ALIAS = "docker.io"
_DEFAULT_TAG = "latest"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-./"
_REPOSITORY = re.compile(r"[a-z0-9_./-]{2,255}\Z")
_TAG = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}\Z")


@dataclass(frozen=True, slots=True)
class RegistryReference:
    """A reference: either tag or digest is empty; original is the text as written."""

    registry: str
    repository: str
    tag: str
    digest: str
    original: str

    @property
    def identifier(self) -> str:
        """The digest, or else the tag."""
        return self.digest or self.tag

    def __str__(self) -> str:
        return self.original


def parse_reference(text: str) -> RegistryReference:
    """The parts of a reference; raises `ImageReferenceError`."""
    repository, tag = _split_tag(text)
    parts = _place(repository) if _is_tag(tag) else None
    if parts is not None:
        return RegistryReference(*parts, tag or _DEFAULT_TAG, "", text)
    base, at, digest = text.partition("@")
    if at and _DIGEST.match(digest):
        repository, tag = _split_tag(base)
        parts = (_place(repository) if _is_tag(tag) else None) or _place(base)
    if parts is None:
        raise ImageReferenceError(f"could not parse reference: {text}")
    return RegistryReference(*parts, "", digest, text)


def parse_repository(text: str) -> RegistryReference:
    """A repository alone, without tag and digest; raises `ImageReferenceError`."""
    if not text:
        raise ImageReferenceError("a repository name must be specified")
    registry, repository = _sides(text)
    if not 2 <= len(repository) <= 255:
        raise ImageReferenceError(
            f"repository must be between 2 and 255 characters in length: {repository}"
        )
    if not _REPOSITORY.match(repository):
        raise ImageReferenceError(
            f"repository can only contain the characters `{_LETTERS}`: {repository}"
        )
    parts = _place(text)
    if parts is None:
        raise ImageReferenceError(f"registries must be valid RFC 3986 URI authorities: {registry}")
    return RegistryReference(*parts, "", "", text)


def _split_tag(text: str) -> tuple[str, str | None]:
    """Return the text before the tag, and the tag; None if no colon begins one."""
    base, colon, tag = text.rpartition(":")
    return (base, tag) if colon and "/" not in tag else (text, None)


def _is_tag(tag: str | None) -> bool:
    return tag is None or _TAG.match(tag) is not None


def _sides(text: str) -> tuple[str, str]:
    """Split a reference into its registry as written, empty without one, and the rest."""
    first, slash, rest = text.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first):
        return first, rest
    return "", text


def _place(text: str) -> tuple[str, str] | None:
    """Registry and repository; None where the text is not both."""
    registry, repository = _sides(text)
    if not _REPOSITORY.match(repository) or not _is_authority(registry):
        return None
    if registry in ("", _ALIAS):
        registry = INDEX_REGISTRY
    if registry == INDEX_REGISTRY and "/" not in repository:
        repository = f"library/{repository}"
    return registry, repository


def _is_authority(registry: str) -> bool:
    from chartkit.go.url import UrlError, parse_url

    try:
        return parse_url(f"//{registry}").host == registry
    except UrlError:
        return False

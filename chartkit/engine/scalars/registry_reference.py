"""Image references as the tools of container registries read them.

The grammar is that of go-containerregistry, looser than that of distribution/reference
(`chartkit.engine.scalars.image_reference`): a repository is two characters or more of a few kinds,
a registry is any authority of a URL, and `docker.io` is `index.docker.io`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from chartkit.engine.scalars.image_reference import ImageReferenceError
from chartkit.go.url import UrlError, parse_url

DEFAULT_REGISTRY = "index.docker.io"
_ALIAS = "docker.io"
_DEFAULT_TAG = "latest"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-./"
_REPOSITORY = re.compile(r"[a-z0-9_./-]{2,255}\Z")
_TAG = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}\Z")


@dataclass(frozen=True, slots=True)
class RegistryReference:
    """A reference: of tag and digest one is empty; original is the text as it was written."""

    registry: str
    repository: str
    tag: str
    digest: str
    original: str

    @property
    def identifier(self) -> str:
        """The digest, or the tag where there is none."""
        return self.digest or self.tag

    def __str__(self) -> str:
        return self.original


def parse_reference(text: str) -> RegistryReference:
    """The parts of a reference; raises `ImageReferenceError`."""
    place, tag = _split_tag(text)
    parts = _place(place) if _is_tag(tag) else None
    if parts is not None:
        return RegistryReference(*parts, tag or _DEFAULT_TAG, "", text)
    base, at, digest = text.partition("@")
    if at and _DIGEST.match(digest):
        place, tag = _split_tag(base)
        parts = (_place(place) if _is_tag(tag) else None) or _place(base)
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
    place = _place(text)
    if place is None:
        raise ImageReferenceError(f"registries must be valid RFC 3986 URI authorities: {registry}")
    return RegistryReference(*place, "", "", text)


def _split_tag(text: str) -> tuple[str, str | None]:
    """Return the text before the tag, and the tag; None if no colon begins one."""
    base, colon, tag = text.rpartition(":")
    return (base, tag) if colon and "/" not in tag else (text, None)


def _is_tag(tag: str | None) -> bool:
    return tag is None or _TAG.match(tag) is not None


def _sides(text: str) -> tuple[str, str]:
    """A registry as it is written, empty where there is none, and what follows it."""
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
        registry = DEFAULT_REGISTRY
    if registry == DEFAULT_REGISTRY and "/" not in repository:
        repository = f"library/{repository}"
    return registry, repository


def _is_authority(registry: str) -> bool:
    try:
        return parse_url(f"//{registry}").host == registry
    except UrlError:
        return False

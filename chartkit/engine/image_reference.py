"""Image references: the grammar of the distribution project and Kyverno's defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ALNUM = "[a-zA-Z0-9]"
_COMPONENT = f"(?:{_ALNUM}|{_ALNUM}[a-zA-Z0-9-]*{_ALNUM})"
_DOMAIN = rf"(?:{_COMPONENT}(?:\.{_COMPONENT})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_COMPONENT = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_PATH = f"{_PATH_COMPONENT}(?:/{_PATH_COMPONENT})*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}"
_REFERENCE = re.compile(
    f"(?:(?P<domain>{_DOMAIN})/)?(?P<path>{_PATH})(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?"
)
_LONGEST = 255
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_HEX = re.compile("[a-f0-9]*")

DEFAULT_REGISTRY = "docker.io"


class ImageReferenceError(ValueError):
    """A text that is no image reference; the message is the distribution project's."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image reference in its parts; what is missing is empty.

    reference: registry, path and digest or tag, whichever identifies the image;
    reference_with_tag: registry, path and tag, even where there is only a digest.
    """

    registry: str
    path: str
    name: str
    tag: str
    digest: str

    @property
    def reference(self) -> str:
        """The canonical reference: the digest if there is one, else the tag."""
        suffix = f"@{self.digest}" if self.digest else f":{self.tag}"
        return self._place + suffix

    @property
    def reference_with_tag(self) -> str:
        """The reference by tag; the tag is empty where only a digest was given."""
        return f"{self._place}:{self.tag}"

    @property
    def _place(self) -> str:
        return f"{self.registry}/{self.path}" if self.registry else self.path


def parse_image(text: str) -> Image:
    """The parts of a reference as written; raises `ImageReferenceError`."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        if not text:
            raise ImageReferenceError("repository name must have at least one component")
        if _REFERENCE.fullmatch(text.lower()):
            raise ImageReferenceError("repository name must be lowercase")
        raise ImageReferenceError("invalid reference format")
    path = match["path"]
    if len(path) > _LONGEST:
        raise ImageReferenceError(f"repository name must not be more than {_LONGEST} characters")
    digest = match["digest"] or ""
    if digest:
        _check_digest(digest)
    name = path.rpartition("/")[2]
    return Image(match["domain"] or "", path, name, match["tag"] or "", digest)


def resolve_image(text: str) -> Image:
    """The parts of a reference with Kyverno's defaults: registry docker.io, tag latest.

    Raises `ImageReferenceError` with Kyverno's whole text.
    """
    full = _with_registry(text)
    try:
        image = parse_image(full)
    except ImageReferenceError as error:
        raise ImageReferenceError(
            f"bad image: {full}, defaultRegistry: {DEFAULT_REGISTRY}, "
            f"enableDefaultRegistryMutation: true: {error}"
        ) from error
    if image.digest or image.tag:
        return image
    return Image(image.registry, image.path, image.name, "latest", "")


def _with_registry(text: str) -> str:
    first, slash, _ = text.partition("/")
    is_registry = slash and (
        "." in first or ":" in first or first == "localhost" or first.lower() != first
    )
    return text if is_registry else f"{DEFAULT_REGISTRY}/{text}"


def _check_digest(digest: str) -> None:
    algorithm, _, value = digest.partition(":")
    length = _DIGEST_LENGTHS.get(algorithm)
    if length is None:
        raise ImageReferenceError("unsupported digest algorithm")
    if len(value) != length:
        raise ImageReferenceError("invalid checksum digest length")
    if not _HEX.fullmatch(value):
        raise ImageReferenceError("invalid checksum digest format")

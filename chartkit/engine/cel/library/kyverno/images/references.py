"""`kyverno.image`: image references and their parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, Overload, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.kubernetes.refusing import Refusing, accepts
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import Type, opaque
from chartkit.engine.scalars.image_reference import (
    ImageReferenceError,
    RegistryReference,
    parse_reference,
)
from chartkit.errors import Reraise

IMAGE: Final = named(opaque("kyverno.image"))


@dataclass(frozen=True, slots=True)
class ImageValue(Refusing):
    """A reference to an image; two are equal where they were written alike."""

    cel_type: ClassVar[Type] = IMAGE

    reference: RegistryReference

    def type_value(self) -> Type:
        """Kyverno's type has forgotten to answer."""
        raise CelError("type conversion error from 'kyverno.image' to 'type'")

    def __str__(self) -> str:
        return str(self.reference)


@lru_cache(maxsize=1024)
def parse_image(text: str) -> ImageValue:
    """The image of a text; raises `CelError`."""
    with Reraise("", ImageReferenceError, CelError):
        return ImageValue(parse_reference(text))


parse_image_reference = overload(
    "string_to_image: parseImageReference(string) -> kyverno.image",
    "The image that a text refers to. Without a registry it is one of `index.docker.io`.",
    "parseImageReference('ghcr.io/acme/app:v1').tag()  // 'v1'",
    "parseImageReference('a b')  // error: could not parse reference: a b",
)(parse_image)

image = overload(
    "string_to_image_deprecated: image(string) -> kyverno.image",
    "The older name of `parseImageReference`.",
    "image('nginx').repository()  // 'library/nginx'",
)(parse_image)

is_image = overload(
    "is_image_string: isImage(string) -> bool",
    "Whether a text refers to an image.",
    "isImage('nginx:1.27')  // true",
    "isImage('a b')  // false",
)(accepts(parse_image))

contains_digest = overload(
    "image_contains_digest: kyverno.image.containsDigest() -> bool",
    "Whether the image is referred to by its digest.",
    "image('nginx:1.27').containsDigest()  // false",
)(lambda value: bool(value.reference.digest))


def _part(name: str, read: Callable[[RegistryReference], str], doc: str, example: str) -> Overload:
    declare = overload(f"image_{name}: kyverno.image.{name}() -> string", doc, example)
    return declare(lambda value: read(value.reference))


_PARTS = (
    _part(
        "registry",
        lambda reference: reference.registry,
        "The registry, with its port.",
        "image('localhost:5000/app').registry()  // 'localhost:5000'",
    ),
    _part(
        "repository",
        lambda reference: reference.repository,
        "The repository in the registry.",
        "image('ghcr.io/acme/app:v1').repository()  // 'acme/app'",
    ),
    _part(
        "identifier",
        lambda reference: reference.identifier,
        "The digest, or the tag where there is none.",
        "image('ghcr.io/acme/app:v1').identifier()  // 'v1'",
    ),
    _part(
        "tag",
        lambda reference: reference.tag,
        "The tag: `latest` where neither tag nor digest is written, empty where a digest is.",
        "image('nginx').tag()  // 'latest'",
    ),
    _part(
        "digest",
        lambda reference: reference.digest,
        "The digest; empty where there is none.",
        "image('nginx:1.27').digest()  // ''",
    ),
)

LIBRARY = Library(
    "kyverno.image",
    overloads=declared(globals()),
    doc="Image references: registry, repository, tag and digest.",
)

"""`kyverno.image`: image references and their parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import ClassVar, Final

from chartkit.engine.cel.declarations import Library, overloads
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


_OVERLOADS: Final = overloads(
    {
        "string_to_image: parseImageReference(string) -> kyverno.image": parse_image,
        "string_to_image_deprecated: image(string) -> kyverno.image": parse_image,
        "is_image_string: isImage(string) -> bool": accepts(parse_image),
        "image_contains_digest: kyverno.image.containsDigest() -> bool": (
            lambda value: bool(value.reference.digest)
        ),
        **{
            f"image_{part}: kyverno.image.{part}() -> string": attrgetter(f"reference.{part}")
            for part in ("registry", "repository", "identifier", "tag", "digest")
        },
    }
)

LIBRARY = Library("kyverno.image", overloads=_OVERLOADS)

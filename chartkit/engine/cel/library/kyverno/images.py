"""Kyverno's functions about images: references and their parts; signatures, attestations and what
they say, for ImageValidatingPolicies."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from operator import attrgetter
from typing import ClassVar, Final

from chartkit.documents.reader import parse_yaml
from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Library, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kubernetes.refusing import Refusing, accepts
from chartkit.engine.cel.library.printing import doubles
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.times import Duration, timestamp_of_text
from chartkit.engine.cel.types import Type, opaque
from chartkit.engine.cel.values import INT_MAX, INT_MIN, Struct, Value
from chartkit.engine.scalars.image_reference import (
    ImageReferenceError,
    RegistryReference,
    parse_reference,
)
from chartkit.errors import Reraise
from chartkit.model import Body, Json, text_of

IMAGE: Final = named(opaque("kyverno.image"))


@dataclass(frozen=True, slots=True)
class ImageValue(Refusing):
    """A reference to an image; two are equal where they were written alike."""

    cel_type: ClassVar[Type] = IMAGE

    reference: RegistryReference

    def type_value(self) -> Type:
        """Raise CelError: Kyverno's type has no value."""
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

REFERENCES: Final = Library("kyverno.image", overloads=_OVERLOADS)


_Read = Callable[[Json], Value]
"""From what JSON has to the value of Go; None gives the zero of the type."""

_TIME: Final = types.struct("v1.Time")
_NEVER: Final = timestamp_of_text("0001-01-01T00:00:00Z")
_NOT_SET: Final = (None, "", 0, False)


def _struct(name: str) -> _Read:
    """The reader of a Go struct, by its fields in `go_types.yaml`."""
    kind = types.struct(name)
    fields: dict[str, tuple[str, _Read]] = {}
    for field, written in _go_types()[name].items():
        source, _, type_name = written.partition(" ")
        fields[field] = source, _reader(type_name or "text")

    @lru_cache(maxsize=1)
    def zero() -> Struct:
        return Struct(kind, {}, {field: read(None) for field, (_, read) in fields.items()})

    def read(body: Json) -> Value:
        unset = zero()
        if not isinstance(body, dict):
            return unset
        made: dict[str, Value] = {}
        for field, (source, read) in fields.items():
            written = body if source == "." else body.get(source)
            value = None if written in _NOT_SET else read(written)
            if value is not None and not (isinstance(value, Struct) and not value.fields):
                made[field] = value
        return Struct(kind, made, unset.unset)

    return read


@cache
def _go_types() -> Mapping[str, Mapping[str, str]]:
    types_of_go: Body = parse_yaml(files(__package__).joinpath("go_types.yaml").read_text("utf-8"))
    return types_of_go


@cache
def _reader(name: str) -> _Read:
    """The reader of a type: one of `_READERS`, a list or map of one, or a struct."""
    outer, _, inner = name.partition("(")
    if outer == "list":
        return _list(_reader(inner[:-1]))
    if outer == "map":
        return _map(_reader(inner[:-1]))
    return _READERS.get(name) or _struct(name)


def _number(value: Json) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and INT_MIN <= value <= INT_MAX else 0


def _octets(value: Json) -> Value:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except binascii.Error:
        return b""


def _list(inner: _Read) -> _Read:
    return lambda value: [inner(member) for member in value] if isinstance(value, list) else []


def _map(inner: _Read) -> _Read:
    def read(value: Json) -> Value:
        members = value.items() if isinstance(value, dict) else ()
        return {key: inner(member) for key, member in members}

    return read


def _time(value: Json) -> Value:
    """A `v1.Time`, which has the time as its one field."""
    try:
        moment = timestamp_of_text(value) if isinstance(value, str) else _NEVER
    except CelError:
        moment = _NEVER
    return Struct(_TIME, {} if moment == _NEVER else {"Time": moment}, {"Time": _NEVER})


def _digest(value: Json) -> Value:
    algorithm, _, digits = value.partition(":") if isinstance(value, str) else ("", "", "")
    return _reader("v1.Hash")({"algorithm": algorithm, "hex": digits})


_READERS: Final[Mapping[str, _Read]] = {
    "text": text_of,
    "number": _number,
    "flag": lambda value: value is True,
    "octets": _octets,
    "duration": lambda value: Duration(_number(value)),
    "time": _time,
    "digest": _digest,
    "doubles": doubles,
}


def native_image(body: Body) -> Value:
    """The object of Go that a registry's answer for an image (`Host.image_data`) makes.

    An answer of a user's context file may have its configuration as `configData`, as Kyverno's
    test files have it.
    """
    return _reader("imagedataloader.ImageData")({"config": body.get("configData"), **body})


@overload(
    "verify_image_signature_string_stringarray: verifyImageSignatures(string, list(dyn)) -> int",
    hosted=True,
)
def verify_signatures(host: Host, image: str, attestors: list[Value]) -> int:
    return host.verify_image(image, None, attestors)


@overload(
    "verify_image_attestations_string_string_stringarray: "
    "verifyAttestationSignatures(string, string, list(dyn)) -> int",
    hosted=True,
)
def verify_attestations(host: Host, image: str, attestation: str, attestors: list[Value]) -> int:
    return host.verify_image(image, attestation, attestors)


@overload("get_image_data_string: getImageData(string) -> dyn", hosted=True)
def get_image_data(host: Host, image: str) -> Value:
    with Reraise("failed to get imagedata: ", CelError, CelError):
        return native_image(host.image_data(image))


@overload("payload_string_string: extractPayload(string, string) -> dyn", hosted=True)
def extract_payload(host: Host, image: str, attestation: str) -> Value:
    return doubles(host.image_payload(image, attestation))


VERIFICATION: Final = Library(
    "kyverno.imageverify",
    (verify_signatures, verify_attestations, get_image_data, extract_payload),
)

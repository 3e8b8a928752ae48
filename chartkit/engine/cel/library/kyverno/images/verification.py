"""Functions of ImageValidatingPolicies: signatures, attestations and what they say."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.printing import doubles
from chartkit.engine.cel.times import Duration, timestamp_of_text
from chartkit.engine.cel.values import INT_MAX, INT_MIN, Struct, Value
from chartkit.errors import Reraise
from chartkit.model import Body, Json, text_of

_Read = Callable[[Json], Value]
"""From what JSON has to the value of Go; None gives the zero of the type."""

_TIME: Final = types.struct("v1.Time")
_NEVER: Final = timestamp_of_text("0001-01-01T00:00:00Z")
_NOT_SET: Final = (None, "", 0, False)


@dataclass(frozen=True, slots=True)
class _Field:
    """source: the key in JSON; empty for a part that reads the whole."""

    source: str
    read: _Read


def _struct(name: str, fields: Mapping[str, _Field]) -> _Read:
    kind = types.struct(name)

    @lru_cache(maxsize=1)
    def zero() -> Struct:
        return Struct(kind, {}, {go: field.read(None) for go, field in fields.items()})

    def read(body: Json) -> Value:
        unset = zero()
        if not isinstance(body, dict):
            return unset
        made: dict[str, Value] = {}
        for go, field in fields.items():
            written = body.get(field.source) if field.source else body
            value = None if written in _NOT_SET else field.read(written)
            if value is not None and not (isinstance(value, Struct) and not value.fields):
                made[go] = value
        return Struct(kind, made, unset.unset)

    return read


def _number(value: Json) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and INT_MIN <= value <= INT_MAX else 0


def _flag(value: Json) -> Value:
    return value is True


def _octets(value: Json) -> Value:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except binascii.Error:
        return b""


def _list(inner: _Read) -> _Read:
    return lambda value: [inner(one) for one in value] if isinstance(value, list) else []


def _map(inner: _Read) -> _Read:
    def read(value: Json) -> Value:
        members = value.items() if isinstance(value, dict) else ()
        return {key: inner(one) for key, one in members}

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
    return _HASH({"algorithm": algorithm, "hex": digits})


def _named(read: _Read, *names: str) -> dict[str, _Field]:
    """Fields that JSON calls as Go does."""
    return {name: _Field(name, read) for name in names}


_TEXTS: Final = _list(text_of)
_EMPTY: Final = _struct(".", {})
_HASH: Final = _struct(
    "v1.Hash", {"Algorithm": _Field("algorithm", text_of), "Hex": _Field("hex", text_of)}
)
_PLATFORM: Final = _struct(
    "v1.Platform",
    {
        "Architecture": _Field("architecture", text_of),
        "OS": _Field("os", text_of),
        "OSVersion": _Field("os.version", text_of),
        "OSFeatures": _Field("os.features", _TEXTS),
        "Variant": _Field("variant", text_of),
        "Features": _Field("features", _TEXTS),
    },
)
_DESCRIPTOR: Final = _struct(
    "v1.Descriptor",
    {
        "MediaType": _Field("mediaType", text_of),
        "Size": _Field("size", _number),
        "Digest": _Field("digest", _digest),
        "Data": _Field("data", _octets),
        "URLs": _Field("urls", _TEXTS),
        "Annotations": _Field("annotations", _map(text_of)),
        "Platform": _Field("platform", _PLATFORM),
        "ArtifactType": _Field("artifactType", text_of),
    },
)
_MANIFEST: Final = _struct(
    "v1.Manifest",
    {
        "SchemaVersion": _Field("schemaVersion", _number),
        "MediaType": _Field("mediaType", text_of),
        "Config": _Field("config", _DESCRIPTOR),
        "Layers": _Field("layers", _list(_DESCRIPTOR)),
        "Annotations": _Field("annotations", _map(text_of)),
        "Subject": _Field("subject", _DESCRIPTOR),
        "ArtifactType": _Field("artifactType", text_of),
    },
)
_HEALTH: Final = _struct(
    "v1.HealthConfig",
    {
        **_named(_TEXTS, "Test"),
        **_named(lambda value: Duration(_number(value)), "Interval", "Timeout", "StartPeriod"),
        **_named(_number, "Retries"),
    },
)
_RUNNING: Final = _struct(
    "v1.Config",
    {
        **_named(_flag, "AttachStderr", "AttachStdin", "AttachStdout", "OpenStdin", "StdinOnce"),
        **_named(_flag, "Tty", "ArgsEscaped", "NetworkDisabled"),
        **_named(_TEXTS, "Cmd", "Entrypoint", "Env", "OnBuild", "Shell"),
        **_named(_HEALTH, "Healthcheck"),
        **_named(text_of, "Domainname", "Hostname", "Image", "User", "WorkingDir"),
        **_named(text_of, "MacAddress", "StopSignal"),
        **_named(_map(text_of), "Labels"),
        **_named(_map(_EMPTY), "Volumes", "ExposedPorts"),
    },
)
_HISTORY: Final = _struct(
    "v1.History",
    {
        "Author": _Field("author", text_of),
        "Created": _Field("created", _time),
        "CreatedBy": _Field("created_by", text_of),
        "Comment": _Field("comment", text_of),
        "EmptyLayer": _Field("empty_layer", _flag),
    },
)
_CONFIG: Final = _struct(
    "v1.ConfigFile",
    {
        "Architecture": _Field("architecture", text_of),
        "Author": _Field("author", text_of),
        "Container": _Field("container", text_of),
        "Created": _Field("created", _time),
        "DockerVersion": _Field("docker_version", text_of),
        "History": _Field("history", _list(_HISTORY)),
        "OS": _Field("os", text_of),
        "RootFS": _Field(
            "rootfs",
            _struct(
                "v1.RootFS",
                {"Type": _Field("type", text_of), "DiffIDs": _Field("diff_ids", _list(_digest))},
            ),
        ),
        "Config": _Field("config", _RUNNING),
        "OSVersion": _Field("os.version", text_of),
        "Variant": _Field("variant", text_of),
        "OSFeatures": _Field("os.features", _TEXTS),
    },
)
_REFERENCE: Final = {
    "Image": _Field("image", text_of),
    "ResolvedImage": _Field("resolvedImage", text_of),
    "Registry": _Field("registry", text_of),
    "Repository": _Field("repository", text_of),
    "Identifier": _Field("identifier", text_of),
    "Tag": _Field("tag", text_of),
    "Digest": _Field("digest", text_of),
}
_DESCRIBED: Final = {
    "ImageReference": _Field("", _struct("imagedataloader.ImageReference", _REFERENCE)),
    **_REFERENCE,
    "ImageIndex": _Field("imageIndex", doubles),
    "Manifest": _Field("manifest", _MANIFEST),
    "ConfigData": _Field("config", _CONFIG),
}
# What Go embeds can be named or passed over.
_IMAGE: Final = _struct(
    "imagedataloader.ImageData",
    {
        "ImageDescriptor": _Field("", _struct("imagedataloader.ImageDescriptor", _DESCRIBED)),
        **_DESCRIBED,
    },
)


def native_image(body: Body) -> Value:
    """The object of Go that a registry's answer for an image (`Host.image_data`) makes.

    An answer of a user's context file may have its configuration as `configData`, as Kyverno's
    test files have it.
    """
    return _IMAGE({"config": body.get("configData"), **body})


_ATTESTED: Final = {"attestors": {"ci": {"name": "ci"}}}


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


LIBRARY = Library("kyverno.imageverify", overloads=declared(globals()))

"""Manifests and configurations as CEL expressions see them: the fields that Kyverno knows.

Context entries see documents as they are. For CEL, Kyverno reads them into the types of
go-containerregistry and writes them again: fields that it does not know are gone, and some that
are not there come with the zero of their type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chartkit.model import Body, Json
from chartkit.network.registry.errors import RegistryError

_ZERO_TIME: Final = "0001-01-01T00:00:00Z"
_FRACTION: Final = re.compile(r"\.(\d*?)0*(?=[Z+-])")


@dataclass(frozen=True, slots=True)
class _Field:
    """read: makes a value of what is written; zero: what stands for nothing; always: whether a
    zero is written, too."""

    read: Callable[[Json, str], Json]
    zero: Json
    always: bool = False


_Struct = Mapping[str, _Field]


def _read(body: Json, fields: _Struct, path: str) -> Body:
    if body is None:
        body = {}
    if not isinstance(body, dict):
        raise _wrong(path)
    made: Body = {}
    for name, field in fields.items():
        written = body.get(name)
        value = field.zero if written is None else field.read(written, f"{path}.{name}")
        if field.always or value not in (None, "", 0, False, [], {}):
            made[name] = value
    return made


def _wrong(path: str) -> RegistryError:
    return RegistryError(f"{path} is not of the type that it must be")


def _typed(kind: type, zero: Json) -> Callable[[bool], _Field]:
    def read(value: Json, path: str) -> Json:
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            raise _wrong(path)
        return value

    return lambda always: _Field(read, zero, always)


def _time(value: Json, path: str) -> Json:
    if not isinstance(value, str):
        raise _wrong(path)
    return _FRACTION.sub(lambda found: f".{found[1]}" if found[1] else "", value)


def _list(inner: Callable[[Json, str], Json], always: bool = False) -> _Field:
    def read(value: Json, path: str) -> Json:
        if not isinstance(value, list):
            raise _wrong(path)
        return [inner(one, f"{path}[{index}]") for index, one in enumerate(value)]

    return _Field(read, None, always)


def _map(inner: Callable[[Json, str], Json]) -> _Field:
    def read(value: Json, path: str) -> Json:
        if not isinstance(value, dict):
            raise _wrong(path)
        return {key: inner(one, f"{path}.{key}") for key, one in value.items()}

    return _Field(read, None)


def _struct(fields: _Struct) -> Callable[[Json, str], Json]:
    return lambda value, path: _read(value, fields, path)


def _empty(_value: Json, _path: str) -> Json:
    return {}


_text, _number, _flag = _typed(str, ""), _typed(int, 0), _typed(bool, False)
_TEXT, _NUMBER, _FLAG = _text(False), _number(False), _flag(False)
_TEXTS = _list(_TEXT.read)
_TIME = _Field(_time, _ZERO_TIME, True)

_PLATFORM: Final[_Struct] = {
    "architecture": _text(True),
    "os": _text(True),
    "os.version": _TEXT,
    "os.features": _TEXTS,
    "variant": _TEXT,
    "features": _TEXTS,
}
_DESCRIPTOR: Final[_Struct] = {
    "mediaType": _text(True),
    "size": _number(True),
    "digest": _text(True),
    "data": _TEXT,
    "urls": _TEXTS,
    "annotations": _map(_TEXT.read),
    "platform": _Field(_struct(_PLATFORM), None),
    "artifactType": _TEXT,
}
_MANIFEST: Final[_Struct] = {
    "schemaVersion": _number(True),
    "mediaType": _TEXT,
    "config": _Field(_struct(_DESCRIPTOR), {"mediaType": "", "size": 0, "digest": ":"}, True),
    "layers": _list(_struct(_DESCRIPTOR), True),
    "annotations": _map(_TEXT.read),
    "subject": _Field(_struct(_DESCRIPTOR), None),
    "artifactType": _TEXT,
}
_HEALTH: Final[_Struct] = {
    "Test": _TEXTS,
    **dict.fromkeys(("Interval", "Timeout", "StartPeriod", "Retries"), _NUMBER),
}
_RUNNING: Final[_Struct] = {
    **dict.fromkeys(("AttachStderr", "AttachStdin", "AttachStdout"), _FLAG),
    **dict.fromkeys(("Cmd", "Entrypoint", "Env", "OnBuild", "Shell"), _TEXTS),
    "Healthcheck": _Field(_struct(_HEALTH), None),
    **dict.fromkeys(
        ("Domainname", "Hostname", "Image", "User", "WorkingDir", "MacAddress", "StopSignal"), _TEXT
    ),
    "Labels": _map(_TEXT.read),
    **dict.fromkeys(("OpenStdin", "StdinOnce", "Tty", "ArgsEscaped", "NetworkDisabled"), _FLAG),
    **dict.fromkeys(("Volumes", "ExposedPorts"), _map(_empty)),
}
_HISTORY: Final[_Struct] = {
    **dict.fromkeys(("author", "created_by", "comment"), _TEXT),
    "created": _TIME,
    "empty_layer": _FLAG,
}
_ROOT: Final[_Struct] = {"type": _text(True), "diff_ids": _list(_TEXT.read, True)}
_CONFIG: Final[_Struct] = {
    "architecture": _text(True),
    **dict.fromkeys(("author", "container", "docker_version"), _TEXT),
    "created": _TIME,
    "history": _list(_struct(_HISTORY)),
    "os": _text(True),
    "rootfs": _Field(_struct(_ROOT), {"type": "", "diff_ids": None}, True),
    "config": _Field(_struct(_RUNNING), {}, True),
    **dict.fromkeys(("os.version", "variant"), _TEXT),
    "os.features": _TEXTS,
}


def manifest_shape(body: Json) -> dict[str, Any]:
    """Return a manifest with the fields that are known; raises RegistryError for a wrong type."""
    return _read(body, _MANIFEST, "manifest")


def config_shape(body: Json) -> dict[str, Any]:
    """Return a configuration with the fields that are known; raises RegistryError for a wrong
    type."""
    return _read(body, _CONFIG, "config")

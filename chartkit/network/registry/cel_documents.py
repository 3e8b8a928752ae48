"""Manifests and configurations as CEL expressions see them: the fields that Kyverno knows.

Context entries see documents as they are. For CEL, Kyverno reads them into the types of
go-containerregistry and writes them again: fields that it does not know are gone, and some that
are not there come with the zero of their type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from chartkit.errors import EvaluationError
from chartkit.go.types import GoTypes
from chartkit.model import Body, Json
from chartkit.network.registry.errors import RegistryError

_ZERO_TIME: Final = "0001-01-01T00:00:00Z"
_FRACTION: Final = re.compile(r"\.(\d*?)0*(?=[Z+-])")
_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "v1.Platform": {
        **dict.fromkeys(("architecture", "os", "os.version", "variant"), "string"),
        **dict.fromkeys(("os.features", "features"), "[]string"),
    },
    "v1.Descriptor": {
        "mediaType": "string",
        "size": "int64",
        **dict.fromkeys(("digest", "data", "artifactType"), "string"),
        "urls": "[]string",
        "annotations": "map[string]string",
        "platform": "v1.Platform",
    },
    "v1.Manifest": {
        "schemaVersion": "int64",
        "mediaType": "string",
        "config": "v1.Descriptor",
        "layers": "[]v1.Descriptor",
        "annotations": "map[string]string",
        "subject": "v1.Descriptor",
        "artifactType": "string",
    },
    "v1.HealthConfig": {
        "Test": "[]string",
        **dict.fromkeys(("Interval", "Timeout", "StartPeriod", "Retries"), "int64"),
    },
    "v1.Empty": {},
    "v1.Config": {
        **dict.fromkeys(("AttachStderr", "AttachStdin", "AttachStdout"), "bool"),
        **dict.fromkeys(
            ("OpenStdin", "StdinOnce", "Tty", "ArgsEscaped", "NetworkDisabled"), "bool"
        ),
        **dict.fromkeys(("Cmd", "Entrypoint", "Env", "OnBuild", "Shell"), "[]string"),
        "Healthcheck": "v1.HealthConfig",
        **dict.fromkeys(("Domainname", "Hostname", "Image", "User", "WorkingDir"), "string"),
        **dict.fromkeys(("MacAddress", "StopSignal"), "string"),
        "Labels": "map[string]string",
        **dict.fromkeys(("Volumes", "ExposedPorts"), "map[string]v1.Empty"),
    },
    "v1.History": {
        **dict.fromkeys(("author", "created_by", "comment"), "string"),
        "created": "Time",
        "empty_layer": "bool",
    },
    "v1.RootFS": {"type": "string", "diff_ids": "[]string"},
    "v1.ConfigFile": {
        **dict.fromkeys(("architecture", "author", "container", "docker_version"), "string"),
        "created": "Time",
        "history": "[]v1.History",
        "os": "string",
        "rootfs": "v1.RootFS",
        "config": "v1.Config",
        **dict.fromkeys(("os.version", "variant"), "string"),
        "os.features": "[]string",
    },
}
_TYPES: Final = GoTypes(_FIELDS)
_ZEROS: Final[Mapping[str, Body]] = {
    "v1.Platform": {"architecture": "", "os": ""},
    "v1.Descriptor": {"mediaType": "", "size": 0, "digest": ""},
    "v1.Manifest": {
        "schemaVersion": 0,
        "config": {"mediaType": "", "size": 0, "digest": ":"},
        "layers": None,
    },
    "v1.History": {"created": _ZERO_TIME},
    "v1.RootFS": {"type": "", "diff_ids": None},
    "v1.ConfigFile": {
        **dict.fromkeys(("architecture", "os"), ""),
        "created": _ZERO_TIME,
        "rootfs": {"type": "", "diff_ids": None},
        "config": {},
    },
}
"""Fields that are always written, with the zero of their type."""


def manifest_shape(body: Json) -> Body:
    """Return a manifest with the fields that are known; raises RegistryError for a wrong type."""
    return _shape("v1.Manifest", body)


def config_shape(body: Json) -> Body:
    """Return a configuration with the fields that are known; raises RegistryError for a wrong
    type."""
    return _shape("v1.ConfigFile", body)


def _shape(struct: str, body: Json) -> Body:
    try:
        shape: Body = _written(struct, _TYPES.decode(struct, body))
    except EvaluationError as error:
        raise RegistryError(error.message) from None
    return shape


def _written(kind: str, value: Json) -> Any:
    """Return a decoded value as Go writes it again."""
    if kind.startswith("[]"):
        return [_written(kind.removeprefix("[]"), one) for one in value]
    if kind == "Time":
        return _FRACTION.sub(lambda found: f".{found[1]}" if found[1] else "", value)
    if kind not in _FIELDS:
        return value
    made, zeros = {}, _ZEROS.get(kind, {})
    for name, inner in _FIELDS[kind].items():
        member = _written(inner, value[name]) if name in value else zeros.get(name)
        if name in zeros or member not in (None, "", 0, False, [], {}):
            made[name] = member
    return made

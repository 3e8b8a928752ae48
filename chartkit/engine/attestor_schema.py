"""The fields of the attestors that sign images and manifests, as Kyverno 1.19's custom resource
definitions have them."""

from __future__ import annotations

from typing import Final

from chartkit.engine.go_types import GoTypes
from chartkit.engine.schema import (
    Check,
    Problem,
    anything,
    boolean,
    integer,
    list_of,
    map_of,
    struct,
    text,
)
from chartkit.model import Json

_TEXT: Final = text()
_TEXTS: Final = list_of(_TEXT)
_REKOR: Final = struct({"url": _TEXT, "pubkey": _TEXT, "ignoreTlog": boolean})
_CTLOG: Final = struct({"ignoreSCT": boolean, "pubkey": _TEXT, "tsaCertChain": _TEXT})
_LOGS: Final[dict[str, Check]] = {"rekor": _REKOR, "ctlog": _CTLOG}

_ATTESTOR: Final = struct(
    {
        "keys": struct(
            {
                **_LOGS,
                "publicKeys": _TEXT,
                "signatureAlgorithm": _TEXT,
                "kms": _TEXT,
                "secret": struct(
                    {"name": _TEXT, "namespace": _TEXT}, required=("name", "namespace")
                ),
            }
        ),
        "certificates": struct({**_LOGS, "cert": _TEXT, "certChain": _TEXT}),
        "keyless": struct(
            {
                **_LOGS,
                "issuer": _TEXT,
                "issuerRegExp": _TEXT,
                "subject": _TEXT,
                "subjectRegExp": _TEXT,
                "roots": _TEXT,
                "additionalExtensions": map_of(_TEXT),
            }
        ),
        "attestor": anything,
        "annotations": map_of(_TEXT),
        "repository": _TEXT,
        "signatureAlgorithm": _TEXT,
    }
)


def _count(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    problems = integer(value, path)
    if not problems and value < 1:
        problems = [(path, "should be greater than or equal to 1")]
    return problems


ATTESTOR_SET: Final = struct({"count": _count, "entries": list_of(_ATTESTOR)})
"""Attestors, and how many of them must have signed (none: all)."""

MANIFESTS: Final = struct(
    {
        "attestors": list_of(ATTESTOR_SET),
        "annotationDomain": _TEXT,
        "ignoreFields": list_of(
            struct(
                {
                    "fields": _TEXTS,
                    "objects": list_of(
                        struct(
                            {
                                "group": _TEXT,
                                "version": _TEXT,
                                "kind": _TEXT,
                                "name": _TEXT,
                                "namespace": _TEXT,
                            }
                        )
                    ),
                }
            )
        ),
        "dryRun": struct({"enable": boolean, "namespace": _TEXT}),
        "repository": _TEXT,
    }
)
"""The `validate.manifests` part of a rule."""

ATTESTOR_TYPES: Final = GoTypes(
    {
        "v1.AttestorSet": {"count": "int=int64", "entries": "[]v1.Attestor"},
        "v1.Attestor": {
            "keys": "v1.StaticKeyAttestor",
            "certificates": "v1.CertificateAttestor",
            "keyless": "v1.KeylessAttestor",
            "attestor": "Raw",
            "annotations": "map[string]string",
            "repository": "string",
            "signatureAlgorithm": "string",
        },
        "v1.StaticKeyAttestor": {
            "publicKeys": "string",
            "signatureAlgorithm": "string",
            "kms": "string",
            "secret": "v1.SecretReference",
            "rekor": "v1.Rekor",
            "ctlog": "v1.CTLog",
        },
        "v1.SecretReference": {"name": "string", "namespace": "string"},
        "v1.CertificateAttestor": {
            "cert": "string",
            "certChain": "string",
            "rekor": "v1.Rekor",
            "ctlog": "v1.CTLog",
        },
        "v1.KeylessAttestor": {
            "rekor": "v1.Rekor",
            "ctlog": "v1.CTLog",
            "issuer": "string",
            "issuerRegExp": "string",
            "subject": "string",
            "subjectRegExp": "string",
            "roots": "string",
            "additionalExtensions": "map[string]string",
        },
        "v1.Rekor": {"url": "string", "pubkey": "string", "ignoreTlog": "bool"},
        "v1.CTLog": {"ignoreSCT": "bool", "pubkey": "string", "tsaCertChain": "string"},
    }
)
"""The types of a nested set of attestors, which no schema checks before the rule runs."""

"""Attestors of images and manifests, with the types into which Kyverno 1.19 loads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from chartkit.errors import EvaluationError
from chartkit.go.fmt import go_json
from chartkit.go.types import GoTypes
from chartkit.model import Body, Json

METHODS: Final = ("keys", "certificates", "keyless")
"""The kinds of attestors of an entry, in the order in which they count."""

_END_OF_KEY: Final = "-----END PUBLIC KEY-----"

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
        "v1.Rule": {"verifyImages": "[]v1.ImageVerification"},
        "v1.ImageVerification": {
            "type": "v1.ImageVerificationType=string",
            "image": "string",
            "imageReferences": "[]string",
            "skipImageReferences": "[]string",
            "key": "string",
            "roots": "string",
            "subject": "string",
            "issuer": "string",
            "additionalExtensions": "map[string]string",
            "attestors": "[]v1.AttestorSet",
            "attestations": "[]v1.Attestation",
            "annotations": "map[string]string",
            "repository": "string",
            "cosignOCI11": "bool",
            "mutateDigest": "bool",
            "verifyDigest": "bool",
            "validate": "v1.ValidateImageVerification",
            "required": "bool",
            "imageRegistryCredentials": "v1.ImageRegistryCredentials",
        },
        "v1.Attestation": {
            "name": "string",
            "type": "string",
            "predicateType": "string",
            "attestors": "[]v1.AttestorSet",
            "conditions": "Raw",
        },
        "v1.ValidateImageVerification": {"message": "string", "deny": "v1.Deny"},
        "v1.Deny": {"conditions": "Raw"},
        "v1.ImageRegistryCredentials": {
            "allowInsecureRegistry": "bool",
            "providers": "[]string",
            "secrets": "[]string",
        },
        "v1.Rekor": {"url": "string", "pubkey": "string", "ignoreTlog": "bool"},
        "v1.CTLog": {"ignoreSCT": "bool", "pubkey": "string", "tsaCertChain": "string"},
    }
)
"""The types that no schema checks before the rule runs: nested sets of attestors, and entries
whose variables were replaced."""


def expanded(entries: Iterable[Body]) -> Sequence[Body]:
    """The entries of a set; one of several public keys is one entry a key."""
    return [one for entry in entries for one in _by_key(entry)]


def _by_key(entry: Body) -> Sequence[Body]:
    keys = entry.get("keys")
    if keys is None:
        return (entry,)
    parts = (keys.get("publicKeys") or "").split(_END_OF_KEY)[:-1]
    if len(parts) < 2:
        return (entry,)
    return [{**entry, "keys": {**keys, "publicKeys": part + _END_OF_KEY}} for part in parts]


def nested_set(body: Json, path: str) -> Body:
    """The set in an entry's `attestor`; path: of the entry.

    Raises EvaluationError in Kyverno's words for one of other types.
    """
    try:
        return ATTESTOR_TYPES.decode("v1.AttestorSet", body)
    except EvaluationError as error:
        raise EvaluationError(
            f"failed to unmarshal nested attestor {path}: failed to unmarshal attestor set "
            f"{go_json(body)}: {error.message}"
        ) from error

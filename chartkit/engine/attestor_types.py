"""The types of the attestors that sign images and manifests, as Kyverno 1.19 loads them."""

from __future__ import annotations

from typing import Final

from chartkit.engine.go_types import GoTypes

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

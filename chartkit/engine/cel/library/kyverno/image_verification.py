"""Functions of ImageValidatingPolicies: signatures, attestations and what they say."""

from __future__ import annotations

from chartkit.engine.cel.declarations import Example, Library, overload
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.natives import doubles
from chartkit.engine.cel.types import DYN, INT, LIST_DYN, STRING
from chartkit.engine.cel.values import Value


@overload(
    "verifyImageSignatures",
    "verify_image_signature_string_stringarray",
    STRING,
    LIST_DYN,
    returns=INT,
    hosted=True,
    doc="How many of the attestors have signed an image; 0 for one that the policy is not about.",
    examples=(Example("verifyImageSignatures('ghcr.io/acme/app:v1', [{'name': 'ci'}])", "1"),),
)
def verify_signatures(host: Host, image: str, attestors: list[Value]) -> int:
    return host.verify_image(image, "", attestors)


@overload(
    "verifyAttestationSignatures",
    "verify_image_attestations_string_string_stringarray",
    STRING,
    STRING,
    LIST_DYN,
    returns=INT,
    hosted=True,
    doc="How many of the attestors have signed an image's attestation.",
    examples=(
        Example(
            "verifyAttestationSignatures('ghcr.io/acme/app:v1', 'sbom', [{'name': 'ci'}])", "1"
        ),
    ),
)
def verify_attestations(host: Host, image: str, attestation: str, attestors: list[Value]) -> int:
    return host.verify_image(image, attestation, attestors)


@overload(
    "getImageData",
    "get_image_data_string",
    STRING,
    returns=DYN,
    hosted=True,
    doc="What the registry knows of an image.",
    examples=(Example("getImageData('nginx:1.27').configData.config.User", "'nginx'"),),
)
def get_image_data(host: Host, image: str) -> Value:
    return doubles(host.image_data(image))


@overload(
    "extractPayload",
    "payload_string_string",
    STRING,
    STRING,
    returns=DYN,
    hosted=True,
    doc="What an attestation of an image says.",
    examples=(Example("extractPayload('ghcr.io/acme/app:v1', 'sbom').format", "'spdx'"),),
)
def extract_payload(host: Host, image: str, attestation: str) -> Value:
    return doubles(host.image_payload(image, attestation))


LIBRARY = Library(
    "kyverno.imageverify",
    overloads=(verify_signatures, verify_attestations, get_image_data, extract_payload),
    doc="Signatures and attestations of images.",
)

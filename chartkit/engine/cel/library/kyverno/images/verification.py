"""Functions of ImageValidatingPolicies: signatures, attestations and what they say."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.images.native import native_image
from chartkit.engine.cel.library.natives import doubles
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise

_ATTESTED: Final = {"attestors": {"ci": {"name": "ci"}}}


@overload(
    "verify_image_signature_string_stringarray: verifyImageSignatures(string, list(dyn)) -> int",
    "How many of the attestors (`attestors.NAME`) have signed an image; 0 for one that the "
    "policy is not about.",
    "verifyImageSignatures('ghcr.io/acme/app:v1', [attestors.ci])  // 1",
    hosted=True,
    variables=_ATTESTED,
)
def verify_signatures(host: Host, image: str, attestors: list[Value]) -> int:
    return host.verify_image(image, None, attestors)


@overload(
    "verify_image_attestations_string_string_stringarray: "
    "verifyAttestationSignatures(string, string, list(dyn)) -> int",
    "How many of the attestors have signed an image's attestation (`attestations.NAME`).",
    "verifyAttestationSignatures('ghcr.io/acme/app:v1', 'sbom', [attestors.ci])  // 1",
    hosted=True,
    variables=_ATTESTED,
)
def verify_attestations(host: Host, image: str, attestation: str, attestors: list[Value]) -> int:
    return host.verify_image(image, attestation, attestors)


@overload(
    "get_image_data_string: getImageData(string) -> dyn",
    "What the registry knows of an image, under the names of Kyverno's Go types: `Digest`, "
    "`Tag`, `ResolvedImage`, `Manifest.Layers`, `ConfigData.Config.User` and so on.",
    "getImageData('nginx:1.27').ConfigData.Config.User  // 'nginx'",
    hosted=True,
)
def get_image_data(host: Host, image: str) -> Value:
    with Reraise("failed to get imagedata: ", CelError, CelError):
        return native_image(host.image_data(image))


@overload(
    "payload_string_string: extractPayload(string, string) -> dyn",
    "What an attestation of an image says; for one of in-toto, after it was verified.",
    "extractPayload('ghcr.io/acme/app:v1', 'sbom').format  // 'spdx'",
    hosted=True,
)
def extract_payload(host: Host, image: str, attestation: str) -> Value:
    return doubles(host.image_payload(image, attestation))


LIBRARY = Library(
    "kyverno.imageverify",
    overloads=declared(globals()),
    doc="Signatures and attestations of images.",
)

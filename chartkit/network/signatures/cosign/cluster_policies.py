"""Signatures and attestations of cosign's classic format, for ClusterPolicies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.engine.ports import SignatureError, VerificationRequest, Verified
from chartkit.engine.scalars.image_reference import ImageReferenceError
from chartkit.engine.scalars.registry_reference import RegistryReference, parse_reference
from chartkit.errors import LookupFailed
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.signatures.cosign.attestor_checks import build_checks, repository_of
from chartkit.network.signatures.cosign.checks import CheckOptions, VerifiedLayers, verify_layers
from chartkit.network.signatures.cosign.identities import match_signatures
from chartkit.network.signatures.cosign.layers import (
    Layers,
    NotThereError,
    SignedLayer,
    asked,
    referring_layers,
    tagged_layers,
)
from chartkit.network.signatures.cosign.payloads import SimplePayload, read_simple, read_statement
from chartkit.network.signatures.errors import within
from chartkit.network.signatures.trust.trusted_root import TrustedRoots

_UNKNOWN: Final = "MANIFEST_UNKNOWN: manifest unknown"


def verify_signature(
    artifacts: Artifacts, question: VerificationRequest, trust: TrustedRoots
) -> Verified:
    """Verify the signature of an image; trust: used for what the policy leaves out.

    Raises SignatureError in Kyverno's words, any other LookupFailed where it is unknown.
    """
    checks = build_checks(question, trust)
    repository = repository_of(question.repository)
    found = _signatures(artifacts, question, checks, repository)
    try:
        return _verified(found.layers, question)
    except SignatureError:
        _raise_unknown(found)
        raise


def _signatures(
    artifacts: Artifacts,
    question: VerificationRequest,
    checks: CheckOptions,
    repository: RegistryReference | None,
) -> VerifiedLayers:
    if question.oci11:
        try:
            place, digest = resolve(artifacts, question.image)
            layers = referring_layers(artifacts, place, digest)
            return verify_signatures(artifacts, layers, digest, checks)
        except SignatureError:
            pass
    try:
        place, digest = resolve(artifacts, question.image)
    except NotThereError as error:
        raise SignatureError(f"image tag not found: {error.message}") from None
    layers = tagged_layers(artifacts, repository or place, digest, "sig")
    return verify_signatures(artifacts, layers, digest, checks)


def verify_signatures(
    artifacts: Artifacts, layers: Layers, digest: str, checks: CheckOptions
) -> VerifiedLayers:
    """Return the result of `verify_layers`; no signature at all is a verdict of its own."""
    if not layers.descriptors:
        raise SignatureError("no signatures found")
    return verify_layers(artifacts, layers, digest, checks)


def fetch_attestations(
    artifacts: Artifacts, question: VerificationRequest, trust: TrustedRoots
) -> Verified:
    """Return the statements that are attested of an image.

    Raises SignatureError in Kyverno's words, any other LookupFailed where it is not known.
    """
    checks = build_checks(question, trust)
    repository = repository_of(question.repository)
    try:
        place, digest = resolve(artifacts, question.image)
        layers = tagged_layers(artifacts, repository or place, digest, "att")
        found = verify_layers(artifacts, layers, digest, checks)
    except SignatureError as error:
        # Kyverno itself tells this answer of a registry by its text.
        if _UNKNOWN in error.message:
            raise SignatureError("not found") from None
        raise
    _raise_unknown(found)
    return _attested(found.layers, question)


def _attested(layers: Sequence[SignedLayer], question: VerificationRequest) -> Verified:
    payloads = _payloads(layers)
    for layer in layers:
        if question.type:
            with within("failed to decode type"):
                statement = read_statement(layer.payload)
            if statement["type"] == question.type:
                match_signatures([layer], question)
    _check_annotations(payloads, question)
    statements = [read_statement(layer.payload) for layer in layers]
    return Verified(payloads[-1].digest, statements)


def _verified(layers: Sequence[SignedLayer], question: VerificationRequest) -> Verified:
    payloads = _payloads(layers)
    match_signatures(layers, question)
    _check_annotations(payloads, question)
    if question.type:
        return Verified("")
    if not payloads[0].digest:
        raise SignatureError(
            f"failed to extract image digest from signature payload for {question.image}"
        )
    return Verified(payloads[0].digest)


def _payloads(layers: Sequence[SignedLayer]) -> Sequence[SimplePayload]:
    with within("error decoding the payload"):
        return [read_simple(layer.payload) for layer in layers]


def _check_annotations(payloads: Sequence[SimplePayload], question: VerificationRequest) -> None:
    wanted = question.annotations
    if not wanted or any(
        all(payload.optional.get(key) == value for key, value in wanted.items())
        for payload in payloads
    ):
        return
    raise SignatureError("no signature matched the required annotations")


def _raise_unknown(found: VerifiedLayers) -> None:
    """Raise for signatures over which the log might decide otherwise."""
    unknown: Sequence[LookupFailed] = found.unknown
    if unknown:
        raise unknown[0]


def resolve(artifacts: Artifacts, image: str) -> tuple[RegistryReference, str]:
    """Return the repository of an image and its digest, requested if the reference has none.

    Raises SignatureError, NotThereError or RegistryError.
    """
    parsed = _parse(image)
    if parsed.digest:
        return parsed, parsed.digest
    found = asked(lambda: artifacts.resolve(image))
    return found.reference, found.document.digest


def _parse(image: str) -> RegistryReference:
    try:
        return parse_reference(image)
    except ImageReferenceError:
        raise SignatureError(f"failed to parse image {image}") from None

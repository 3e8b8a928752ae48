"""Signatures and attestations for ImageValidatingPolicies: bundles where there are any, else
cosign's classic format, as Kyverno finds out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.ports import SignatureError
from chartkit.model import Body, Json
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.signatures import bundles
from chartkit.network.signatures.cosign.checks import verify_layers
from chartkit.network.signatures.cosign.cluster_policies import resolve, verify_signatures
from chartkit.network.signatures.cosign.layers import (
    SIGNATURE,
    NotThereError,
    SignedLayer,
    asked,
    tagged_layers,
)
from chartkit.network.signatures.cosign.payloads import attested_statement, read_attested
from chartkit.network.signatures.errors import within
from chartkit.network.signatures.image_attestors import Attestor, read_attestor
from chartkit.network.signatures.trust.trusted_root import TrustedRoots

_FAILED: Final = "failed to verify cosign signatures"
_SHORT_NAMES: Final[Mapping[str, str]] = {
    "custom": "https://cosign.sigstore.dev/attestation/v1",
    "slsaprovenance": "https://slsa.dev/provenance/v0.2",
    "slsaprovenance02": "https://slsa.dev/provenance/v0.2",
    "slsaprovenance1": "https://slsa.dev/provenance/v1",
    "spdx": "https://spdx.dev/Document",
    "spdxjson": "https://spdx.dev/Document",
    "cyclonedx": "https://cyclonedx.org/bom",
    "link": "https://in-toto.io/Link/v1",
    "vuln": "https://cosign.sigstore.dev/attestation/vuln/v1",
    "openvex": "https://openvex.dev/ns",
}
"""Cosign's own names of predicate types."""

Annotations = Mapping[str, str]


def check_signature(artifacts: Artifacts, image: str, attestor: Body, trust: TrustedRoots) -> None:
    """Verify the signature of an image. attestor: an entry's `cosign`; trust: the trusted root.

    Raises SignatureError in Kyverno's words, any other LookupFailed where it is unknown.
    """
    wanted = read_attestor(attestor, trust)
    bundled = _bundled(artifacts, image, wanted)
    if bundled is not None:
        _check_annotations([_NONE for _ in bundled], wanted)
        return
    layers, is_logged = _classic(artifacts, image, wanted)
    checks = wanted.checks
    if not (is_logged or checks.ignores_log or checks.ignores_sct):
        raise SignatureError("transparency log or timestamp verification failed")
    _check_annotations([layer.annotations for layer in layers], wanted)


def fetch_statement(
    artifacts: Artifacts, image: str, kind: str, attestor: Body, trust: TrustedRoots
) -> Json:
    """Return the statement attested of an image. kind: the required predicate type; trust: the
    trusted root. None for a type by cosign's own short name: Kyverno verifies the statement and
    then does not find it. Raises SignatureError in Kyverno's words, any other LookupFailed where it
    is not known."""
    read = read_attestor(attestor, trust)
    wanted = replace(read, checks=replace(read.checks, attests=True))
    bundled = _bundled(artifacts, image, wanted)
    attested: list[tuple[Body, Annotations]]
    if bundled is not None:
        attested = [(statement, _NONE) for statement in bundled]
    else:
        layers, is_logged = _classic(artifacts, image, wanted)
        if not is_logged:
            raise SignatureError("cosign bundle verification failed")
        attested = [(read_attested(one), one.annotations) for one in layers]
    return _of_type(attested, kind, wanted)


_NONE: Final[Annotations] = {SIGNATURE: ""}
"""The media type that cosign gives an attestation of a bundle."""


def _bundled(artifacts: Artifacts, image: str, wanted: Attestor) -> Sequence[Body] | None:
    """Return the statements of the bundles that hold; None where an image has no bundles."""
    digest, found = asked(lambda: bundles.find_bundles(artifacts, image, wanted.repository))
    if not found:
        return None
    with within(_FAILED):
        envelopes = bundles.verify_bundles(found, digest, wanted.bundled)
        return [attested_statement(one.payload) for one in envelopes]


def _classic(
    artifacts: Artifacts, image: str, wanted: Attestor
) -> tuple[Sequence[SignedLayer], bool]:
    """Return the signatures or attestations that hold, and whether a log's promise was verified."""
    checks = wanted.checks
    suffix = "att" if checks.attests else "sig"
    with within(_FAILED):
        try:
            place, digest = resolve(artifacts, image)
            place = wanted.repository or place
            layers = tagged_layers(artifacts, place, digest, suffix, wanted.prefix)
            verify = verify_layers if checks.attests else verify_signatures
            found = verify(artifacts, layers, digest, checks)
        except NotThereError as error:
            tag = "" if checks.attests else "image tag not found: "
            raise SignatureError(f"{tag}{error.message}") from None
    if found.unknown and checks.attests:
        raise found.unknown[0]
    return found.layers, found.is_logged


def _check_annotations(given: Sequence[Annotations], wanted: Attestor) -> None:
    """Require one of the signatures to have all annotations."""
    if not wanted.annotations:
        return
    errors = [_mismatch(one, wanted.annotations) for one in given]
    if all(errors):
        raise SignatureError(f"no signature matched the required annotations: [{' '.join(errors)}]")


def _mismatch(given: Annotations, wanted: Annotations) -> str:
    """Return why a signature's annotations do not match; empty if they do."""
    for key, value in wanted.items():
        found = given.get(key, "")
        if found != value:
            return (
                f"annotations mismatch: {found} does not match expected value {value} for key {key}"
            )
    return ""


def _of_type(attested: Sequence[tuple[Body, Annotations]], kind: str, wanted: Attestor) -> Json:
    """Return the last statement of a predicate type, with the annotations that are wanted."""
    if not kind:
        raise SignatureError("converting to consumable policy validation: missing predicate type")
    types = [str(statement.get("predicateType", "")) for statement, _ in attested]
    named = _SHORT_NAMES.get(kind, kind)
    found, errors = [], []
    for (statement, given), found_type in zip(attested, types, strict=True):
        if found_type != named:
            continue
        wrong = _mismatch(given, wanted.annotations)
        if wrong:
            errors.append(wrong)
        else:
            found.append(statement)
    if found:
        return None if kind in _SHORT_NAMES else found[-1]
    if errors:
        text = " ".join(errors)
        raise SignatureError(f"no attestation matched the required annotations: [{text}]")
    raise SignatureError(f"required predicate type {kind} not found, found [{' '.join(types)}]")

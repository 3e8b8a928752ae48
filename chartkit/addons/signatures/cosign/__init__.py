"""Signatures and attestations of cosign's classic format, for ClusterPolicies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cryptography import x509

from chartkit.addons.signatures.cosign.checks import (
    CheckOptions,
    VerifiedLayers,
    match_signatures,
    verify_certificate,
    verify_layers,
)
from chartkit.addons.signatures.cosign.layers import (
    Layers,
    NotThereError,
    SignedLayer,
    SimplePayload,
    asked,
    from_base64,
    read_simple,
    read_statement,
    referring_layers,
    tagged_layers,
)
from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.trust.certificates import public_key, read_certificates, read_pool
from chartkit.addons.signatures.trust.keys import (
    HASHES,
    KeyVerifier,
    PublicKey,
    key_verifier,
    load_key,
    read_public_key,
)
from chartkit.addons.signatures.trust.timestamps import read_authority
from chartkit.addons.signatures.trust.trusted_root import Log, TrustedRoots, single_log
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest, Verified
from chartkit.engine.scalars.image_reference import (
    ImageReferenceError,
    RegistryReference,
    parse_reference,
)
from chartkit.errors import LookupFailed
from chartkit.network.registry.artifacts import Artifacts, NoReferenceError, parse_repository

_UNKNOWN: Final = "MANIFEST_UNKNOWN: manifest unknown"
_MOST: Final = 11
"""Certificates of a chain that a policy gives, as Kyverno limits them."""
_REKOR: Final = "failed to load Rekor public keys: failed to get rekor public keys"
_CT: Final = "failed to load CTLogs public keys: failed to get transparency log public keys"
_BEGIN_KEY: Final = "-----BEGIN PUBLIC KEY-----"
_BEGIN_CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----"


def verify_signature(
    artifacts: Artifacts, question: VerificationRequest, trust: TrustedRoots
) -> Verified:
    """Verify the signature of an image; trust: used for what the policy leaves out. Raises
    SignatureError in Kyverno's words, any other LookupFailed where it is unknown."""
    checks = build_checks(question, trust)
    layers = _signatures(artifacts, question, checks, repository_of(question.repository))
    try:
        payloads = _payloads(layers.layers)
        match_signatures(layers.layers, question)
        _check_annotations(payloads, question)
        if question.type:
            return Verified("")
        if not payloads[0].digest:
            message = f"failed to extract image digest from signature payload for {question.image}"
            raise SignatureError(message)
        return Verified(payloads[0].digest)
    except SignatureError:
        _raise_unknown(layers)
        raise


def _signatures(
    artifacts: Artifacts,
    question: VerificationRequest,
    checks: CheckOptions,
    repository: RegistryReference | None,
) -> VerifiedLayers:
    if question.oci11:
        try:
            reference, digest = resolve(artifacts, question.image)
            layers = referring_layers(artifacts, reference, digest)
            return verify_signatures(artifacts, layers, digest, checks)
        except SignatureError:
            pass
    try:
        reference, digest = resolve(artifacts, question.image)
    except NotThereError as error:
        raise SignatureError(f"image tag not found: {error.message}") from None
    layers = tagged_layers(artifacts, repository or reference, digest, "sig")
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
    """Return the statements that are attested of an image. Raises SignatureError in Kyverno's
    words, any other LookupFailed where it is not known."""
    checks = build_checks(question, trust)
    repository = repository_of(question.repository)
    try:
        reference, digest = resolve(artifacts, question.image)
        layers = tagged_layers(artifacts, repository or reference, digest, "att")
        verified_layers = verify_layers(artifacts, layers, digest, checks)
    except SignatureError as error:
        # Kyverno itself tells this answer of a registry by its text.
        if _UNKNOWN in error.message:
            raise SignatureError("not found") from None
        raise
    _raise_unknown(verified_layers)
    payloads = _payloads(verified_layers.layers)
    for layer in verified_layers.layers:
        if question.type:
            with within("failed to decode type"):
                statement = read_statement(layer.payload)
            if statement["type"] == question.type:
                match_signatures([layer], question)
    _check_annotations(payloads, question)
    statements = [read_statement(layer.payload) for layer in verified_layers.layers]
    return Verified(payloads[-1].digest, statements)


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


def _raise_unknown(layers: VerifiedLayers) -> None:
    """Raise for signatures over which the log might decide otherwise."""
    unknown: Sequence[LookupFailed] = layers.unknown
    if unknown:
        raise unknown[0]


def resolve(artifacts: Artifacts, image: str) -> tuple[RegistryReference, str]:
    """Return the repository of an image and its digest, requested if the reference has none. Raises
    SignatureError, NotThereError or RegistryError."""
    try:
        parsed = parse_reference(image)
    except ImageReferenceError:
        raise SignatureError(f"failed to parse image {image}") from None
    if parsed.digest:
        return parsed, parsed.digest
    reference = asked(lambda: artifacts.resolve(image))
    return reference.reference, reference.document.digest


def build_checks(question: VerificationRequest, trust: TrustedRoots) -> CheckOptions:
    """Return the options of a ClusterPolicy's attestor; trust: keys and roots that it leaves out.
    Raises SignatureError in Kyverno's words, UnknownKeyError for a key that cannot be read here."""
    checks = CheckOptions(attests=question.attestations)
    if question.roots:
        checks = replace(checks, roots=pool_of(question.roots, "failed to load Root certificates"))
    if question.algorithm not in HASHES:
        raise SignatureError(f"invalid signature algorithm provided {question.algorithm}")
    checks = _signed_by(question, checks, trust)
    logs = {} if question.ignores_log else _logs(question.rekor_key, _REKOR) or trust().logs
    ct_logs = {} if question.ignores_sct else _logs(question.ctlog_key, _CT) or trust().ct_logs
    return replace(
        checks,
        ignores_log=question.ignores_log,
        ignores_sct=question.ignores_sct,
        logs=logs,
        ct_logs=ct_logs,
        clock=read_authority(question.tsa_chain) if question.tsa_chain else None,
    )


def _signed_by(
    question: VerificationRequest, checks: CheckOptions, trust: TrustedRoots
) -> CheckOptions:
    """Return options with the signer: a key, a certificate, or an authority of the roots."""
    if question.key:
        if question.key.strip().startswith(_BEGIN_KEY):
            return replace(checks, verifier=read_verifier(question.key, question.algorithm))
        what = f"failed to load public key from {question.key}"
        loaded = load_key(question.key, trust.keys, what)
        return replace(checks, verifier=verifier_of(loaded, question.algorithm, what))
    if question.cert:
        certificate = read_signer(question.cert)
        if not question.cert_chain:
            what = "failed to load signature from certificate"
            key = verifier_of(public_key(certificate), question.algorithm, what)
            return replace(checks, verifier=key)
        return by_chain(checks, certificate, question.cert_chain)
    if question.cert_chain:
        return replace(checks, roots=pool_of(question.cert_chain, "failed to load certificates"))
    if checks.roots is not None:
        return checks
    roots = [authority.root for authority in trust().authorities if authority.root is not None]
    if not roots:
        raise SignatureError("failed to get roots from fulcio: the trusted root has none")
    return replace(checks, roots=roots)


def read_verifier(pem: str, algorithm: str) -> KeyVerifier:
    """Return a key of a policy; algorithm: one of `HASHES`. Raises SignatureError."""
    what = "failed to load public key from PEM"
    with within(f"{what}: pem to public key"):
        key = read_public_key(pem)
    return verifier_of(key, algorithm, what)


def verifier_of(key: PublicKey, algorithm: str, what: str) -> KeyVerifier:
    """Return a key of a policy; algorithm: one of `HASHES`; what: the words before the reason of a
    fault. Raises SignatureError."""
    with within(what):
        return key_verifier(key, algorithm)


def read_signer(text: str) -> x509.Certificate:
    """Return the first certificate of a PEM text, which may be in base64; raises SignatureError."""
    failed = f"failed to load certificate from {text}"
    try:
        pem = from_base64(text).decode(errors="replace")
    except SignatureError:
        pem = text
    with within(f"{failed}: failed to unmarshal certificate from PEM format"):
        certificates = read_certificates(pem)
    if not certificates:
        raise SignatureError(f"{failed}: no certs found in pem file")
    return certificates[0]


def by_chain(checks: CheckOptions, certificate: x509.Certificate, chain_pem: str) -> CheckOptions:
    """Return a certificate that its chain must have issued, checked before anything is known of
    logs: Kyverno reads a policy's `ignoreSCT` and log key only after this, and so refuses every
    such certificate. Raises SignatureError."""
    count = chain_pem.count(_BEGIN_CERTIFICATE)
    if count <= _MOST:
        with within("failed to load certificate chain"):
            chain = read_certificates(chain_pem)
        count = len(chain)
    if count > _MOST:
        raise SignatureError(f"certificate chain too long ({count}), maximum allowed is {_MOST}")
    what = "failed to load validate certificate chain"
    if not chain:
        raise SignatureError(f"{what}: no chain provided to validate certificate")
    checked = replace(checks, roots=chain[-1:], intermediates=chain[:-1])
    with within(what):
        verify_certificate(certificate, checked)
    return replace(checked, verifier=KeyVerifier(public_key(certificate)))


def pool_of(pem: str, what: str) -> Sequence[x509.Certificate]:
    """Return the roots of a policy; what: the words before the reason. Raises SignatureError."""
    with within(what):
        return read_pool(pem)


def _logs(key: str, what: str) -> Mapping[bytes, Log]:
    """The log of a policy's key, if it gives one; what: words before a fault's reason."""
    if not key:
        return {}
    with within(what):
        return single_log(key)


def repository_of(text: str) -> RegistryReference | None:
    """The repository of signatures; None, the image's own, for no text. Raises SignatureError."""
    if not text:
        return None
    try:
        return parse_repository(text)
    except NoReferenceError as error:
        message = f"failed to parse signature repository {text}: {error.message}"
        raise SignatureError(message) from None

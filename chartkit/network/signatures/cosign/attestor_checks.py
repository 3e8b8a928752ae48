"""From an attestor of a ClusterPolicy to what is wanted of a signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cryptography import x509

from chartkit.engine.ports import KeySource, SignatureError, VerificationRequest
from chartkit.engine.scalars.registry_reference import RegistryReference
from chartkit.network.registry.artifacts import NoReferenceError, parse_repository
from chartkit.network.signatures.cosign.checks import CheckOptions, verify_certificate
from chartkit.network.signatures.cosign.layers import from_base64
from chartkit.network.signatures.errors import within
from chartkit.network.signatures.trust.certificates import public_key, read_certificates, read_pool
from chartkit.network.signatures.trust.keys import (
    HASHES,
    KeyVerifier,
    PublicKey,
    key_verifier,
    load_key,
    read_public_key,
)
from chartkit.network.signatures.trust.timestamps import read_authority
from chartkit.network.signatures.trust.trusted_root import Log, TrustedRoots, single_log

_MOST: Final = 11
"""Certificates of a chain that a policy gives, as Kyverno limits them."""
_BEGIN_KEY: Final = "-----BEGIN PUBLIC KEY-----"
_BEGIN_CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----"


def build_checks(question: VerificationRequest, trust: TrustedRoots) -> CheckOptions:
    """Return the options of a ClusterPolicy's attestor; trust: keys and roots that it leaves out.

    Raises SignatureError in Kyverno's words, UnknownKeyError for a key that cannot be read here.
    """
    checks = CheckOptions(attests=question.attestations)
    if question.roots:
        checks = replace(checks, roots=pool_of(question.roots, "failed to load Root certificates"))
    if question.algorithm not in HASHES:
        raise SignatureError(f"invalid signature algorithm provided {question.algorithm}")
    checks = _signed_by(question, checks, trust)
    logs = {} if question.ignores_log else _rekor(question, trust)
    ct_logs = {} if question.ignores_sct else _ct(question, trust)
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
        return replace(checks, verifier=_key(question, trust.keys))
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
    roots = [one.root for one in trust().authorities if one.root is not None]
    if not roots:
        raise SignatureError("failed to get roots from fulcio: the trusted root has none")
    return replace(checks, roots=roots)


def _key(question: VerificationRequest, keys: KeySource) -> KeyVerifier:
    if question.key.strip().startswith(_BEGIN_KEY):
        return read_verifier(question.key, question.algorithm)
    what = f"failed to load public key from {question.key}"
    return verifier_of(load_key(question.key, keys, what), question.algorithm, what)


def read_verifier(pem: str, algorithm: str) -> KeyVerifier:
    """Return a key of a policy; algorithm: one of `HASHES`. Raises SignatureError."""
    what = "failed to load public key from PEM"
    with within(f"{what}: pem to public key"):
        key = read_public_key(pem)
    return verifier_of(key, algorithm, what)


def verifier_of(key: PublicKey, algorithm: str, what: str) -> KeyVerifier:
    """Return a key of a policy; algorithm: one of `HASHES`; what: the words before the reason of a
    fault.

    Raises SignatureError.
    """
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
        found = read_certificates(pem)
    if not found:
        raise SignatureError(f"{failed}: no certs found in pem file")
    return found[0]


def by_chain(checks: CheckOptions, certificate: x509.Certificate, chain_pem: str) -> CheckOptions:
    """Return a certificate that its chain must have issued, checked before anything is known of
    logs: Kyverno reads a policy's `ignoreSCT` and log key only after this, and so refuses every
    such certificate.

    Raises SignatureError.
    """
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


def _rekor(question: VerificationRequest, trust: TrustedRoots) -> Mapping[bytes, Log]:
    if not question.rekor_key:
        return trust().logs
    with within("failed to load Rekor public keys: failed to get rekor public keys"):
        return single_log(question.rekor_key)


def _ct(question: VerificationRequest, trust: TrustedRoots) -> Mapping[bytes, Log]:
    if not question.ctlog_key:
        return trust().ct_logs
    with within("failed to load CTLogs public keys: failed to get transparency log public keys"):
        return single_log(question.ctlog_key)


def repository_of(text: str) -> RegistryReference | None:
    """Return the repository of signatures; None, the image's own, for no text. Raises
    SignatureError."""
    if not text:
        return None
    try:
        return parse_repository(text)
    except NoReferenceError as error:
        raise SignatureError(
            f"failed to parse signature repository {text}: {error.message}"
        ) from None

"""One signature against everything that is wanted of it, in cosign's order and words; signers of
content at hand: the keys of certificates, and the names in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from chartkit.addons.signatures.cosign.layers import (
    Layers,
    SignedLayer,
    check_claim,
    check_subject,
    from_base64,
    read_promise,
    verify_envelope,
)
from chartkit.addons.signatures.cosign.transparency import check_entry
from chartkit.addons.signatures.errors import UndecidedError, joined, within
from chartkit.addons.signatures.trust.certificates import (
    CODE_SIGNING,
    Identity,
    alternative_names,
    check_expiry,
    extension,
    extension_values,
    public_key,
    read_certificate,
    verify_chain,
)
from chartkit.addons.signatures.trust.keys import KeyVerifier, PublicKey, key_der, key_pem, read_pem
from chartkit.addons.signatures.trust.timestamps import TimestampAuthority
from chartkit.addons.signatures.trust.timestamps import verify_timestamp as verify_stamp
from chartkit.addons.signatures.trust.trusted_root import (
    Log,
    Trust,
    certificate_timestamps,
    verify_certificate_timestamp,
    verify_leaf,
    verify_promise,
    verify_sct,
)
from chartkit.engine.ports.signatures import LoggedBlob, SignatureError, VerificationRequest
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import LookupFailed
from chartkit.go.regexp import Regex, RegexError, compile_regex
from chartkit.network.registry.artifacts import Artifacts

_ISSUER: Final = "1.3.6.1.4.1.57264.1.1"
_EXTENSIONS: Final[Mapping[str, str]] = {
    "oidcIssuer": _ISSUER,
    "githubWorkflowTrigger": "1.3.6.1.4.1.57264.1.2",
    "githubWorkflowSha": "1.3.6.1.4.1.57264.1.3",
    "githubWorkflowName": "1.3.6.1.4.1.57264.1.4",
    "githubWorkflowRepository": "1.3.6.1.4.1.57264.1.5",
    "githubWorkflowRef": "1.3.6.1.4.1.57264.1.6",
}
"""Fulcio's extensions that Kyverno knows, by the names that policies may have for them."""
_NO_CTFE: Final = (
    "ctfe public key not found for payload. Check your TUF root (see cosign initialize) or set a "
    "custom key with env var SIGSTORE_CT_LOG_PUBLIC_KEY_FILE"
)
_RSA: Final = "rsa signature: crypto/rsa: verification error"
_NO_PATH: Final = (
    "Check your TUF root (see cosign initialize) or set a custom root with env var "
    "SIGSTORE_ROOT_FILE"
)
_NEXT: Final = "\n "
_OPTIONS: Final = "failed to create cosign check options"


def check_identities(certificate: x509.Certificate, wanted: Sequence[Identity]) -> None:
    """Require a certificate for one of the identities, in which a regular expression takes
    precedence; raises SignatureError."""
    if not wanted:
        return
    issuer = extension_values(certificate).get(_ISSUER, "")
    names = alternative_names(certificate)
    for identity in wanted:
        is_issuer = _is(identity.issuer, identity.issuer_regexp, [issuer], "issuer")
        is_subject = _is(identity.subject, identity.subject_regexp, names, "subject")
        if is_issuer and is_subject:
            return
    raise SignatureError(
        "none of the expected identities matched what was in the certificate, got subjects "
        f"[{', '.join(names)}] with issuer {issuer}"
    )


def _is(wanted: str, pattern: str, values: Sequence[str], what: str) -> bool:
    if pattern:
        regex = _compile(pattern, f"malformed {what} in identity")
        return any(regex.matches(value) for value in values)
    return not wanted or wanted in values


def _compile(pattern: str, what: str) -> Regex:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise SignatureError(f"{what}: {pattern} : {error}") from None


def match_signatures(layers: Sequence[SignedLayer], question: VerificationRequest) -> None:
    """Require one of the signatures to have the certificate that a ClusterPolicy names. Raises
    SignatureError in Kyverno's words."""
    q = question
    if not any((q.subject, q.subject_regexp, q.issuer, q.issuer_regexp, q.extensions)):
        return
    errors: list[SignatureError] = []
    for layer in layers:
        if layer.certificate is None:
            raise SignatureError("certificate not found")
        try:
            _match(layer.certificate, question)
        except SignatureError as error:
            errors.append(error)
        else:
            return
    raise SignatureError(joined(errors, "; ") or "invalid signature")


def _match(certificate: x509.Certificate, question: VerificationRequest) -> None:
    names = alternative_names(certificate)
    # Require a subject; a certificate without any name passes, as in Kyverno.
    subject, pattern = question.subject, question.subject_regexp
    if (subject or pattern) and names:
        is_match = bool(subject) and any(map(compile_wildcard(subject), names))
        if pattern:
            regex = _compile(pattern, "invalid regexp for subject")
            is_match = is_match or any(regex.matches(name) for name in names)
        if not is_match:
            raise SignatureError(
                f"subject mismatch: expected {subject or pattern}, received {', '.join(names)}"
            )
    extensions = extension_values(certificate)
    issuer = extensions.get(_ISSUER, "")
    if question.issuer and not compile_wildcard(question.issuer)(issuer):
        raise SignatureError(f"issuer mismatch: expected {question.issuer}, received {issuer}")
    if question.issuer_regexp:
        regex = _compile(question.issuer_regexp, "invalid regexp for issuer")
        if not regex.matches(issuer):
            expected = question.issuer_regexp
            raise SignatureError(f"issuer mismatch: expected {expected}, received {issuer}")
    for key, wanted in question.extensions.items():
        identifier = _EXTENSIONS.get(key, key)
        if identifier not in _EXTENSIONS.values():
            raise SignatureError(f"invalid certificate extension {key}")
        value = extensions.get(identifier, "")
        if not compile_wildcard(wanted)(value):
            message = f"extension mismatch: expected {wanted} for key {key}, received {value}"
            raise SignatureError(message)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Options of a verification, the counterpart of cosign's `CheckOpts`.

    verifier: the key of the signer, None for certificates; roots: authorities to trust;
    intermediates: None for those attached to a signature; trust: a trusted root, used for roots and
    all logs' keys if set; logs, ct_logs: by identifier; asks_log: whether Kyverno would look up a
    signature in the log that has no entry attached; clock: the time stamps to trust in addition to
    the trusted root's, None to ignore them; attests: whether attestations are verified; now: the
    time.
    """

    verifier: KeyVerifier | None = None
    roots: Sequence[x509.Certificate] | None = None
    intermediates: Sequence[x509.Certificate] | None = None
    trust: Trust | None = None
    logs: Mapping[bytes, Log] = field(default_factory=dict)
    ct_logs: Mapping[bytes, Log] = field(default_factory=dict)
    ignores_log: bool = False
    ignores_sct: bool = False
    asks_log: bool = True
    clock: TimestampAuthority | None = None
    identities: Sequence[Identity] = ()
    attests: bool = False
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class VerifiedLayers:
    """Verified signatures. is_logged: whether a log's promise was verified for at least one of
    them; unknown: why others were neither verified nor refused."""

    layers: Sequence[SignedLayer]
    is_logged: bool
    unknown: Sequence[UndecidedError] = ()


def verify_layers(
    artifacts: Artifacts, layers: Layers, digest: str, checks: CheckOptions
) -> VerifiedLayers:
    """Return the signatures (or attestations) of an image that hold. Raises SignatureError where
    none does, UndecidedError where some cannot be decided, and RegistryError where the registry
    does not answer."""
    verified: list[SignedLayer] = []
    refused: list[SignatureError] = []
    unknown: list[UndecidedError] = []
    is_logged = False
    for layer in layers.read(artifacts):
        if isinstance(layer, SignatureError):
            refused.append(layer)
            continue
        if isinstance(layer, UndecidedError):
            unknown.append(layer)
            continue
        try:
            is_logged = verify_layer(layer, digest, checks) or is_logged
        except SignatureError as error:
            refused.append(error)
        except UndecidedError as error:
            unknown.append(error)
        else:
            verified.append(layer)
    if verified:
        return VerifiedLayers(verified, is_logged, tuple(unknown))
    what = "attestations" if checks.attests else "signatures"
    if unknown:
        raise unknown[0].within(f"no matching {what}: ")
    raise SignatureError(f"no matching {what}: {joined(refused, _NEXT)}")


def verify_layer(layer: SignedLayer, digest: str, checks: CheckOptions) -> bool:
    """Report whether a log's promise was verified; raises SignatureError where a check fails,
    UndecidedError where it cannot be decided."""
    stamped = _stamped(layer, checks)
    logged, is_unknown = None, False
    if not checks.ignores_log:
        with within("error verifying bundle"):
            logged = logged_at(layer, checks)
        if logged is None:
            if not checks.asks_log:
                raise SignatureError("offline verification failed")
            is_unknown = True
    verifier = checks.verifier
    issuers: tuple[x509.Certificate, ...] = ()
    if verifier is None:
        # The key of the certificate attached to a signature, and its issuers.
        if layer.certificate is None:
            raise SignatureError("no certificate found on signature")
        between = checks.intermediates
        if between is None and len(layer.chain) > 1:
            between = layer.chain[:-1]
        checked = replace(checks, intermediates=between)
        chain = verify_certificate(layer.certificate, checked)
        verifier, issuers = KeyVerifier(public_key(layer.certificate)), tuple(chain[1:])
    if checks.attests:
        verify_envelope(layer, verifier)
        check_subject(layer, digest)
    else:
        verifier.verify(layer.raw_signature, layer.payload)
        check_claim(layer, digest)
    if is_unknown:
        raise UndecidedError(
            "the signature has no entry of the transparency log with it, and the log itself is not "
            "asked",
            hint="sign with a log's bundle, or let the policy ignore the log (ignoreTlog)",
        )
    if layer.certificate is not None:
        # Require a certificate to be valid at the time of the signature, or now.
        for at, what in ((stamped, "timestamp"), (logged, "bundle")):
            if at is not None:
                with within(f"checking expiry on certificate with {what}"):
                    check_expiry(layer.certificate, issuers, at)
        if stamped is None and logged is None:
            try:
                check_expiry(layer.certificate, issuers, checks.now)
            except SignatureError:
                text = "expected a signed timestamp to verify an expired certificate"
                raise SignatureError(text) from None
    return logged is not None


def _stamped(layer: SignedLayer, checks: CheckOptions) -> datetime | None:
    """Return the time stamp of the policy's authority; None without one."""
    if checks.clock is None or layer.timestamp is None:
        return None
    with within("unable to verify RFC3161 timestamp bundle"):
        message = layer.raw_signature or layer.payload
        clock = checks.clock
        if checks.trust is None:
            if not clock.roots:
                raise SignatureError("no TSA root certificate(s) provided to verify timestamp")
            return verify_stamp(layer.timestamp, message, clock).time
        trusted = [(authority, authority.clock) for authority in checks.trust.timestamp_authorities]
        for authority, timestamp_authority in (*trusted, (None, clock)):
            try:
                at = verify_stamp(layer.timestamp, message, timestamp_authority).time
            except SignatureError:
                continue
            if authority is None or authority.is_valid(at):
                return at
        raise SignatureError("expected at least one verified timestamp")


def logged_at(layer: SignedLayer, checks: CheckOptions) -> datetime | None:
    """Return the time of the log's entry; None without the log's promise."""
    promise = layer.promise
    if promise is None:
        return None
    if checks.trust is None and not checks.logs:
        raise SignatureError("no trusted rekor public keys provided")
    check_entry(layer, _signer_pem(layer, checks), promise.body)
    try:
        at = datetime.fromtimestamp(promise.at, UTC)
    except (ValueError, OverflowError, OSError):
        raise SignatureError("the entry's time is invalid") from None
    with within("" if checks.trust is None else "verifying bundle with trusted root: ", ""):
        try:
            identifier = bytes.fromhex(promise.log)
        except ValueError:
            identifier = b""
        missing = "rekor log public key not found for payload"
        if checks.trust is None:
            if identifier not in checks.logs:
                raise SignatureError(f"verifying bundle: {missing}")
            log: Log = checks.logs[identifier]
        else:
            transparency_log = checks.trust.logs.get(identifier)
            if transparency_log is None:
                raise SignatureError(missing)
            if not transparency_log.is_valid(at):
                raise SignatureError("rekor log public key not valid at payload integrated time")
            log = transparency_log
        verify_promise(
            body=from_base64(str(promise.body)),
            integrated_time=promise.at,
            log_index=promise.index,
            log_id=log.id,
            promise=promise.signature,
            key=log.key,
        )
    return at


def _signer_pem(layer: SignedLayer, checks: CheckOptions) -> str:
    """Return the signer as an entry of the log has it: a certificate, or a key alone."""
    if layer.certificate is None:
        if checks.verifier is None:
            raise SignatureError("empty key")
        return key_pem(checks.verifier.key)
    if checks.verifier is not None:
        own = key_der(public_key(layer.certificate))
        if own != key_der(checks.verifier.key):
            raise SignatureError("both public key and certificate were provided but did not match")
    return layer.certificate.public_bytes(Encoding.PEM).decode()


def verify_certificate(
    certificate: x509.Certificate, checks: CheckOptions
) -> Sequence[x509.Certificate]:
    """Return the path from a certificate to a root, once all checks of it hold."""
    at = certificate.not_valid_before_utc
    if checks.trust is None:
        between = checks.intermediates or ()
        try:
            chain = verify_chain(
                certificate,
                roots=checks.roots or (),
                intermediates=between,
                at=at,
                usage=CODE_SIGNING,
            )
        except SignatureError as error:
            text = f"cert verification failed: {error.message}. {_NO_PATH}"
            raise SignatureError(text) from None
    else:
        chain = verify_leaf(certificate, checks.trust.authorities, at)
    check_identities(certificate, checks.identities)
    if checks.ignores_sct:
        return chain
    promised = certificate_timestamps(certificate)
    if not promised:
        message = "certificate does not include required embedded SCT and no detached SCT was set"
        raise SignatureError(message)
    if checks.trust is not None:
        verify_sct(certificate, chain[1:], checks.trust.ct_logs)
        return chain
    if len(chain) < 2:
        raise SignatureError("certificate chain must contain at least a certificate and its issuer")
    if not checks.ct_logs:
        raise SignatureError("none of the CTFE keys have been found")
    for sct in promised:
        log = checks.ct_logs.get(sct.log_id)
        if log is None:
            raise SignatureError(_NO_CTFE)
        try:
            verify_certificate_timestamp(certificate, sct, chain[1:], log.key)
        except SignatureError:
            is_rsa = isinstance(log.key, rsa.RSAPublicKey)
            text = f"failed to verify {_RSA if is_rsa else 'ECDSA signature'}"
            raise SignatureError(f"error verifying embedded SCT: {text}") from None
    return chain


def certified_key(text: str, chain: str) -> PublicKey:
    """Return the key of a certificate that a policy names; chain: the certificates that must vouch
    for it, the root last; empty for none. Raises SignatureError."""
    what = "failed to load certificate"
    try:
        certificate = _first(text)
        if chain:
            what = "failed to load certificate chain"
            blocks, has_more = read_pem(chain)
            if not blocks or has_more:
                raise SignatureError("error during PEM decoding")
            *between, root = [read_certificate(block.content) for block in blocks]
            what = "certificate chain validation failed"
            checks = CheckOptions(roots=(root,), intermediates=between, ignores_sct=True)
            verify_certificate(certificate, checks)
        return public_key(certificate)
    except SignatureError as error:
        raise SignatureError(f"{_OPTIONS}: {what}; {error.message}") from None


def signer_of(blob: LoggedBlob, key: PublicKey | None, trust: Trust) -> str | None:
    """Return the name in the certificate of who signed (`GetNameInfoFromX509Cert`): an e-mail
    address, the common name, or else the last of its alternative names. None where the log promised
    nothing of that, or another key signed than the one that is wanted. Raises LookupFailed for a
    name that is not read."""
    verifier = None if key is None else KeyVerifier(key)
    checks = CheckOptions(verifier=verifier, ignores_sct=True, logs=trust.logs)
    try:
        certificate = _first(blob.certificate)
        promise = read_promise(blob.entry)
        layer = SignedLayer(blob.content, blob.signature, {}, certificate, (), promise)
        if logged_at(layer, checks) is None:
            return None
    except SignatureError:
        return None
    try:
        extended = extension(certificate, x509.SubjectAlternativeName)
    except ValueError:
        extended = None
    names = [] if extended is None else list(extended.value)
    texts = [name.value for name in names if isinstance(name, x509.RFC822Name)]
    subject = certificate.subject
    texts += [str(name.value) for name in subject.get_attributes_for_oid(NameOID.EMAIL_ADDRESS)]
    texts += [str(name.value) for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1:]]
    if any(texts):
        return next(filter(None, texts))
    if not names:
        return ""
    last = names[-1]
    if isinstance(last, x509.DNSName | x509.UniformResourceIdentifier):
        return last.value
    raise LookupFailed("the signer is in a name of an unsupported kind")


def _first(text: str) -> x509.Certificate:
    """Return the certificate in the first block of a PEM text, whatever its label."""
    blocks, _ = read_pem(text)
    if not blocks:
        raise SignatureError("x509: malformed certificate")
    return read_certificate(blocks[0].content)

"""Verification of a Sigstore bundle: the checks of sigstore-go 1.3.0 (`verify.Verifier`).

sigstore-python's own verifier always requires one log entry, a certificate and its promise of a
certificate log. Kyverno lets policies leave out each of them, and supports keys. So its parts are
combined here in sigstore-go's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto

from cryptography import x509

from chartkit.addons.signatures.bundles.log import verify_entries
from chartkit.addons.signatures.bundles.protojson import Message, MessageError, load
from chartkit.addons.signatures.bundles.reader import Bundle, Envelope
from chartkit.addons.signatures.bundles.signers import Signer, find_signer, match_identity, summary
from chartkit.addons.signatures.cosign.layers import IN_TOTO
from chartkit.addons.signatures.errors import joined, within
from chartkit.addons.signatures.trust.certificates import Identity
from chartkit.addons.signatures.trust.timestamps import verify_timestamp
from chartkit.addons.signatures.trust.trusted_root import Authority, Trust, verify_leaf, verify_sct
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Json

_MOST_TIMESTAMPS = 32
_MOST_SUBJECTS = 1024
_MOST_DIGESTS = 32
_RESOURCE = ("name", "uri", "digest", "content", "downloadLocation", "mediaType", "annotations")


class Clock(Enum):
    """A source of the time of a signature."""

    OBSERVED = auto()
    """A time-stamping authority, or a log's promise."""
    STAMPED = auto()
    """A time-stamping authority."""
    LOGGED = auto()
    """A log's promise."""
    NOW = auto()
    """No witness: certificates must be valid at the time of verification."""
    NONE = auto()
    """No witness is needed: a key has signed."""


@dataclass(frozen=True, slots=True)
class BundlePolicy:
    """Requirements on a bundle. trust: logs, certificates and clocks to trust; key: the required
    signer, or identity: the required identity; logged: whether a log must have an entry; promised:
    whether a certificate log must have the certificate; now: the time, None for the present."""

    trust: Trust
    clock: Clock
    key: Signer | None = None
    identity: Identity | None = None
    logged: bool = True
    promised: bool = False
    now: datetime | None = None


def verify(bundle: Bundle, digest: str, checks: BundlePolicy) -> Json:
    """Return the in-toto statement of a bundle that holds for the digest of an image; None for a
    bare signature. Raises SignatureError with the first of its faults."""
    if checks.key is None and checks.identity is None:
        raise SignatureError(
            "failed to build policy: can't verify identities without providing at least one "
            "identity"
        )
    signer = find_signer(bundle, checks.key)
    times = _times(bundle, signer, checks)
    if signer is None:
        raise SignatureError("signature time outside of public key validity window")
    if signer.certificate is not None:
        certificate = signer.certificate
        # Require a certificate of a trusted authority, at every known time.
        if checks.key is not None:
            raise SignatureError("expected key signature, not certificate")
        if checks.clock is Clock.NONE:
            raise SignatureError("must provide timestamp to verify certificate")
        summary(certificate)
        chain: Sequence[x509.Certificate] = ()
        for at in times:
            with within("failed to verify leaf certificate"):
                chain = verify_leaf(certificate, checks.trust.authorities, at)
        if checks.promised:
            with within("failed to verify signed certificate timestamp"):
                verify_sct(certificate, chain[1:], checks.trust.ct_logs)
    elif checks.promised:
        message = "SCTs required but bundle is signed with a public key, which cannot contain SCTs"
        raise SignatureError(message)
    # Require a signature of this image; a bare signature has no statement.
    statement: Json = None
    with within("failed to verify signature"):
        wanted = bytes.fromhex(digest.partition(":")[2])
        if bundle.envelope is not None:
            signer.verify_envelope(bundle.envelope)
            statement = _check_statement(bundle.envelope, digest)
        elif bundle.message is None or bundle.message.digest != wanted:
            raise SignatureError("artifact does not match digest")
        else:
            signer.verify_digest(bundle.message.signature, wanted)
    if checks.identity is not None:
        if signer.certificate is None:
            raise SignatureError(
                "can't verify certificate identities: entity was not signed with a certificate"
            )
        match_identity(checks.identity, signer.certificate)
    return statement


def _times(bundle: Bundle, signer: Signer | None, checks: BundlePolicy) -> Sequence[datetime]:
    """Return the times at which trusted sources saw the signature."""
    logged: Sequence[datetime] = ()
    if checks.logged:
        with within("failed to verify log inclusion"):
            logged = verify_entries(bundle, signer, checks.trust.logs)
    clock = checks.clock
    if clock is Clock.NONE:
        return ()
    if clock is Clock.NOW:
        return (checks.now or datetime.now(UTC),)
    failed = "failed to verify timestamps"
    if clock is Clock.LOGGED:
        if not logged:
            raise SignatureError(
                f"{failed}: threshold not met for verified log entry integrated timestamps: 0 < 1"
            )
        return logged
    if (count := len(bundle.timestamps)) > _MOST_TIMESTAMPS:
        raise SignatureError(f"{failed}: too many signed timestamps: {count} > {_MOST_TIMESTAMPS}")
    # A time for each authority, and the errors of the other time stamps.
    stamped: dict[str, datetime] = {}
    errors: list[SignatureError] = []
    for response in bundle.timestamps:
        try:
            address, at = _stamp(response, bundle.signature, checks.trust.timestamp_authorities)
        except SignatureError as error:
            errors.append(error)
            continue
        if address in stamped:
            text = f"duplicate timestamps from the same authority, ignoring {address}"
            errors.append(SignatureError(text))
        else:
            stamped[address] = at
    times = (*(logged if clock is Clock.OBSERVED else ()), *stamped.values())
    if not times:
        kind = "signed & log entry integrated" if clock is Clock.OBSERVED else "signed"
        # Go prints this for an error that is not there.
        said = joined(errors, "\n") or "%!w(<nil>)"
        raise SignatureError(
            f"{failed}: threshold not met for verified {kind} timestamps: 0 < 1; error: {said}"
        )
    return times


def _stamp(
    response: bytes, signature: bytes, authorities: Sequence[Authority]
) -> tuple[str, datetime]:
    errors: list[SignatureError] = []
    for authority in authorities:
        try:
            at = verify_timestamp(response, signature, authority.clock).time
            if authority.start is not None and at < authority.start:
                raise SignatureError("timestamp is before the validity period start")
            if authority.end is not None and at > authority.end:
                raise SignatureError("timestamp is after the validity period end")
        except SignatureError as error:
            errors.append(error)
        else:
            return authority.uri, at
    raise SignatureError(f"unable to verify signed timestamps: {joined(errors, chr(10))}")


def _check_statement(envelope: Envelope, digest: str) -> Json:
    """Return the statement of an envelope that is about a digest."""
    failed = "could not verify artifact: unable to extract statement from envelope"
    if envelope.payload_type != IN_TOTO:
        text = f"{failed}: unsupported DSSE payload type: {envelope.payload_type[:100]}"
        raise SignatureError(text)
    try:
        statement = load(envelope.payload)
        message = Message(
            statement, "the statement", ("_type", "subject", "predicateType", "predicate")
        )
        message.text("_type")
        message.text("predicateType")
        if not isinstance(message.value("predicate"), dict | None):
            raise MessageError("predicate is not an object")
        subjects = [_digests(resource) for resource in message.messages("subject", _RESOURCE)]
    except MessageError as error:
        raise SignatureError(f"{failed}: parsing in-toto statement: {error}") from None
    if len(subjects) > _MOST_SUBJECTS:
        raise SignatureError(f"too many subjects: {len(subjects)} > {_MOST_SUBJECTS}")
    if (most := max(map(len, subjects), default=0)) > _MOST_DIGESTS:
        raise SignatureError(f"too many digests: {most} > {_MOST_DIGESTS}")
    algorithm, _, wanted = digest.partition(":")
    digests: list[bytes] = []
    for subject in subjects:
        for name, value in subject.items():
            digests += [octets] if (octets := _hexadecimal(value)) and name == algorithm else []
    if not any(algorithm in subject for subject in subjects):
        raise SignatureError("provided artifact digests does not match digests in statement")
    if bytes.fromhex(wanted) not in digests:
        raise SignatureError("provided artifact digest does not match any digest in statement")
    return statement


def _digests(subject: Message) -> dict[str, str]:
    for name in ("name", "uri", "downloadLocation", "mediaType"):
        subject.text(name)
    subject.octets("content")
    if not isinstance(subject.value("annotations"), dict | None):
        raise MessageError("annotations are not an object")
    digests = subject.value("digest")
    if digests is None:
        return {}
    if not isinstance(digests, dict) or not all(isinstance(text, str) for text in digests.values()):
        raise MessageError("digest is not an object of strings")
    return digests


def _hexadecimal(text: str) -> bytes:
    try:
        if text.strip() != text or " " in text:
            raise ValueError
        return bytes.fromhex(text)
    except ValueError:
        raise SignatureError("could not verify artifact: unable to decode subject digest") from None

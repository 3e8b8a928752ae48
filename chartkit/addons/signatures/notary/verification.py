"""Verification of an envelope against a manifest, at notation's verification level `strict`.

The steps, their order and words are those of notation-go's verifier: integrity, authenticity,
expiry, an authentic time, revocation, and last what was signed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from cryptography import x509

from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.go_json import decode, read
from chartkit.addons.signatures.notary import cose, jws
from chartkit.addons.signatures.notary.chain import asks_elsewhere, check_time_stamping
from chartkit.addons.signatures.notary.jws import (
    PLUGIN,
    SIGNING_AUTHORITY,
    Content,
    check_content,
)
from chartkit.addons.signatures.notary.words import line, moment_of, now, shown, subject
from chartkit.addons.signatures.trust.timestamps import (
    TimestampAuthority,
    verify_token,
)
from chartkit.engine.ports import SignatureError
from chartkit.go.strconv import quote
from chartkit.go.time_layout import Moment
from chartkit.go.types import GoTypes

_PAYLOAD: Final = "application/vnd.cncf.notary.payload.v1+json"
_NOBODY_ASKED: Final = "responders (OCSP) and revocation lists are not asked"
_TYPES: Final = GoTypes(
    {
        "envelope.Payload": {"targetArtifact": "v1.Descriptor"},
        "v1.Descriptor": dict.fromkeys(("mediaType", "digest", "size"), "Raw"),
    },
    exact=True,
)
_MICROSECOND: Final = 1000


class RevocationUnknownError(SignatureError):
    """A certificate whose revocation only a server knows that is not asked."""

    def __init__(self, whose: str) -> None:
        super().__init__(f"{line(whose)} revocation status is unknown: {_NOBODY_ASKED}")


@dataclass(frozen=True, slots=True)
class TrustStore:
    """Certificates that are trusted as they stand, one of which has to be in a signature's chain;
    clocks: whose time stamps are."""

    authorities: Sequence[x509.Certificate]
    clocks: Sequence[x509.Certificate] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """The manifest that must be signed, by its descriptor."""

    media_type: str
    digest: str
    size: int


def check_envelope(raw: bytes, media_type: str, target: Target, trust: TrustStore) -> None:
    """Require an envelope to be a trusted signature of a manifest. Raises SignatureError in
    notation's words, RevocationUnknownError where nothing else is wrong."""
    try:
        unasked = _check(raw, media_type, target, trust)
    except SignatureError as error:
        raise SignatureError(line(error.message), hint=error.hint) from None
    if unasked is not None:
        raise unasked


def _check(
    raw: bytes, media_type: str, target: Target, trust: TrustStore
) -> RevocationUnknownError | None:
    # The content of an envelope whose signature holds.
    with within("unable to parse the digital signature, error "):
        if media_type == jws.MEDIA_TYPE:
            in_json = jws.parse(raw)
        elif media_type == cose.MEDIA_TYPE:
            in_cbor = cose.parse(raw)
        else:
            kind = quote(media_type)
            raise SignatureError(
                f"signature envelope format with media type {kind} is not supported"
            )
    content = jws.verify(in_json) if media_type == jws.MEDIA_TYPE else cose.verify(in_cbor)
    check_content(content)
    if content.content_type != _PAYLOAD:
        raise SignatureError(f"payload content type {quote(content.content_type)} not supported")
    # Refuse an envelope that needs a plugin: Kyverno has none.
    wanted = content.attributes.get(PLUGIN)
    if wanted is not None:
        if not wanted.is_critical:
            raise SignatureError(f"{PLUGIN} is not a critical Extended attribute")
        if not isinstance(wanted.value, str):
            raise SignatureError(f"{PLUGIN} from extended attribute is not a string")
        if not wanted.value.strip():
            raise SignatureError(f"{PLUGIN} from extended attribute is an empty string")
        raise SignatureError("plugin unsupported due to nil verifier.pluginManager")
    # Kyverno's store is one of authorities; a signing authority is looked for in another one.
    if content.scheme == SIGNING_AUTHORITY or not trust.authorities:
        raise SignatureError("no trusted certificates are found to verify authenticity")
    if not any(certificate in trust.authorities for certificate in content.chain):
        raise SignatureError(
            "the signature's certificate chain does not contain any trusted certificate"
        )
    at = now()
    if content.expiry is not None and at.nanoseconds >= content.expiry.nanoseconds:
        raise SignatureError(f"digital signature has expired on {quote(shown(content.expiry))}")
    unasked = _check_time(content, trust, at)
    body = decode(_TYPES, "envelope.Payload", read(content.payload))
    signed = body.get("targetArtifact", {})
    size = signed.get("size")
    found = (signed.get("mediaType"), signed.get("digest"), size)
    if type(size) is not int or found != (target.media_type, target.digest, target.size):
        raise SignatureError("content descriptor mismatch")
    return unasked or _unasked(content.chain, "signing")


def _check_time(content: Content, trust: TrustStore, at: Moment) -> RevocationUnknownError | None:
    """Require the chain to be valid at the time of the signature, by a time stamp or else now.
    Raises SignatureError; returns what is unknown of the time stamp itself."""
    if trust.clocks:
        return _check_stamp(content, trust.clocks)
    _check_validity(content.chain, at.nanoseconds, at.nanoseconds, "verification time is")
    return None


def _check_stamp(
    content: Content, clocks: Sequence[x509.Certificate]
) -> RevocationUnknownError | None:
    if not content.time_stamp:
        raise SignatureError("no timestamp countersignature was found in the signature envelope")
    authority = TimestampAuthority(tuple(clocks))
    with within("failed to verify the timestamp countersignature with error"):
        stamp = verify_token(content.time_stamp, content.signature, authority)
    chain = _trusted_part(stamp.chain, clocks)
    with within("failed to validate the timestamping certificate chain with error"):
        check_time_stamping(chain)
    middle = moment_of(stamp.time).nanoseconds + stamp.time.microsecond * _MICROSECOND
    accuracy = stamp.accuracy // timedelta(microseconds=1) * _MICROSECOND
    _check_validity(content.chain, middle - accuracy, middle + accuracy, "timestamp can be")
    return _unasked(chain, "timestamping")


def _check_validity(
    chain: Sequence[x509.Certificate], earliest: int, latest: int, what: str
) -> None:
    """Require certificates to be valid between two times, in nanoseconds; what: the words about
    these."""
    for one in chain:
        first, last = moment_of(one.not_valid_before_utc), moment_of(one.not_valid_after_utc)
        period = f"certificate {subject(one)} validity period"
        if earliest < first.nanoseconds:
            raise SignatureError(
                f"{what} before {period}, it will be valid from {quote(shown(first))}"
            )
        if latest > last.nanoseconds:
            raise SignatureError(f"{what} after {period}, it was expired at {quote(shown(last))}")


def _trusted_part(
    chain: Sequence[x509.Certificate], clocks: Sequence[x509.Certificate]
) -> Sequence[x509.Certificate]:
    """Return a chain up to the first trusted certificate, where Go's own ends."""
    for index, certificate in enumerate(chain):
        if certificate in clocks:
            return chain[: index + 1]
    return chain


def _unasked(chain: Sequence[x509.Certificate], kind: str) -> RevocationUnknownError | None:
    """Return what is unknown of a chain; of several certificates notation names the first."""
    for certificate in chain[:-1]:
        if asks_elsewhere(certificate):
            return RevocationUnknownError(f"{kind} certificate with subject {subject(certificate)}")
    return None

"""The trust of a Sigstore instance: its trusted_root.json, as sigstore-go reads it, and what its
logs promised.

The last part has functions of sigstore's own library behind narrow ones: nothing else in chartkit
imports `sigstore._internal`. Each raises SignatureError where what it verifies does not hold.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Final, TypeVar

import rfc8785
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.certificate_transparency import SignedCertificateTimestamp
from sigstore._internal.merkle import verify_merkle_inclusion
from sigstore._internal.rekor.checkpoint import SignedCheckpoint
from sigstore._internal.sct import _get_issuer_cert, _pack_digitally_signed
from sigstore._internal.trust import Keyring, RekorKeyring
from sigstore._utils import KeyID, key_id, read_embedded
from sigstore.errors import Error
from sigstore.models import TransparencyLogEntry
from sigstore_models.common.v1 import LogId, PublicKeyDetails
from sigstore_models.common.v1 import PublicKey as ListedKey
from sigstore_models.rekor.v1 import Checkpoint, InclusionProof, KindVersion
from sigstore_models.rekor.v1 import TransparencyLogEntry as ListedEntry

from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.trust.certificates import (
    CODE_SIGNING,
    extension,
    is_authority,
    read_certificate,
    verify_chain,
)
from chartkit.addons.signatures.trust.keys import (
    PublicKey,
    key_der,
    log_id,
    read_key_der,
    read_public_key,
)
from chartkit.addons.signatures.trust.timestamps import TimestampAuthority
from chartkit.engine.ports.signatures import KeySource, SignatureError
from chartkit.model import Body, Json, mapping_at
from chartkit.network.cluster.cleaning import NO_SECRETS

_MEDIA_TYPE: Final = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"
_MOST: Final = 100
"""Logs or authorities of one kind at most."""

Read = TypeVar("Read")
_PUBLIC_INSTANCE: Final = "https://tuf-repo-cdn.sigstore.dev"
_CURVES: Final = {
    "secp256r1": PublicKeyDetails.PKIX_ECDSA_P256_SHA_256,
    "secp384r1": PublicKeyDetails.PKIX_ECDSA_P384_SHA_384,
    "secp521r1": PublicKeyDetails.PKIX_ECDSA_P521_SHA_512,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Period:
    """The time for which a key or certificate is trusted, None where it is open."""

    start: datetime | None = None
    end: datetime | None = None

    def is_valid(self, at: datetime) -> bool:
        return (self.start is None or at >= self.start) and (self.end is None or at <= self.end)


@dataclass(frozen=True, slots=True)
class Log(_Period):
    """A log's key."""

    url: str
    id: bytes
    key: PublicKey


@dataclass(frozen=True, slots=True)
class Authority(_Period):
    """An issuer of certificates or time stamps; leaf: the certificate of a clock itself."""

    uri: str
    root: x509.Certificate | None
    intermediates: tuple[x509.Certificate, ...] = ()
    leaf: x509.Certificate | None = None

    @property
    def clock(self) -> TimestampAuthority:
        """The issuer as one of time stamps."""
        roots = () if self.root is None else (self.root,)
        return TimestampAuthority(roots, self.intermediates, self.leaf)


@dataclass(frozen=True, slots=True)
class Trust:
    """The logs, by their identifiers, and the authorities of a Sigstore instance."""

    logs: Mapping[bytes, Log] = field(default_factory=dict)
    ct_logs: Mapping[bytes, Log] = field(default_factory=dict)
    authorities: Sequence[Authority] = ()
    timestamp_authorities: Sequence[Authority] = ()


def read_trusted_root(text: str) -> Trust:
    """Return the content of a trusted_root.json; raises SignatureError."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise _malformed("it is not JSON") from None
    if not isinstance(body, dict):
        raise _malformed("it is not an object")
    if body.get("mediaType") != _MEDIA_TYPE:
        raise SignatureError(f"unsupported TrustedRoot media type: {body.get('mediaType', '')}")
    logs = _all(body, "tlogs", _log)
    ct_logs = _all(body, "ctlogs", _log)
    return Trust(
        {log.id: log for log in logs},
        {log.id: log for log in ct_logs},
        _all(body, "certificateAuthorities", _authority),
        _all(body, "timestampAuthorities", _clock),
    )


@cache
def embedded_root() -> Trust:
    """Return the public instance's root from sigstore's own library; no network is asked."""
    return read_trusted_root(read_embedded("trusted_root.json", _PUBLIC_INSTANCE).decode())


@dataclass(frozen=True, slots=True)
class TrustedRoots:
    """Gives what policies leave to others: the trusted root, where it is needed, the user's or else
    the public instance's; keys: those that lie in Secrets."""

    given: Trust | None = None
    keys: KeySource = NO_SECRETS

    def __call__(self) -> Trust:
        return embedded_root() if self.given is None else self.given


def verify_leaf(
    certificate: x509.Certificate, authorities: Sequence[Authority], at: datetime
) -> list[x509.Certificate]:
    """Return the way from a certificate for signing code to the first authority that vouches for
    it. Raises SignatureError."""
    for authority in authorities:
        if authority.root is None or not authority.is_valid(at):
            continue
        try:
            return verify_chain(
                certificate,
                roots=(authority.root,),
                intermediates=authority.intermediates,
                at=at,
                usage=CODE_SIGNING,
            )
        except SignatureError:
            continue
    raise SignatureError("leaf certificate verification failed")


def single_log(text: str) -> Mapping[bytes, Log]:
    """Return a log of which a policy gives the key, in PEM; raises SignatureError."""
    key = read_public_key(text)
    identifier = log_id(key)
    return {identifier: Log("", identifier, key)}


def _malformed(why: str) -> SignatureError:
    return SignatureError(f"failed to proto-json unmarshal trusted root: {why}")


def _all(body: Body, key: str, read: Callable[[Body], Read]) -> list[Read]:
    listed = body.get(key)
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise _malformed(f"{key} is not a list of objects")
    if len(listed) > _MOST:
        raise _malformed(f"{key} has more than {_MOST} members")
    return [read(entry) for entry in listed]


def _log(body: Body) -> Log:
    if body.get("hashAlgorithm") != "SHA2_256":
        raise SignatureError(f"unsupported tlog hash algorithm: {body.get('hashAlgorithm', '')}")
    identifier = _bytes(mapping_at(body, "logId").get("keyId"))
    if not identifier:
        raise SignatureError("tlog missing log ID")
    given = mapping_at(body, "publicKey")
    raw = _bytes(given.get("rawBytes"))
    if not raw:
        raise SignatureError("tlog missing public key raw bytes")
    url = str(body.get("baseUrl", ""))
    with within(f"failed to parse public key for tlog: {url} ", ""):
        key = read_key_der(raw)
    if not isinstance(given.get("validFor"), dict):
        raise SignatureError("tlog missing public key validity period")
    start, end = _period(given)
    if start is None:
        raise SignatureError("tlog missing public key validity period start time")
    return Log(url, identifier, key, start=start, end=end)


def _authority(body: Body) -> Authority:
    *intermediates, root = _chain(body)
    start, end = _period(body)
    return Authority(str(body.get("uri", "")), root, tuple(intermediates), start=start, end=end)


def _clock(body: Body) -> Authority:
    chain = _chain(body)
    leaf = None if is_authority(chain[0]) else chain[0]
    others = chain if leaf is None else chain[1:]
    root = others[-1] if others else None
    start, end = _period(body)
    return Authority(str(body.get("uri", "")), root, tuple(others[:-1]), leaf, start=start, end=end)


def _chain(body: Body) -> list[x509.Certificate]:
    listed = mapping_at(body, "certChain").get("certificates")
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST:
        raise SignatureError("CertificateAuthority cert chain is empty")
    with within(f"failed to parse certificate for {body.get('uri', '')}", " "):
        return [read_certificate(_bytes(mapping_at(entry).get("rawBytes"))) for entry in listed]


def _bytes(value: Json) -> bytes:
    if not isinstance(value, str):
        return b""
    try:
        return base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise _malformed("a value is not base64") from None


def _period(body: Body) -> tuple[datetime | None, datetime | None]:
    period = mapping_at(body, "validFor")
    return _time(period.get("start")), _time(period.get("end"))


def _time(value: Json) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _malformed("a time is not valid") from None
    if moment.tzinfo is None:
        raise _malformed("a time has no zone")
    return moment


def verify_sct(
    certificate: x509.Certificate, issuers: Sequence[x509.Certificate], logs: Mapping[bytes, Log]
) -> None:
    """Require that one log promised the certificate while its key was valid, as sigstore-go does.
    issuers: the certificate's own first. Raises SignatureError."""
    for promised in certificate_timestamps(certificate):
        log = logs.get(promised.log_id)
        if log is None or not log.is_valid(promised.timestamp.replace(tzinfo=UTC)):
            continue
        try:
            verify_certificate_timestamp(certificate, promised, issuers, log.key)
        except SignatureError:
            continue
        return
    raise SignatureError("only able to verify 0 SCT entries; unable to meet threshold of 1")


def verify_promise(
    *,
    body: bytes,
    integrated_time: int,
    log_index: int,
    log_id: bytes,
    promise: bytes,
    key: PublicKey,
) -> None:
    """Require a log's promise to include an entry (SET); integrated_time: in seconds."""
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise SignatureError("unable to verify SET")
    promised: dict[str, str | int] = {
        "body": base64.b64encode(body).decode(),
        "integratedTime": integrated_time,
        "logIndex": log_index,
        "logID": log_id.hex(),
    }
    try:
        key.verify(promise, rfc8785.dumps(promised), ec.ECDSA(SHA256()))
    except (InvalidSignature, rfc8785.CanonicalizationError):
        raise SignatureError("unable to verify SET") from None


def verify_inclusion(
    *, body: bytes, log_index: int, tree_size: int, root_hash: bytes, hashes: Sequence[bytes]
) -> None:
    """Require an entry to be in the tree with a root hash (RFC 6962, 2.1.1)."""
    proof = InclusionProof.model_construct(
        log_index=log_index,
        root_hash=root_hash,
        tree_size=tree_size,
        hashes=list(hashes),
        checkpoint=Checkpoint(envelope="-"),
    )
    entry = ListedEntry.model_construct(
        log_index=log_index,
        log_id=LogId.model_construct(key_id=b""),
        kind_version=KindVersion(kind="", version=""),
        inclusion_proof=proof,
        canonicalized_body=body,
    )
    try:
        verify_merkle_inclusion(TransparencyLogEntry(entry))
    except (Error, ValueError) as error:
        raise SignatureError(str(error)) from None


def verify_checkpoint(*, checkpoint: str, root_hash: bytes, log_id: bytes, key: PublicKey) -> None:
    """Require a checkpoint signed by a log, of the tree with this root hash."""
    try:
        signed = SignedCheckpoint.from_text(checkpoint)
        signed.signed_note.verify(RekorKeyring(_keyring(key)), KeyID(log_id))
    except (Error, ValueError) as error:
        raise SignatureError(str(error)) from None
    if signed.checkpoint.log_hash != root_hash.hex():
        text = "Inclusion proof contains invalid root hash signature: "
        text += f"expected {signed.checkpoint.log_hash} got {root_hash.hex()}"
        raise SignatureError(text)


def certificate_timestamps(certificate: x509.Certificate) -> Sequence[SignedCertificateTimestamp]:
    """Return the promises of certificate logs that a certificate contains."""
    ext = extension(certificate, x509.PrecertificateSignedCertificateTimestamps)
    return () if ext is None else list(ext.value)


def verify_certificate_timestamp(
    certificate: x509.Certificate,
    promised: SignedCertificateTimestamp,
    issuers: Sequence[x509.Certificate],
    key: PublicKey,
) -> None:
    """Require a promise in a certificate, by the key of its log; issuers: its own first."""
    if not issuers:
        raise SignatureError("certificate chain must contain at least a certificate and its issuer")
    issuer = _get_issuer_cert([*issuers, issuers[-1]]).public_key()
    if not isinstance(issuer, PublicKey):
        raise SignatureError("unsupported public key type")
    if not isinstance(promised.signature_hash_algorithm, SHA256):
        raise SignatureError("unsupported hash algorithm of the log's signature")
    try:
        signed = _pack_digitally_signed(promised, certificate, key_id(issuer))
        log = KeyID(promised.log_id)
        _keyring(key).verify(key_id=log, signature=promised.signature, data=signed)
    except Error as error:
        raise SignatureError(str(error)) from None


def _keyring(key: PublicKey) -> Keyring:
    details = PublicKeyDetails.PKIX_ED25519
    if isinstance(key, ec.EllipticCurvePublicKey):
        public_key_details = _CURVES.get(key.curve.name)
        if public_key_details is None:
            raise SignatureError(f"unsupported curve of a log's key: {key.curve.name}")
        details = public_key_details
    elif isinstance(key, rsa.RSAPublicKey):
        details = PublicKeyDetails.PKIX_RSA_PKCS1V15_2048_SHA256
    raw = base64.b64encode(key_der(key))
    return Keyring([ListedKey(raw_bytes=raw, key_details=details)])

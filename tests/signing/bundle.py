"""Sigstore bundles as cosign 3 makes them, and the trusted roots that they are checked against."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import rfc8785
from cryptography import x509

from chartkit.model import Body, Json
from tests.signing.authority import (
    NOW,
    YEAR,
    Authority,
    CertificateLog,
    PrivateKey,
    PublicKey,
    der,
    log_id,
    sign,
    spki,
)
from tests.signing.cosign import IN_TOTO, Signer, encoded, statement
from tests.signing.rekor import Log, dsse, hashedrekord
from tests.signing.tsa import PLAIN, Stamp, TimestampServer
from tests.unit.network.registry.registry_server import Registry

KIND = "application/vnd.dev.sigstore.bundle.v0.3+json"
OLD_KIND = "application/vnd.dev.sigstore.bundle+json;version=0."
ROOT_KIND = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes bundles of one signer. clocks: who stamps the signature; stamp: what they say;
    is_new: whether the log is one of Rekor's second version."""

    signer: Signer
    clocks: Sequence[TimestampServer] = ()
    stamp: Stamp = PLAIN
    is_new: bool = False

    def attest(self, digest: str, predicate_type: str, predicate: Json) -> Body:
        """A bundle with a statement of an image."""
        return self.envelope(json.dumps(statement(digest, predicate_type, predicate)).encode())

    def envelope(self, payload: bytes, payload_type: str = IN_TOTO, keyid: str = "") -> Body:
        """A bundle with any payload."""
        envelope = json.loads(self.signer.envelope(payload, payload_type))
        if keyid:
            envelope["signatures"][0]["keyid"] = keyid
        signature = base64.b64decode(envelope["signatures"][0]["sig"])
        entry = dsse(json.dumps(envelope).encode(), self.signer.verifier)
        if self.is_new:
            digest = hashlib.sha256(encoded(payload_type, payload)).digest()
            entry = self._record(digest, signature)
        return {**self._bundle(signature, entry), "dsseEnvelope": envelope}

    def message(self, artifact: bytes) -> Body:
        """A bundle with a bare signature of content, whose digest an image may have."""
        signature = sign(self.signer.key, artifact, self.signer.algorithm)
        digest = hashlib.sha256(artifact).digest()
        entry = hashedrekord(artifact, signature, self.signer.verifier)
        if self.is_new:
            entry = self._record(digest, signature)
        hashed = {"algorithm": "SHA2_256", "digest": text(digest)}
        message = {"messageDigest": hashed, "signature": text(signature)}
        return {**self._bundle(signature, entry), "messageSignature": message}

    def _record(self, digest: bytes, signature: bytes) -> Body:
        """An entry of Rekor's second version, for a key on P-256."""
        leaf = self.signer.leaf
        verifier: Body = {"keyDetails": "PKIX_ECDSA_P256_SHA_256"}
        if leaf is None:
            verifier["publicKey"] = {"rawBytes": text(spki(self.signer.key))}
        else:
            verifier["x509Certificate"] = {"rawBytes": text(der(leaf.certificate))}
        record = {
            "data": {"algorithm": "SHA2_256", "digest": text(digest)},
            "signature": {"content": text(signature), "verifier": verifier},
        }
        spec = {"hashedRekordV002": record}
        return {"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": spec}

    def _bundle(self, signature: bytes, logged: Body) -> Body:
        signer = self.signer
        material: Body = {"publicKey": {"hint": text(log_id(signer.key))}}
        if signer.leaf is not None:
            material = {"certificate": {"rawBytes": text(der(signer.leaf.certificate))}}
        if signer.log is not None:
            entry = signer.log.add(logged, signer.at).transparency
            if self.is_new:
                del entry["inclusionPromise"], entry["integratedTime"]
            material["tlogEntries"] = [entry]
        if self.clocks:
            stamps = [clock.stamp(signature, self.stamp) for clock in self.clocks]
            listed = [{"signedTimestamp": text(one)} for one in stamps]
            material["timestampVerificationData"] = {"rfc3161Timestamps": listed}
        return {"mediaType": KIND, "verificationMaterial": material}


def push_bundle(
    registry: Registry, repository: str, digest: str, bundle: Body | bytes, kind: str = KIND
) -> str:
    """Pushes a bundle beside an image; gives the digest of its manifest."""
    content = bundle if isinstance(bundle, bytes) else json.dumps(bundle).encode()
    layer = registry.add_blob(repository, content, kind)
    return registry.add_artifact(repository, digest, kind, [layer])


@dataclass(frozen=True, slots=True)
class Instance:
    """Whom somebody trusts. start, end: when that is so."""

    authorities: Sequence[Authority] = ()
    logs: Sequence[Log] = ()
    certificate_logs: Sequence[CertificateLog] = ()
    clocks: Sequence[TimestampServer] = ()
    start: datetime = NOW - 2 * YEAR
    end: datetime | None = None

    @property
    def root(self) -> str:
        """The trusted_root.json."""
        return json.dumps(
            {
                "mediaType": ROOT_KIND,
                "tlogs": [
                    self._log(one.key, f"https://{one.origin.split()[0]}") for one in self.logs
                ],
                "ctlogs": [
                    self._log(one.key, "https://ct.example") for one in self.certificate_logs
                ],
                "certificateAuthorities": [
                    self._authority("https://fulcio.example", one.chain) for one in self.authorities
                ],
                "timestampAuthorities": [
                    self._authority(f"https://clock{index}.example", one.certificates)
                    for index, one in enumerate(self.clocks)
                ],
            }
        )

    def _period(self) -> Body:
        until = {"end": self.end.isoformat()} if self.end else {}
        return {"start": self.start.isoformat(), **until}

    def _log(self, key: PrivateKey | PublicKey, url: str) -> Body:
        return {
            "baseUrl": url,
            "hashAlgorithm": "SHA2_256",
            "logId": {"keyId": text(log_id(key))},
            "publicKey": {
                "rawBytes": text(spki(key)),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": self._period(),
            },
        }

    def _authority(self, uri: str, chain: Sequence[x509.Certificate]) -> Body:
        return {
            "subject": {"organization": "example", "commonName": "example"},
            "uri": uri,
            "certChain": {"certificates": [{"rawBytes": text(der(one))} for one in chain]},
            "validFor": self._period(),
        }


def canonical(body: Body) -> bytes:
    """An entry as logs hash it."""
    return rfc8785.dumps(body)

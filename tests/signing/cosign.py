"""Signs and attests images as cosign does in its classic format, into a registry of a test."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from cryptography.hazmat.primitives import hashes

from chartkit.model import Body, Json
from tests.signing.authority import NOW, Leaf, PrivateKey, key_pem, pem, sign
from tests.signing.rekor import Entry, Log, dsse, hashedrekord
from tests.signing.tsa import Stamp, TimestampServer
from tests.unit.network.registry.registry_server import CONFIG, MANIFEST, Registry, digest_of

SIGNATURE = "dev.cosignproject.cosign/signature"
CERTIFICATE = "dev.sigstore.cosign/certificate"
CHAIN = "dev.sigstore.cosign/chain"
BUNDLE = "dev.sigstore.cosign/bundle"
TIMESTAMP = "dev.sigstore.cosign/rfc3161timestamp"
PREDICATE_TYPE = "predicateType"
SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json"
ENVELOPE = "application/vnd.dsse.envelope.v1+json"
IN_TOTO = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v0.1"


@dataclass(frozen=True, slots=True)
class Layer:
    """One signature or attestation, as a layer of the manifest that holds it."""

    media_type: str
    content: bytes
    annotations: Mapping[str, str] = field(default_factory=dict)

    def without(self, *names: str) -> Layer:
        """The same layer, some annotations left out."""
        kept = {key: value for key, value in self.annotations.items() if key not in names}
        return replace(self, annotations=kept)

    def having(self, **annotations: str) -> Layer:
        """The same layer with other annotations, by the short names of this module's constants
        (`bundle=…`)."""
        named = {globals()[key.upper()]: value for key, value in annotations.items()}
        return replace(self, annotations={**self.annotations, **named})


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs, and who saw it. leaf: the certificate that goes along; log: where it is logged,
    at: when; clock: who stamps it."""

    key: PrivateKey
    algorithm: hashes.HashAlgorithm = field(default_factory=hashes.SHA256)
    leaf: Leaf | None = None
    log: Log | None = None
    clock: TimestampServer | None = None
    at: datetime = NOW

    @classmethod
    def of(cls, leaf: Leaf, log: Log | None = None, at: datetime = NOW) -> Signer:
        """Whoever holds a certificate."""
        return cls(leaf.key, leaf=leaf, log=log, at=at)

    @property
    def verifier(self) -> str:
        """What logs say of who signed, in PEM."""
        return key_pem(self.key) if self.leaf is None else self.leaf.pem

    def signature(self, digest: str, optional: Json = None, name: str = "") -> Layer:
        """A signature of an image; optional: annotations of the user; name: of the image."""
        return self.signed(simple_signing(digest, optional, name))

    def signed(self, payload: bytes) -> Layer:
        """A signature of any payload."""
        made = sign(self.key, payload, self.algorithm)
        entry = self._logged(hashedrekord(payload, made, self.verifier))
        noted = self._annotations(made, entry)
        return Layer(SIMPLE, payload, {SIGNATURE: base64.b64encode(made).decode(), **noted})

    def attestation(self, digest: str, predicate_type: str, predicate: Json) -> Layer:
        """An attestation of an image, in a DSSE envelope."""
        return self.attested(statement(digest, predicate_type, predicate))

    def attested(self, body: Body) -> Layer:
        """An attestation with any statement."""
        envelope = self.envelope(json.dumps(body).encode())
        entry = self._logged(dsse(envelope, self.verifier))
        noted = self._annotations(envelope, entry)
        kind = {PREDICATE_TYPE: str(body.get("predicateType", ""))}
        return Layer(ENVELOPE, envelope, {SIGNATURE: "", **kind, **noted})

    def envelope(self, payload: bytes, payload_type: str = IN_TOTO) -> bytes:
        """A DSSE envelope around a payload."""
        made = sign(self.key, encoded(payload_type, payload), self.algorithm)
        signatures = [{"keyid": "", "sig": base64.b64encode(made).decode()}]
        return json.dumps(
            {
                "payloadType": payload_type,
                "payload": base64.b64encode(payload).decode(),
                "signatures": signatures,
            }
        ).encode()

    def _logged(self, body: Body) -> Entry | None:
        return None if self.log is None else self.log.add(body, self.at)

    def _annotations(self, stamped: bytes, entry: Entry | None) -> dict[str, str]:
        made: dict[str, str] = {}
        if self.leaf is not None:
            made = {CERTIFICATE: self.leaf.pem, CHAIN: pem(*self.leaf.chain)}
        if entry is not None:
            made[BUNDLE] = json.dumps(entry.bundle)
        if self.clock is not None:
            response = base64.b64encode(self.clock.stamp(stamped, Stamp(self.at))).decode()
            made[TIMESTAMP] = json.dumps({"SignedRFC3161Timestamp": response})
        return made


def simple_signing(digest: str, optional: Json = None, name: str = "") -> bytes:
    """The payload of a signature: which image is meant."""
    critical = {
        "identity": {"docker-reference": name},
        "image": {"docker-manifest-digest": digest},
        "type": "cosign container image signature",
    }
    return json.dumps({"critical": critical, "optional": optional}).encode()


def statement(digest: str, predicate_type: str, predicate: Json) -> Body:
    """An in-toto statement of an image."""
    algorithm, _, value = digest.partition(":")
    return {
        "_type": STATEMENT,
        "predicateType": predicate_type,
        "subject": [{"name": "image", "digest": {algorithm: value}}],
        "predicate": predicate,
    }


def encoded(payload_type: str, payload: bytes) -> bytes:
    """What a DSSE signature is of."""
    return b"DSSEv1 %d %s %d %s" % (len(payload_type), payload_type.encode(), len(payload), payload)


def push(
    registry: Registry,
    repository: str,
    digest: str,
    layers: Sequence[Layer],
    suffix: str = "sig",
    prefix: str = "",
) -> str:
    """Pushes signatures (`sig`) or attestations (`att`) of an image; gives the manifest's
    digest."""
    tag = f"{prefix}{digest.replace(':', '-')}.{suffix}"
    return registry.add(repository, tag, MANIFEST, manifest(registry, repository, layers))


def push_referrer(registry: Registry, repository: str, digest: str, layers: Sequence[Layer]) -> str:
    """Pushes signatures as a referrer of the image."""
    kind = "application/vnd.dev.cosign.artifact.sig.v1+json"
    described = [_describe(registry, repository, one) for one in layers]
    return registry.add_artifact(repository, digest, kind, described)


def manifest(registry: Registry, repository: str, layers: Sequence[Layer]) -> Body:
    """A manifest with layers, whose blobs are pushed."""
    config = b"{}"
    described = [_describe(registry, repository, one) for one in layers]
    named = {"mediaType": CONFIG, "size": len(config), "digest": digest_of(config)}
    registry.documents[f"/v2/{repository}/blobs/{digest_of(config)}"] = (CONFIG, config)
    return {"schemaVersion": 2, "mediaType": MANIFEST, "config": named, "layers": described}


def _describe(registry: Registry, repository: str, layer: Layer) -> Body:
    digest = digest_of(layer.content)
    path = f"/v2/{repository}/blobs/{digest}"
    registry.documents[path] = ("application/octet-stream", layer.content)
    return {
        "mediaType": layer.media_type,
        "size": len(layer.content),
        "digest": digest,
        "annotations": dict(layer.annotations),
    }

"""A log of signatures: entries, promises to log them, proofs that they are there."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime

import rfc8785
from cryptography.hazmat.primitives.asymmetric import ec

from chartkit.model import Body
from tests.signing.authority import NOW, PrivateKey, key_pem, log_id, new_key, sign


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def hashed(content: bytes) -> Body:
    return {"algorithm": "sha256", "value": hashlib.sha256(content).hexdigest()}


def hashedrekord(payload: bytes, signature: bytes, verifier: str) -> Body:
    """The entry of a signature; verifier: a public key or certificate in PEM."""
    key = {"content": _text(verifier.encode())}
    return {
        "apiVersion": "0.0.1",
        "kind": "hashedrekord",
        "spec": {
            "data": {"hash": hashed(payload)},
            "signature": {"content": _text(signature), "publicKey": key},
        },
    }


def dsse(envelope: bytes, verifier: str) -> Body:
    """The entry of an attestation."""
    read = json.loads(envelope)
    signatures = [
        {"signature": one["sig"], "verifier": _text(verifier.encode())}
        for one in read["signatures"]
    ]
    payload = base64.b64decode(read["payload"])
    return {
        "apiVersion": "0.0.1",
        "kind": "dsse",
        "spec": {
            "envelopeHash": hashed(envelope),
            "payloadHash": hashed(payload),
            "signatures": signatures,
        },
    }


def intoto(envelope: bytes, verifier: str) -> Body:
    """The entry of an attestation, as cosign 1 and 2 made it."""
    return {
        "apiVersion": "0.0.1",
        "kind": "intoto",
        "spec": {"content": {"hash": hashed(envelope)}, "publicKey": _text(verifier.encode())},
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """What a log has of one signature. at: seconds since 1970; promise: the signed entry
    timestamp; proof: as a Sigstore bundle has it."""

    body: bytes
    index: int
    at: int
    log: bytes
    promise: bytes
    proof: Body

    @property
    def bundle(self) -> Body:
        """As cosign's annotation has it."""
        return {
            "SignedEntryTimestamp": _text(self.promise),
            "Payload": {
                "body": _text(self.body),
                "integratedTime": self.at,
                "logIndex": self.index,
                "logID": self.log.hex(),
            },
        }

    @property
    def transparency(self) -> Body:
        """As a Sigstore bundle has it."""
        read = json.loads(self.body)
        return {
            "logIndex": str(self.index),
            "logId": {"keyId": _text(self.log)},
            "kindVersion": {"kind": read["kind"], "version": read["apiVersion"]},
            "integratedTime": str(self.at),
            "inclusionPromise": {"signedEntryTimestamp": _text(self.promise)},
            "inclusionProof": self.proof,
            "canonicalizedBody": _text(self.body),
        }


@dataclass(slots=True)
class Log:
    """A log whose entries stand in a tree (RFC 6962). origin: its name in checkpoints."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)
    origin: str = "log.example - 1"
    leaves: list[bytes] = field(default_factory=list)

    @property
    def pem(self) -> str:
        return key_pem(self.key)

    @property
    def identifier(self) -> bytes:
        return log_id(self.key)

    def add(self, body: Body, at: datetime = NOW, by: PrivateKey | None = None) -> Entry:
        """Logs an entry; by: who signs the promise in the log's place."""
        content = rfc8785.dumps(body)
        index = len(self.leaves)
        self.leaves.append(hashlib.sha256(b"\0" + content).digest())
        seconds = int(at.timestamp())
        promised: dict[str, int | str] = {
            "body": _text(content),
            "integratedTime": seconds,
            "logIndex": index,
            "logID": self.identifier.hex(),
        }
        promise = sign(by or self.key, rfc8785.dumps(promised))
        return Entry(content, index, seconds, self.identifier, promise, self._proof(index))

    def _proof(self, index: int) -> Body:
        root, size = _root(self.leaves), len(self.leaves)
        note = f"{self.origin}\n{size}\n{_text(root)}\n"
        signed = _text(self.identifier[:4] + sign(self.key, note.encode()))
        checkpoint = f"{note}\n— {self.origin.split()[0]} {signed}\n"
        return {
            "logIndex": str(index),
            "rootHash": _text(root),
            "treeSize": str(size),
            "hashes": [_text(one) for one in _path(index, self.leaves)],
            "checkpoint": {"envelope": checkpoint},
        }


def _split(leaves: list[bytes]) -> int:
    """The largest power of two below the number of leaves."""
    return 1 << (len(leaves) - 1).bit_length() - 1


def _root(leaves: list[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    middle = _split(leaves)
    both = _root(leaves[:middle]) + _root(leaves[middle:])
    return hashlib.sha256(b"\1" + both).digest()


def _path(index: int, leaves: list[bytes]) -> list[bytes]:
    """The hashes beside the way from a leaf to the root, the lowest first."""
    if len(leaves) == 1:
        return []
    middle = _split(leaves)
    if index < middle:
        return [*_path(index, leaves[:middle]), _root(leaves[middle:])]
    return [*_path(index - middle, leaves[middle:]), _root(leaves[:middle])]

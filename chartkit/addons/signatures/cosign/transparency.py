"""Logs of certificates and of signatures: what they promised, and what an entry says.

The entries are of Rekor's first version, as cosign compares them with a signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ed25519

from chartkit.addons.signatures.cosign.layers import SignedLayer, from_base64
from chartkit.addons.signatures.errors import within
from chartkit.addons.signatures.go_json import read_object
from chartkit.addons.signatures.trust.certificates import public_key, read_certificate
from chartkit.addons.signatures.trust.keys import (
    PublicKey,
    read_pem,
    read_public_key,
    verify_digest,
)
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Body, Json, mapping_at

_HEX: Final = {"sha256": 64, "sha384": 96, "sha512": 128}


@dataclass(frozen=True, slots=True)
class RekorEntry:
    """An entry of Rekor: the hash of what was signed, the signature in base64 (empty where the
    entry has none), and the signer, as a PEM in base64."""

    algorithm: str
    digest: str
    signature: str
    verifier: bytes


def read_entry(body: str) -> RekorEntry:
    """Return an entry's body in base64; raises SignatureError for anything else, and for a kind of
    entry that records no signature of an image."""
    entry = read_object(from_base64(body))
    kind, version = entry.get("kind"), entry.get("apiVersion")
    if kind not in {name for name, _ in _KINDS}:
        raise SignatureError(f"could not unmarshal entry for kind '{kind}'")
    read = _KINDS.get((str(kind), str(version)))
    spec = entry.get("spec")
    if read is None or not isinstance(spec, dict):
        raise SignatureError("unsupported type")
    return read(spec)


def check_entry(layer: SignedLayer, verifier_pem: str, entry_body: Json) -> None:
    """Require that an entry belongs to a signature; verifier_pem: the signer in the signature.
    Raises SignatureError in cosign's words."""
    if not isinstance(entry_body, str):
        raise SignatureError("bundle payload body is not a string")
    what = "signature" if layer.signature else "key"
    with within(f"failed to extract {what} from bundle"):
        entry = read_entry(entry_body)
    if layer.signature and entry.signature and entry.signature != layer.signature:
        raise SignatureError("signature in bundle does not match signature being verified")
    text = entry.verifier.decode(errors="replace")
    blocks, more = read_pem(text)
    if not blocks or len(blocks) > 1 or more:
        raise SignatureError(f"unexpected PEM block: {text}")
    if read_pem(verifier_pem)[0][0].content != blocks[0].content:
        raise SignatureError(f"comparing public key PEMs, expected {verifier_pem}, got {text}")
    if entry.algorithm != "sha256":
        raise SignatureError(f'unexpected algorithm: "{entry.algorithm}"')
    digest = hashlib.sha256(layer.payload).hexdigest()
    if entry.digest != digest:
        message = f'matching bundle to payload: bundle="{entry.digest}", payload="{digest}"'
        raise SignatureError(message)


def _rekord(spec: Body) -> RekorEntry:
    signature = mapping_at(spec, "signature")
    hashed = mapping_at(spec, "data", "hash")
    return _entry(
        hashed, signature.get("content"), mapping_at(signature, "publicKey").get("content")
    )


def _hashedrekord(spec: Body) -> RekorEntry:
    """Read a hashedrekord, and verify its signature as cosign does after the log."""
    entry = _rekord(spec)
    if len(entry.digest) != _HEX.get(entry.algorithm):
        raise SignatureError("invalid value for hash")
    pem = entry.verifier.decode(errors="replace")
    blocks, _ = read_pem(pem)
    if blocks and blocks[0].label == "CERTIFICATE":
        key: PublicKey = public_key(read_certificate(blocks[0].content))
    else:
        key = read_public_key(pem)
    try:
        digest = bytes.fromhex(entry.digest)
    except ValueError:
        raise SignatureError("invalid value for hash") from None
    if isinstance(key, ed25519.Ed25519PublicKey) and entry.algorithm != "sha512":
        name = f"SHA-{entry.algorithm[3:]}"
        text = f'unsupported hash algorithm: "{name}" not in [SHA-512]'
        raise SignatureError(f"verifying signature: {text}")
    with within("verifying signature"):
        verify_digest(key, from_base64(entry.signature), digest, entry.algorithm)
    return entry


def _dsse(spec: Body) -> RekorEntry:
    first = _only(spec.get("signatures"))
    return _entry(mapping_at(spec, "envelopeHash"), first.get("signature"), first.get("verifier"))


def _intoto_2(spec: Body) -> RekorEntry:
    content = mapping_at(spec, "content")
    first = _only(mapping_at(content, "envelope").get("signatures"))
    return _entry(mapping_at(content, "hash"), first.get("sig"), first.get("publicKey"))


def _only(value: Json) -> Body:
    if isinstance(value, list) and len(value) > 1:
        raise SignatureError("multiple signatures on DSSE envelopes are not currently supported")
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        raise SignatureError("the entry has no signature")
    return value[0]


def _entry(hashed: Body, signature: Json, verifier: Json) -> RekorEntry:
    algorithm, digest = hashed.get("algorithm"), hashed.get("value")
    for text in (algorithm, digest, signature, verifier):
        if not isinstance(text, str):
            raise SignatureError("the entry has no hash, signature or public key")
    return RekorEntry(str(algorithm), str(digest), str(signature), from_base64(str(verifier)))


_KINDS: Final[Mapping[tuple[str, str], Callable[[Body], RekorEntry]]] = {
    ("hashedrekord", "0.0.1"): _hashedrekord,
    ("rekord", "0.0.1"): _rekord,
    ("dsse", "0.0.1"): _dsse,
    ("intoto", "0.0.1"): lambda spec: _entry(
        mapping_at(spec, "content", "hash"), "", spec.get("publicKey")
    ),
    ("intoto", "0.0.2"): _intoto_2,
}

"""Entries of logs: what they say of a signature, and promises that stand in certificates."""

import base64
from datetime import timedelta
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric import ed25519

from chartkit.addons.signatures.cosign.transparency import read_entry
from chartkit.addons.signatures.trust.trusted_root import (
    Log,
    certificate_timestamps,
    single_log,
    verify_certificate_timestamp,
    verify_checkpoint,
    verify_inclusion,
    verify_promise,
    verify_sct,
)
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Body
from tests.errors import error_of
from tests.signing.authority import NOW, CertificateLog, authority, key_pem, log_id, new_key, sign
from tests.signing.cosign import Signer
from tests.signing.rekor import Log as Rekor
from tests.signing.rekor import dsse, hashed, hashedrekord, intoto

_KEY = new_key()
_PEM = key_pem(_KEY)
_ENVELOPE = Signer(_KEY).envelope(b"{}")
_SIGNATURE = sign(_KEY, b"payload")


def _text(body: Body) -> str:
    return base64.b64encode(rfc8785.dumps(body)).decode()


def _new_intoto(*signatures: Any) -> Body:
    content = {"envelope": {"signatures": list(signatures)}, "hash": hashed(_ENVELOPE)}
    return {"apiVersion": "0.0.2", "kind": "intoto", "spec": {"content": content}}


_ONE = {"sig": "c2ln", "publicKey": base64.b64encode(_PEM.encode()).decode()}
_RECORD = hashedrekord(b"payload", _SIGNATURE, _PEM)


@pytest.mark.parametrize(
    ("body", "content", "signature"),
    [
        (_RECORD, b"payload", base64.b64encode(_SIGNATURE).decode()),
        ({**_RECORD, "kind": "rekord"}, b"payload", base64.b64encode(_SIGNATURE).decode()),
        (dsse(_ENVELOPE, _PEM), _ENVELOPE, None),
        (intoto(_ENVELOPE, _PEM), _ENVELOPE, ""),
        (_new_intoto(_ONE), _ENVELOPE, "c2ln"),
    ],
    ids=["hashedrekord", "rekord", "dsse", "intoto", "new intoto"],
)
def test_entries_of_every_kind(body: Body, content: bytes, signature: str | None) -> None:
    entry = read_entry(_text(body))
    assert {"algorithm": entry.algorithm, "value": entry.digest} == hashed(content)
    assert entry.verifier.decode() == _PEM
    assert signature is None or entry.signature == signature


def _record(**changes: Any) -> Body:
    spec = _RECORD["spec"]
    hash_ = {**spec["data"]["hash"], **changes}
    return {**_RECORD, "spec": {**spec, "data": {"hash": hash_}}}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({}, "could not unmarshal entry for kind 'None'"),
        ({"kind": "tuf", "apiVersion": "0.0.1"}, "could not unmarshal entry for kind 'tuf'"),
        ({"kind": "dsse", "apiVersion": "9"}, "unsupported type"),
        ({"kind": "dsse", "apiVersion": "0.0.1", "spec": []}, "unsupported type"),
        ({"kind": "dsse", "apiVersion": "0.0.1", "spec": {}}, "the entry has no signature"),
        (_new_intoto(_ONE, _ONE), "multiple signatures on DSSE envelopes are not currently "),
        (_new_intoto(5), "the entry has no signature"),
        (_new_intoto({}), "the entry has no hash, signature or public key"),
        (_record(algorithm="sha224"), "invalid value for hash"),
        (_record(algorithm="sha512"), "invalid value for hash"),
        (_record(value="0"), "invalid value for hash"),
        (_record(value="x" * 64), "invalid value for hash"),
        (_record(value="0" * 64), "verifying signature: invalid signature when validating ASN.1 "),
        (hashedrekord(b"payload", _SIGNATURE, "no"), "PEM decoding failed"),
        (
            hashedrekord(b"payload", _SIGNATURE, key_pem(ed25519.Ed25519PrivateKey.generate())),
            'verifying signature: unsupported hash algorithm: "SHA-256" not in [SHA-512]',
        ),
    ],
)
def test_entries_that_are_none(body: Body, wanted: str) -> None:
    assert error_of(SignatureError, read_entry, _text(body)).message.startswith(wanted)


def test_entries_are_base64_and_json() -> None:
    for text, wanted in (("%", "illegal base64 data"), ("AAAA", "looking for beginning of value")):
        with pytest.raises(SignatureError, match=wanted):
            read_entry(text)


def test_promises_proofs_and_checkpoints() -> None:
    log = Rekor()
    for number in range(5):
        entry = log.add({"kind": "x", "apiVersion": "1", "number": number})
    key, proof = log.key.public_key(), entry.proof
    root, path = base64.b64decode(proof["rootHash"]), proof["hashes"]
    hashes = [base64.b64decode(one) for one in path]
    promise: dict[str, Any] = {
        "body": entry.body,
        "integrated_time": entry.at,
        "log_index": entry.index,
        "log_id": entry.log,
        "promise": entry.promise,
        "key": key,
    }
    verify_promise(**promise)
    inclusion: dict[str, Any] = {
        "body": entry.body,
        "log_index": 4,
        "tree_size": 5,
        "root_hash": root,
        "hashes": hashes,
    }
    verify_inclusion(**inclusion)
    checkpoint: dict[str, Any] = {
        "checkpoint": proof["checkpoint"]["envelope"],
        "root_hash": root,
        "log_id": entry.log,
        "key": key,
    }
    verify_checkpoint(**checkpoint)
    stranger = new_key().public_key()
    other: Any
    for verify, given, changes in (
        (verify_promise, promise, {"log_index": 3}),
        (verify_promise, promise, {"key": stranger}),
        (verify_promise, promise, {"key": ed25519.Ed25519PrivateKey.generate().public_key()}),
        (verify_promise, promise, {"integrated_time": 1 << 80}),
        (verify_inclusion, inclusion, {"log_index": 3}),
        (verify_inclusion, inclusion, {"hashes": []}),
        (verify_checkpoint, checkpoint, {"root_hash": b"x"}),
        (verify_checkpoint, checkpoint, {"key": stranger}),
        (verify_checkpoint, checkpoint, {"checkpoint": "nonsense"}),
    ):
        other = verify
        with pytest.raises(SignatureError):
            other(**{**given, **changes})


def test_promises_in_certificates() -> None:
    log, other = CertificateLog(), CertificateLog()
    issuer = authority().intermediate()
    leaf = issuer.leaf(email="me@example.com", log=log)
    (promised,) = certificate_timestamps(leaf.certificate)
    assert certificate_timestamps(issuer.certificate) == ()
    verify_certificate_timestamp(leaf.certificate, promised, leaf.chain, log.key.public_key())
    for issuers, key in ((leaf.chain, other.key), (leaf.chain[1:], log.key), ((), log.key)):
        with pytest.raises(SignatureError):
            verify_certificate_timestamp(leaf.certificate, promised, issuers, key.public_key())


def test_a_log_promises_while_it_is_in_use() -> None:
    log = CertificateLog()
    leaf = authority().intermediate().leaf(email="me@example.com", log=log)
    identifier, key = log_id(log.key), log.key.public_key()
    verify_sct(leaf.certificate, leaf.chain, single_log(log.pem))
    day = timedelta(days=1)
    for known in (
        {},
        single_log(CertificateLog().pem),
        {identifier: Log("", identifier, key, start=NOW + day)},
        {identifier: Log("", identifier, key, end=NOW - day)},
        {identifier: Log("", identifier, new_key().public_key())},
    ):
        with pytest.raises(SignatureError, match="only able to verify 0 SCT entries"):
            verify_sct(leaf.certificate, leaf.chain, known)

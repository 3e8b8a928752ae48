"""Public keys: read out of PEM, and what they verify."""

import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chartkit.addons.signatures.trust.keys import (
    HASHES,
    KeyVerifier,
    log_id,
    read_pem,
    read_public_key,
    verify_digest,
)
from chartkit.engine.ports.signatures import SignatureError
from tests.signing.authority import PrivateKey, key_pem, new_key, rsa_key, sign

_BLOCK = "-----BEGIN A-----\nAAAA\n-----END A-----\n"
_EC, _ED = new_key(), ed25519.Ed25519PrivateKey.generate()


@pytest.mark.parametrize(
    ("text", "labels", "more"),
    [
        (_BLOCK, ["A"], False),
        (f"before\n{_BLOCK}", ["A"], False),
        (f"{_BLOCK}\n{_BLOCK}", ["A", "A"], False),
        (f"{_BLOCK}after", ["A"], True),
        (_BLOCK.replace("\n", "\r\n"), ["A"], False),
        (_BLOCK.replace("AAAA", "Proc-Type: 4\n\nAAAA"), ["A"], False),
        (_BLOCK.replace("AAAA", "%%%%"), [], True),
        (f"text {_BLOCK}", [], True),
        ("-----BEGIN A-----", [], True),
        ("-----BEGIN A-----\nAAAA\n", [], True),
        ("-----BEGIN A\nAAAA\n-----END A\n", [], True),
        ("-----BEGIN A-----\nAAAA\n-----END B-----\n", [], True),
        ("", [], False),
    ],
)
def test_blocks_are_found_as_go_finds_them(text: str, labels: list[str], more: bool) -> None:
    blocks, rest = read_pem(text)
    assert [one.label for one in blocks] == labels
    assert all(one.content == b"\0\0\0" for one in blocks)
    assert rest is more


def test_many_beginnings_without_an_end_cost_nothing() -> None:
    assert read_pem("-----BEGIN A-----\n" * 100_000) == ([], True)


@pytest.mark.parametrize("key", [_EC, _ED, rsa_key()], ids=["ecdsa", "ed25519", "rsa"])
def test_keys_verify_what_they_signed(key: PrivateKey) -> None:
    verifier = KeyVerifier(read_public_key(key_pem(key)))
    verifier.verify(sign(key, b"message"), b"message")
    with pytest.raises(SignatureError):
        verifier.verify(sign(key, b"message"), b"another")


def test_rsa_keys_may_stand_in_their_own_format() -> None:
    pem = rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.PKCS1).decode()
    assert read_public_key(pem) == rsa_key().public_key()


@pytest.mark.parametrize("name", HASHES)
def test_signatures_are_of_a_hash(name: str) -> None:
    algorithm = HASHES[name]
    for key in (_EC, rsa_key()):
        signature = sign(key, b"message", algorithm)
        KeyVerifier(key.public_key(), algorithm).verify(signature, b"message")
        digest = hashlib.new(algorithm.name, b"message").digest()
        verify_digest(key.public_key(), signature, digest, name)
        other = hashes.SHA512() if name != "sha512" else hashes.SHA256()
        with pytest.raises(SignatureError):
            KeyVerifier(key.public_key(), other).verify(signature, b"message")


def test_ecdsa_may_be_two_plain_numbers() -> None:
    verifier = KeyVerifier(_EC.public_key())
    plain = b"".join(one.to_bytes(32) for one in decode_dss_signature(sign(_EC, b"message")))
    verifier.verify(plain, b"message")
    with pytest.raises(SignatureError, match="when validating IEEE_P1363 encoded signature"):
        verifier.verify(plain, b"another")


@pytest.mark.parametrize(
    ("key", "signature", "message"),
    [
        (_EC, sign(_EC, b"a"), "invalid signature when validating ASN.1 encoded signature"),
        (_EC, b"", "ecdsa: Invalid IEEE_P1363 encoded bytes"),
        (_EC, b"abc", "ecdsa: Invalid IEEE_P1363 encoded bytes"),
        (_EC, b"a" * 134, "ecdsa: Invalid IEEE_P1363 encoded bytes"),
        (_ED, b"abc", "failed to verify signature"),
        (rsa_key(), b"abc", "crypto/rsa: verification error"),
    ],
)
def test_what_does_not_verify_is_worded_as_sigstore_does(
    key: PrivateKey, signature: bytes, message: str
) -> None:
    with pytest.raises(SignatureError) as raised:
        KeyVerifier(key.public_key()).verify(signature, b"message")
    assert raised.value.message == message


def test_digests_that_were_not_signed() -> None:
    digest = hashlib.sha256(b"message").digest()
    for key, message in (
        (_ED, "failed to verify signature"),
        (rsa_key(), "crypto/rsa: verification error"),
        (_EC, "ecdsa: Invalid IEEE_P1363 encoded bytes"),
    ):
        with pytest.raises(SignatureError, match=message):
            verify_digest(key.public_key(), b"abc", digest, "sha256")


def _public(key: Any) -> str:
    made: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return made.decode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "PEM decoding failed"),
        ("nonsense", "PEM decoding failed"),
        (
            _BLOCK,
            "unknown Public key PEM file type: A. Are you passing the correct public key?",
        ),
        (_BLOCK.replace(" A-", " PUBLIC KEY-"), "x509: failed to parse public key"),
        (_public(dsa.generate_private_key(1024)), "unsupported public key type"),
        (
            _public(ec.generate_private_key(ec.SECP256K1())),
            "x509: unsupported elliptic curve",
        ),
    ],
)
def test_what_is_no_key_is_refused(text: str, message: str) -> None:
    with pytest.raises(SignatureError) as raised:
        read_public_key(text)
    assert raised.value.message == message


def test_logs_are_named_after_their_keys() -> None:
    key = ec.derive_private_key(1, ec.SECP256R1()).public_key()
    assert (
        log_id(key).hex()
        == hashlib.sha256(
            key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        ).hexdigest()
    )

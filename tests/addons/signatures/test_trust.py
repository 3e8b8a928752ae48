"""Trusted roots, public keys, and who is asked for signatures."""

import hashlib
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chartkit.addons.signatures.source import Signatures
from chartkit.addons.signatures.trust.certificates import is_authority
from chartkit.addons.signatures.trust.keys import (
    HASHES,
    KeyVerifier,
    log_id,
    read_pem,
    read_public_key,
    verify_digest,
)
from chartkit.addons.signatures.trust.trusted_root import (
    Trust,
    TrustedRoots,
    embedded_root,
    read_trusted_root,
)
from chartkit.cli.main import main
from chartkit.engine.ports.signatures import SignatureError
from chartkit.engine.ports.world import NOBODY_ELSE
from chartkit.errors import InputError, LookupFailed
from chartkit.model import Body
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Settings
from tests.addons.signatures.cosign_bench import IDENTITY, ISSUER, Bench
from tests.conformance.image_registry import run_command
from tests.errors import error_of
from tests.signing.authority import (
    NOW,
    YEAR,
    CertificateLog,
    PrivateKey,
    authority,
    key_pem,
    new_key,
    rsa_key,
    sign,
)
from tests.signing.bundle import Instance
from tests.signing.rekor import Log
from tests.signing.tsa import timestamp_server

_LOG, _CERTIFICATES, _AUTHORITY = Log(), CertificateLog(), authority().intermediate()
_CLOCK = timestamp_server()


def _root(**changes: Any) -> Body:
    instance = Instance((_AUTHORITY,), (_LOG,), (_CERTIFICATES,), (_CLOCK,), **changes)
    made: Body = json.loads(instance.root)
    return made


def test_the_public_instance_is_built_in() -> None:
    trust = embedded_root()
    assert any(one.url == "https://rekor.sigstore.dev" for one in trust.logs.values())
    assert trust.ct_logs
    assert {one.uri for one in trust.authorities} == {"https://fulcio.sigstore.dev"}
    assert all(one.root is not None and is_authority(one.root) for one in trust.authorities)
    assert TrustedRoots()() is trust
    own = Trust()
    assert TrustedRoots(own)() is own


def test_an_instance_is_read() -> None:
    trust = read_trusted_root(json.dumps(_root(end=NOW + YEAR)))
    log = trust.logs[_LOG.identifier]
    assert log.key == _LOG.key.public_key()
    assert log.is_valid(NOW)
    assert not log.is_valid(NOW + 2 * YEAR)
    assert not log.is_valid(NOW - 3 * YEAR)
    assert [one.key for one in trust.ct_logs.values()] == [_CERTIFICATES.key.public_key()]
    (found,) = trust.authorities
    assert (found.root, found.intermediates) == (_AUTHORITY.root, (_AUTHORITY.certificate,))
    (clock,) = trust.timestamp_authorities
    assert clock.leaf is not None
    assert clock.root is not None


def test_an_instance_without_anything_is_one() -> None:
    body = {"mediaType": _root()["mediaType"]}
    assert read_trusted_root(json.dumps(body)) == Trust({}, {}, [], [])


def test_times_may_have_fractions() -> None:
    body = _root()
    body["tlogs"][0]["publicKey"]["validFor"] = {"start": "2021-01-12T11:53:27.123456789Z"}
    (log,) = read_trusted_root(json.dumps(body)).logs.values()
    assert log.start == datetime(2021, 1, 12, 11, 53, 27, 123456, UTC)


def _changed(path: str, value: Any) -> str:
    body = _root()
    *parents, last = path.split(".")
    place: Any = body
    for one in parents:
        place = place[int(one) if one.isdigit() else one]
    place[last] = value
    return json.dumps(body)


_MALFORMED = "failed to proto-json unmarshal trusted root: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", f"{_MALFORMED}it is not JSON"),
        ("[" * 100_000, f"{_MALFORMED}it is not JSON"),
        ("[]", f"{_MALFORMED}it is not an object"),
        ("{}", "unsupported TrustedRoot media type: "),
        (_changed("tlogs", {}), f"{_MALFORMED}tlogs is not a list of objects"),
        (_changed("tlogs", [{}] * 101), f"{_MALFORMED}tlogs has more than 100 members"),
        (_changed("tlogs.0.hashAlgorithm", "X"), "unsupported tlog hash algorithm: X"),
        (_changed("tlogs.0.logId", {}), "tlog missing log ID"),
        (_changed("tlogs.0.logId.keyId", "%"), f"{_MALFORMED}a value is not base64"),
        (_changed("tlogs.0.publicKey.rawBytes", ""), "tlog missing public key raw bytes"),
        (
            _changed("tlogs.0.publicKey.rawBytes", "AAAA"),
            "failed to parse public key for tlog: https://log.example x509: failed to parse "
            "public key",
        ),
        (_changed("tlogs.0.publicKey.validFor", None), "tlog missing public key validity period"),
        (
            _changed("tlogs.0.publicKey.validFor", {}),
            "tlog missing public key validity period start time",
        ),
        (_changed("tlogs.0.publicKey.validFor.start", "soon"), f"{_MALFORMED}a time is not valid"),
        (
            _changed("tlogs.0.publicKey.validFor.start", "2021-01-01T00:00:00"),
            f"{_MALFORMED}a time has no zone",
        ),
        (
            _changed("certificateAuthorities.0.certChain.certificates", []),
            "CertificateAuthority cert chain is empty",
        ),
        (
            _changed("certificateAuthorities.0.certChain.certificates", [{"rawBytes": "AAAA"}]),
            "failed to parse certificate for https://fulcio.example x509: malformed certificate",
        ),
    ],
)
def test_what_is_no_trusted_root_is_refused(text: str, message: str) -> None:
    assert error_of(SignatureError, read_trusted_root, text).message == message


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
        (_BLOCK, "unknown Public key PEM file type: A. Are you passing the correct public key?"),
        (_BLOCK.replace(" A-", " PUBLIC KEY-"), "x509: failed to parse public key"),
        (_public(dsa.generate_private_key(1024)), "unsupported public key type"),
        (_public(ec.generate_private_key(ec.SECP256K1())), "x509: unsupported elliptic curve"),
    ],
)
def test_what_is_no_key_is_refused(text: str, message: str) -> None:
    assert error_of(SignatureError, read_public_key, text).message == message


def test_logs_are_named_after_their_keys() -> None:
    key = ec.derive_private_key(1, ec.SECP256R1()).public_key()
    assert (
        log_id(key).hex()
        == hashlib.sha256(
            key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        ).hexdigest()
    )


def test_the_source_itself_imports_no_library() -> None:
    code = (
        "import sys, chartkit.addons.signatures.source\n"
        "heavy = {'cryptography', 'sigstore', 'jwt', 'cbor2', 'rfc3161_client'}\n"
        "sys.exit(str(sorted(heavy & sys.modules.keys())) if heavy & sys.modules.keys() else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize("kind", ["Cosign", "SigstoreBundle", "Notary"])
def test_without_the_libraries_it_says_how_to_get_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name in list(sys.modules):
        if (
            name.startswith("chartkit.addons.signatures.")
            and name != "chartkit.addons.signatures.source"
        ):
            monkeypatch.delitem(sys.modules, name)
    for name in ("cosign", "bundles", "notary"):
        monkeypatch.delattr(f"chartkit.addons.signatures.{name}", raising=False)
    for name in ("cryptography", "cryptography.hazmat.primitives", "sigstore", "cbor2", "jwt"):
        monkeypatch.setitem(sys.modules, name, None)
    source = bench.source
    question = bench.by_key("example.com/app", kind=kind)
    asked: list[Any] = [
        lambda: source.signature(question),
        lambda: source.attestations(question),
        lambda: source.signed("example.com/app", {"cosign": {}}, NOBODY_ELSE),
        lambda: source.signed("example.com/app", {"notary": {}}, NOBODY_ELSE),
        lambda: source.attested("example.com/app", {}, {"cosign": {}}, NOBODY_ELSE),
        lambda: source.attested("example.com/app", {}, {"notary": {}}, NOBODY_ELSE),
        lambda: source.payload("example.com/app", {}, NOBODY_ELSE),
    ]
    for ask in asked:
        with pytest.raises(LookupFailed, match=r"not installed: pip install '.*\[signatures\]'"):
            ask()


def test_a_module_that_is_missing_elsewhere_is_a_defect(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "chartkit.addons.signatures.notary", None)
    monkeypatch.delattr("chartkit.addons.signatures.notary", raising=False)
    question = bench.by_key("example.com/app", kind="Notary")
    with pytest.raises(ModuleNotFoundError):
        bench.source.signature(question)


def test_trusted_roots_of_the_user(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "trusted_root.json"
    path.write_text(Instance((bench.between,), (bench.log,), (bench.certificates,)).root)
    image = bench.signed(bench.keyless.signature)
    question = bench.by_identity(image, roots="", rekor_key="", ctlog_key="")
    assert Signatures(Registries(Settings()), path).signature(question).digest
    for content, message in (
        (b"{}", "unsupported TrustedRoot media type: "),
        (b"\xff", "the trusted root cannot be read: it is not text"),
        (None, "the trusted root cannot be read: No such file or directory"),
    ):
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        error = error_of(InputError, Signatures, Registries(Settings()), path)
        assert error.message == message
        assert error.location is not None
        assert error.location.file == str(path)


def test_the_command_verifies_with_a_trusted_root(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "trusted_root.json"
    path.write_text(Instance((bench.between,), (bench.log,), (bench.certificates,)).root)
    rekor = {"url": "https://rekor.example"}
    keyless = {"subject": IDENTITY, "issuer": ISSUER, "rekor": rekor}
    policy = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "background": False,
            "webhookTimeoutSeconds": 30,
            "rules": [
                {
                    "name": "r",
                    "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                    "verifyImages": [
                        {
                            "imageReferences": ["*"],
                            "mutateDigest": False,
                            "verifyDigest": False,
                            "required": False,
                            "attestors": [{"entries": [{"keyless": keyless}]}],
                        }
                    ],
                }
            ],
        },
    }
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    image = bench.signed(bench.keyless.signature)
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": image}]}}
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", **pod}))
    words = ["scan", "-p", str(tmp_path / "policy.yaml"), str(tmp_path / "pod.yaml")]
    own = ["--trusted-root", str(path)]
    assert _results(*words, "--registry", *own)[0] == "pass"
    status, message = _results(*words, "--registry")
    assert status == "fail"
    assert "no matching signatures: error verifying bundle: verifying bundle: rekor log" in message
    assert error_of(SystemExit, main, [*words, *own]).code == 2


def _results(*words: str) -> tuple[str, str]:
    found = json.loads(run_command([*words, "--detailed", "-o", "json"]))["results"]
    return found[0]["result"], found[0]["message"]

"""Signed objects: what manifests rules say, in the words of Kyverno's own program."""

import base64
import copy
import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from chartkit.addons.signatures.source import LocalBlobs
from chartkit.addons.signatures.trust.trusted_root import TrustedRoots, read_trusted_root
from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.signatures import KeySource
from chartkit.engine.ports.world import OFFLINE
from chartkit.engine.request import Request
from chartkit.model import Body, Json, Resource, Status, pointer_steps
from chartkit.network.cluster.cleaning import NO_SECRETS, ScannedSecrets
from tests.conformance.logged_manifests import EMAIL, World, certified, keyless
from tests.conformance.logged_manifests import cases as logged_cases
from tests.conformance.signed_manifests import (
    SERVICE,
    Case,
    Keys,
    by,
    cases,
    packed,
    signed,
    text,
    wants,
)
from tests.signing.authority import Leaf, key_pem
from tests.signing.bundle import Instance
from tests.unit.engine.policies import policy_resource, rule

ANSWERS: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "data" / "signed_manifests.json").read_text("utf-8")
)
KEYS = Keys()
CASES = {case.name: case for case in cases(KEYS)}


def policy(manifests: Body) -> Resource:
    """A policy about every object."""
    return policy_resource(rule(kinds=("*",), validate={"manifests": manifests}), background=False)


def _said(
    manifests: Body, body: Body, is_offline: bool = False, secrets: KeySource = NO_SECRETS
) -> list[str]:
    blobs = LocalBlobs(secrets, lambda: TRUST)
    world = OFFLINE if is_offline else replace(OFFLINE, blobs=blobs)
    (result,) = evaluate([compile_policy(policy(manifests))], Request(Resource(body)), world)
    return [str(result.status), result.message]


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_answers_about_signed_manifests_are_kyvernos(name: str) -> None:
    case = CASES[name]
    assert _said(case.manifests, case.body) == ANSWERS[name]


def test_every_case_of_signed_manifests_was_answered() -> None:
    assert set(CASES) == set(ANSWERS)


WORLD = World()
LOGGED = {case.name: case for case in logged_cases(WORLD)}
LOGGED_ANSWERS: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "data" / "logged_manifests.json").read_text("utf-8")
)
TRUST = TrustedRoots(read_trusted_root(Instance((WORLD.root,), (WORLD.log,)).root))


@pytest.mark.parametrize("name", sorted(LOGGED_ANSWERS))
def test_answers_about_what_was_logged_are_kyvernos(name: str) -> None:
    case = LOGGED[name]
    assert _said(case.manifests, case.body) == LOGGED_ANSWERS[name]


def test_every_case_of_what_was_logged_was_answered() -> None:
    assert set(LOGGED) == set(LOGGED_ANSWERS)


@pytest.mark.parametrize("case", [CASES["one"], LOGGED["keyless-me"]], ids=["key", "logged"])
def test_nothing_passes_without_who_verifies(case: Case) -> None:
    status, message = _said(case.manifests, case.body, is_offline=True)
    assert status == "error"
    assert message.endswith("there is no verifier for it")


NOBODY: list[Body] = [
    {},
    {"keyless": {"issuer": "https://issuer.example"}},
    {"certificates": {"certChain": WORLD.me.chain_pem}},
    {"keys": {"secret": {"name": "a", "namespace": "b"}}},
    {"keys": {"kms": "awskms:///key"}},
]


@pytest.mark.parametrize("entry", NOBODY, ids=["none", "keyless", "chain", "secret", "kms"])
def test_attestors_that_name_nobody_never_pass(entry: Body) -> None:
    """Kyverno takes whoever had a certificate logged."""
    status, message = _said(wants(entry), LOGGED["keyless-me"].body)
    assert status == "error"
    assert "the attestor names no identity" in message
    status, message = _said(wants(entry), CASES["one"].body)
    assert status == "error"
    assert "provide a key with --key or --sk" in message


@pytest.mark.parametrize(
    "entries",
    [
        (certified(WORLD.build), {"certificates": {"certChain": WORLD.me.chain_pem}}),
        (certified(WORLD.build, WORLD.build.chain_pem), certified(WORLD.me)),
        (certified(WORLD.build), keyless(EMAIL)),
        (keyless("you@example.com"), certified(WORLD.me)),
    ],
)
def test_what_entries_before_name_is_not_looked_at(entries: tuple[Body, ...]) -> None:
    status, message = _said(wants(*entries, count=1), LOGGED["keyless-me"].body)
    assert status == "error"
    assert "of the entries before this one are not looked at" in message


def test_keys_after_a_chain_are_not_looked_at() -> None:
    chain = {"certificates": {"certChain": WORLD.me.chain_pem}}
    status, message = _said(wants(chain, by(KEYS.a), count=1), CASES["one"].body)
    assert status == "error"
    assert "not looked at" in message


def test_keys_of_pgp_are_not_looked_at() -> None:
    key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nYQ==\n-----END PGP PUBLIC KEY BLOCK-----"
    status, message = _said(wants({"keys": {"publicKeys": key}}), CASES["one"].body)
    assert status == "error"
    assert message.endswith("keys of PGP are not looked at")


def test_a_signer_in_a_name_of_another_kind() -> None:
    other = x509.OtherName(x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.7"), b"\x0c\x02me")
    leaf = WORLD.root.leaf(uri="")
    key = leaf.key
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(leaf.certificate.issuer)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(leaf.certificate.not_valid_before_utc)
        .not_valid_after(leaf.certificate.not_valid_after_utc)
        .add_extension(x509.SubjectAlternativeName([other]), critical=True)
        .sign(WORLD.root.key, hashes.SHA256())
    )
    body = WORLD.logged(Leaf(key, certificate))
    status, message = _said(wants(keyless("me")), body)
    assert status == "error"
    assert message.endswith("the signer is in a name of an unsupported kind")


def _by_secret(*references: str) -> Body:
    return {"keys": {"publicKeys": ",".join(references)}}


def _secret(name: str, key: str, content: bytes) -> Body:
    metadata = {"name": name, "namespace": "kyverno"}
    data = {key: base64.b64encode(content).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


SECRETS = ScannedSecrets(
    [
        _secret("a", "cosign.pub", key_pem(KEYS.a).encode()),
        _secret("b", "cosign.pub", key_pem(KEYS.b).encode()),
        _secret("none", "cosign.key", b"x"),
    ]
)
_NO_TYPE = "failed to judge signature type from public key configuration"


@pytest.mark.parametrize(
    "references", [["k8s://kyverno/a"], ["k8s://kyverno/b", " k8s://kyverno/a"]]
)
def test_keys_in_secrets(references: list[str]) -> None:
    said = _said(wants(_by_secret(*references)), CASES["one"].body, secrets=SECRETS)
    assert said == ANSWERS["one"]


def test_keys_in_secrets_of_others() -> None:
    body = CASES["one"].body
    said = _said(wants(_by_secret("k8s://kyverno/b")), body, secrets=SECRETS)
    assert said == ANSWERS["another-key"]
    both = _said(wants(_by_secret(*["k8s://kyverno/b"] * 2)), body, secrets=SECRETS)
    trials = json.loads(both[1].partition("all trials: ")[2])
    assert [one.partition(" error: ")[0] for one in trials] == [
        "[publickey 1/2] [signature 1/1]",
        "[publickey 2/2] [signature 1/1]",
    ]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("k8s://kyverno/none", _NO_TYPE),
        ("k8s://kyverno", _NO_TYPE),
        (f" {key_pem(KEYS.a)}", _NO_TYPE),
        (
            "k8s://kyverno/other",
            f"{_NO_TYPE}: the Secret kyverno/other is not among the scanned objects (scan it, too, "
            "with cosign.pub alone, or give the public key itself, in PEM)",
        ),
        (
            "awskms:///alias/x",
            "failed to load public key from awskms:///alias/x: keys in key management services, "
            "files and at addresses are not read (give the public key itself, in PEM)",
        ),
    ],
    ids=["none", "no reference", "a space", "unknown", "elsewhere"],
)
def test_keys_that_nobody_finds(key: str, says: str) -> None:
    said = _said(wants(_by_secret(key)), CASES["one"].body, secrets=SECRETS)
    assert said[0] == "error"
    assert said[1].endswith(f".attestors[0].entries[0].keys: failed to verify signature: {says}")


@pytest.mark.parametrize("name", ["certificate", "bundle"])
def test_signatures_with_more_than_a_key_are_an_error(name: str) -> None:
    body = signed(SERVICE, text(SERVICE), KEYS.a, **{name: "eA=="})
    status, message = _said(wants(by(KEYS.a)), body)
    assert status == "error"
    assert "no log is asked" in message


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content)).decode()


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (_packed(b" " * 5_000_000), "larger than 4194304 bytes"),
        (_packed(gzip.compress(b" " * 5_000_000)), "larger than 4194304 bytes"),
        (_packed(gzip.compress(b"no archive" * 200)), "failed while decompressing tar gz"),
        (_packed(b"\x00" * 20), "gzip: invalid header"),
    ],
    ids=["large", "large twice", "no archive", "not packed twice"],
)
def test_hostile_messages(message: str, error: str) -> None:
    status, said = _said(wants(by(KEYS.a)), signed(SERVICE, b"", KEYS.a, message=message))
    assert status == "error"
    assert error in said


def test_archives_of_many_files_are_refused() -> None:
    archive = packed({f"{number}.yaml": b"" for number in range(1002)})
    status, said = _said(wants(by(KEYS.a)), signed(SERVICE, archive, KEYS.a))
    assert status == "error"
    assert "more than 1000 files" in said


def test_failures_name_the_fields_that_differ_from_what_was_signed() -> None:
    """With each field as it was signed the object passes."""
    world = replace(OFFLINE, blobs=LocalBlobs(NO_SECRETS, lambda: TRUST))
    cases = [case for name, case in CASES.items() if name.startswith("changed-")]
    failing = [case for case in cases if ANSWERS[case.name][0] == "fail"]
    assert len(failing) == 18
    for case in failing:
        policies = [compile_policy(policy(case.manifests))]
        (result,) = evaluate(policies, Request(Resource(case.body)), world)
        assert result.fields, case.name
        restored = _as_signed(case.body, result.fields)
        (result,) = evaluate(policies, Request(Resource(restored)), world)
        assert result.status is Status.PASS, (case.name, result.fields)


def _as_signed(body: Body, fields: Sequence[str]) -> Body:
    """Return an object with some fields as they were signed."""
    message = body["metadata"]["annotations"]["cosign.sigstore.dev/message"]
    original = parse_yaml(gzip.decompress(base64.b64decode(message)).decode())
    made = copy.deepcopy(body)
    for pointer in sorted(fields, reverse=True):
        *above, last = pointer_steps(pointer)
        there, before = made, original
        for step in above:
            key = int(step) if isinstance(there, list) else step
            there = there[key]
            before = before[key] if _has(before, key) else None
        name = int(last) if isinstance(there, list) else last
        if _has(before, name):
            there[name] = before[name]
        else:
            del there[name]
    return made


def _has(value: Json, key: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(key, int) and key < len(value)
    return isinstance(value, dict) and key in value

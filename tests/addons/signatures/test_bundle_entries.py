"""Sigstore bundles in transparency logs: entries that count, and those that were changed."""

import base64
import copy
import hashlib
import json
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from chartkit.addons.signatures.bundles.verifier import Clock
from chartkit.addons.signatures.trust.trusted_root import read_trusted_root
from chartkit.engine.ports.signatures import SignatureError
from chartkit.model import Body
from tests.addons.signatures.bundle_world import (
    ARTIFACT,
    DIGEST,
    TYPE,
    Change,
    World,
    check,
    entry,
    known,
)
from tests.errors import error_of
from tests.signing.authority import new_key
from tests.signing.bundle import Instance, Maker, canonical, text
from tests.signing.cosign import Signer, statement
from tests.signing.rekor import Log, hashed

STATEMENT = statement(DIGEST, TYPE, {"a": 1})


@pytest.fixture(scope="module")
def new(world: World) -> Body:
    maker = Maker(Signer.of(world.leaf, world.new), [world.clock], is_new=True)
    return maker.attest(DIGEST, TYPE, {"a": 1})


def _set(*path: str | int, to: object = None) -> Change:
    """Sets what a path leads to within the log's entry; None takes it away."""

    def change(bundle: Body) -> None:
        *steps, last = path
        place: Body = entry(bundle)
        for step in steps:
            place = place[step]  # type: ignore[index]
        if to is None:
            del place[last]  # type: ignore[arg-type]
        else:
            place[last] = to  # type: ignore[index]

    return change


def _flip(*path: str) -> Change:
    """Changes one bit of bytes in the log's entry."""

    def change(bundle: Body) -> None:
        *steps, last = path
        place = entry(bundle)
        for step in steps:
            place = place[step]
        content = bytearray(base64.b64decode(place[last]))
        content[len(content) // 2] ^= 1
        place[last] = text(bytes(content))

    return change


def _twice(bundle: Body) -> None:
    bundle["verificationMaterial"]["tlogEntries"] *= 2


def _renamed(bundle: Body) -> None:
    checkpoint = entry(bundle)["inclusionProof"]["checkpoint"]
    checkpoint["envelope"] = checkpoint["envelope"].replace("log.example", "bog.example")


NOT_ENOUGH = "not enough verified log entries from transparency log: 0 < 1"
UNPROVEN = "the inclusion proof does not lead from the entry to the tree's root"
ENTRIES: dict[str, tuple[Change, str]] = {
    "no promise": (_set("inclusionPromise"), "log entry integrated timestamps: 0 < 1"),
    "a promise that was changed": (_flip("inclusionPromise", "signedEntryTimestamp"), NOT_ENOUGH),
    "another time": (_set("integratedTime", to="1"), NOT_ENOUGH),
    "no time": (_set("integratedTime"), NOT_ENOUGH),
    "a time beyond all clocks": (
        _set("integratedTime", to=str(2**62)),
        "integrated time outside certificate validity",
    ),
    "another place in the log": (_set("logIndex", to="999"), NOT_ENOUGH),
    "a log that nobody knows": (_flip("logId", "keyId"), NOT_ENOUGH),
    "the tree's root": (_flip("inclusionProof", "rootHash"), UNPROVEN),
    "too many hashes": (_set("inclusionProof", "hashes", to=["AAAA"] * 64), UNPROVEN),
    "a place beyond the tree": (
        _set("inclusionProof", "logIndex", to="1000000"),
        "index is beyond size: 1000000 >= ",
    ),
    "a negative place": (_set("inclusionProof", "logIndex", to="-1"), "index is beyond size: -1"),
    "an empty tree": (_set("inclusionProof", "treeSize", to="0"), "index is beyond size: "),
    "a checkpoint of another log": (_renamed, "checkpoint: invalid signature"),
    "a checkpoint that is none": (
        _set("inclusionProof", "checkpoint", "envelope", to="a - 1\nb\nc\nd\n"),
        "unmarshalling signed note",
    ),
    "the same entry twice": (_twice, "duplicate tlog entries found"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_log_entries_that_were_changed(world: World, keyless: Body, name: str) -> None:
    change, says = ENTRIES[name]
    bundle = copy.deepcopy(keyless)
    change(bundle)
    error = error_of(SignatureError, check, bundle, world.keyless_checks())
    assert says in error.message
    assert "\n" not in error.message


def test_the_entry_of_another_signature(world: World, keyless: Body) -> None:
    cases = {
        "transparency log signature does not match": world.keyless.attest(DIGEST, TYPE, {"b": 2}),
        "transparency log certificate does not match": world.keyed.attest(DIGEST, TYPE, {}),
    }
    for says, other in cases.items():
        bundle = copy.deepcopy(keyless)
        taken = entry(other)
        if says.startswith("transparency log cert"):
            key = world.key_checks()
            bundle = copy.deepcopy(world.keyed.attest(DIGEST, TYPE, {}))
            checks = replace(key, key=known(new_key()))
        else:
            checks = world.keyless_checks()
            bundle["verificationMaterial"]["tlogEntries"] = [taken]
        with pytest.raises(SignatureError, match=says):
            check(bundle, checks)


def test_an_entry_beside_one_of_a_log_that_nobody_knows(world: World, keyless: Body) -> None:
    bundle = copy.deepcopy(keyless)
    unknown = copy.deepcopy(entry(bundle))
    unknown["logId"]["keyId"] = text(b"x" * 32)
    bundle["verificationMaterial"]["tlogEntries"].insert(0, unknown)
    assert check(bundle, world.keyless_checks()) == STATEMENT


def test_a_payload_that_the_log_has_not_seen(world: World) -> None:
    first, second = (world.keyed.attest(DIGEST, TYPE, {"n": n}) for n in (1, 2))
    mixed = {**first, "dsseEnvelope": {**first["dsseEnvelope"]}}
    mixed["dsseEnvelope"]["payload"] = second["dsseEnvelope"]["payload"]
    with pytest.raises(SignatureError, match=r"hash .* does not match envelope payload hash"):
        check(mixed, world.key_checks())
    with pytest.raises(SignatureError, match="accepted signatures do not match threshold"):
        check(mixed, replace(world.key_checks(), logged=False))


def test_an_in_toto_entry_of_rekor(world: World) -> None:
    bundle = world.keyed.attest(DIGEST, TYPE, {"a": 1})
    envelope = bundle["dsseEnvelope"]
    verifier = world.keyed.signer.verifier.encode()
    listed = {"sig": text(envelope["signatures"][0]["sig"].encode()), "publicKey": text(verifier)}
    content = {
        "envelope": {"payloadType": envelope["payloadType"], "signatures": [listed]},
        "hash": hashed(b"the envelope"),
        "payloadHash": hashed(base64.b64decode(envelope["payload"])),
    }
    body = {"apiVersion": "0.0.2", "kind": "intoto", "spec": {"content": content}}
    bundle["verificationMaterial"]["tlogEntries"] = [world.log.add(body).transparency]
    assert check(bundle, world.key_checks()) == STATEMENT
    content["payloadHash"] = hashed(b"another payload")
    bundle["verificationMaterial"]["tlogEntries"] = [world.log.add(body).transparency]
    with pytest.raises(SignatureError, match="does not match envelope payload hash"):
        check(bundle, world.key_checks())


def test_rekor_2(world: World, new: Body) -> None:
    assert check(new, world.keyless_checks(Clock.STAMPED)) == STATEMENT
    with pytest.raises(SignatureError, match="log entry integrated timestamps: 0 < 1"):
        check(new, world.keyless_checks(Clock.LOGGED))
    maker = Maker(Signer(world.key, log=world.new), is_new=True)
    assert check(maker.attest(DIGEST, TYPE, {"a": 1}), world.key_checks()) == STATEMENT
    assert check(maker.message(ARTIFACT), world.key_checks()) is None


def test_a_log_of_rekor_2_with_an_ed25519_key(world: World) -> None:
    """Such a log's checkpoints name the key by its host, too."""
    log = _EdwardsLog()
    maker = Maker(Signer(world.key, log=log), is_new=True)
    instance = Instance(logs=[log])
    root = json.loads(instance.root)
    root["tlogs"][0]["publicKey"]["keyDetails"] = "PKIX_ED25519"
    checks = replace(world.key_checks(), trust=read_trusted_root(json.dumps(root)))
    bundle = maker.attest(DIGEST, TYPE, {"a": 1})
    assert check(bundle, checks) == STATEMENT
    with pytest.raises(SignatureError, match=NOT_ENOUGH):
        check(bundle, world.key_checks())


class _EdwardsLog(Log):
    """Signs its checkpoints as Rekor 2 does in production."""

    def __init__(self) -> None:
        key = ed25519.Ed25519PrivateKey.generate()
        super().__init__(key, "edwards.example")  # type: ignore[arg-type]

    def _proof(self, index: int) -> Body:
        proof = super()._proof(index)
        note = proof["checkpoint"]["envelope"].partition("\n\n")[0] + "\n"
        raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        named = hashlib.sha256(
            b"edwards.example\n\x01" + self.key.public_key().public_bytes(*raw)
        ).digest()
        signature = text(named[:4] + self.key.sign(note.encode()))  # type: ignore[call-arg]
        proof["checkpoint"]["envelope"] = f"{note}\n— edwards.example {signature}\n"
        return proof


def _other_body(bundle: Body) -> None:
    body = json.loads(base64.b64decode(entry(bundle)["canonicalizedBody"]))
    body["spec"]["hashedRekordV002"]["data"]["digest"] = text(b"x" * 32)
    entry(bundle)["canonicalizedBody"] = text(canonical(body))


def _without_digest(bundle: Body) -> None:
    body = json.loads(base64.b64decode(entry(bundle)["canonicalizedBody"]))
    del body["spec"]["hashedRekordV002"]["data"]
    entry(bundle)["canonicalizedBody"] = text(canonical(body))


def _signed_by_another(bundle: Body) -> None:
    checkpoint = entry(bundle)["inclusionProof"]["checkpoint"]
    checkpoint["envelope"] = checkpoint["envelope"].replace("— rekor2", "— rekor3")


NEW_ENTRIES: dict[str, tuple[Change, str]] = {
    "what the entry says itself does not matter": (_other_body, ""),
    "the proof's own place does not matter": (_set("inclusionProof", "logIndex", to="77"), ""),
    "an entry without a digest": (_without_digest, "missing digest"),
    "a promise": (_set("inclusionPromise", to={"signedEntryTimestamp": "AAAA"}), NOT_ENOUGH),
    "no proof": (_set("inclusionProof"), "inclusion proof missing in bundle"),
    "another place": (_set("logIndex", to="5000"), "index is beyond size: 5000"),
    "another signer's name": (_signed_by_another, "it is not signed by rekor2.example"),
}


@pytest.mark.parametrize("name", NEW_ENTRIES)
def test_entries_of_rekor_2_that_were_changed(world: World, new: Body, name: str) -> None:
    change, says = NEW_ENTRIES[name]
    bundle = copy.deepcopy(new)
    change(bundle)
    if not says:
        assert check(bundle, world.keyless_checks(Clock.STAMPED)) == STATEMENT
        return
    error = error_of(SignatureError, check, bundle, world.keyless_checks(Clock.STAMPED))
    assert says in error.message


@pytest.mark.parametrize(
    ("address", "says"),
    [("", "without baseUrl"), ("http://[", "address"), ("https://x.example", "not x.example's")],
)
def test_a_log_of_rekor_2_at_another_address(
    world: World, new: Body, address: str, says: str
) -> None:
    logs = {key: replace(log, url=address) for key, log in world.trust.logs.items()}
    checks = replace(world.keyless_checks(Clock.STAMPED), trust=replace(world.trust, logs=logs))
    with pytest.raises(SignatureError, match=says):
        check(new, checks)


def test_a_statement_that_is_signed_and_not_logged(world: World, new: Body) -> None:
    other = Maker(Signer.of(world.leaf), [world.clock]).attest(DIGEST, TYPE, {"b": 2})
    other["verificationMaterial"]["tlogEntries"] = [entry(new)]
    with pytest.raises(SignatureError, match="does not lead from the entry"):
        check(other, world.keyless_checks(Clock.STAMPED))

"""Keys in Secrets: what is read of them, and what a policy that names one says."""

import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.engine.ports.signatures import SignatureError, UnknownKeyError
from chartkit.engine.ports.world import NOBODY_ELSE
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.cluster.cleaning import NO_SECRETS, ScannedSecrets, held_key, key_text
from tests.addons.signatures.cosign_bench import Bench
from tests.conformance.image_registry import run_command
from tests.data import from_table
from tests.errors import error_of
from tests.objects import api_object
from tests.signing.authority import key_pem, new_key
from tests.signing.bundle import Maker, push_bundle
from tests.signing.cosign import Signer, push
from tests.unit.network.registry.registry_server import Registry, serving

PRIVATE = "LS0tZW5jcnlwdGVk"
PASSWORD = "aHVzaGh1c2g="
REFERENCE = "k8s://kyverno/signer"


def secret(pem: str | None, name: str = "signer", **fields: Any) -> Body:
    """A Secret as cosign makes them."""
    metadata = {"name": name, "namespace": "kyverno"}
    data = {"cosign.key": PRIVATE, "cosign.password": PASSWORD}
    if pem is not None:
        data["cosign.pub"] = base64.b64encode(pem.encode()).decode()
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data, **fields}


@from_table("reference", "says")
def test_references_that_lead_to_no_secret(reference: str, says: str) -> None:
    assert error_of(SignatureError, key_text, reference, NO_SECRETS).message == says


def test_of_a_secret_that_was_not_given_nothing_is_known() -> None:
    error = error_of(UnknownKeyError, key_text, REFERENCE, ScannedSecrets([secret("x", "another")]))
    assert error.message == "the Secret kyverno/signer is not among the scanned objects"
    assert error.hint is not None


@from_table("body", "held")
def test_what_a_secret_publishes(body: Body, held: bytes | None) -> None:
    assert held_key(body) == held


def test_data_that_no_cluster_takes() -> None:
    broken = secret(None, data={"cosign.pub": "?"})
    error = error_of(UnknownKeyError, key_text, REFERENCE, ScannedSecrets([broken]))
    assert error.message == "the Secret kyverno/signer: cosign.pub in data is not base64"


@pytest.fixture
def signed(bench: Bench) -> str:
    return bench.signed(bench.signer.signature)


def _said(bench: Bench, image: str, body: Body | None, **changes: Any) -> str:
    source = bench.source
    source.learn(ScannedSecrets([] if body is None else [body]))
    try:
        source.signature(bench.by_key(image, key=REFERENCE, **changes))
    except LookupFailed as error:
        return f"{type(error).__name__} {error.message}"
    return ""


@from_table("pem", "fields", "says")
@pytest.mark.parametrize("kind", ["Cosign", "SigstoreBundle"])
def test_secrets_without_a_key_are_verdicts(
    bench: Bench, signed: str, kind: str, pem: str | None, fields: Body, says: str
) -> None:
    around = {
        "Cosign": f"failed to load public key from {REFERENCE}",
        "SigstoreBundle": f"failed to get trusted material: {signed}: failed to load public key",
    }
    found = _said(bench, signed, secret(pem, **fields), kind=kind)
    assert found == f"SignatureError {around[kind]}: {says}"


@pytest.mark.parametrize("kind", ["Cosign", "SigstoreBundle"])
def test_who_signed_is_known_by_a_secret(bench: Bench, kind: str) -> None:
    image, repository, digest = bench.image()
    push(bench.registry, repository, digest, [Signer(bench.key).signature(digest)])
    push_bundle(
        bench.registry, repository, digest, Maker(Signer(bench.key)).attest(digest, "t", {})
    )
    asked = {"kind": kind, "ignores_log": True, "ignores_sct": True}
    assert _said(bench, image, secret(key_pem(bench.key)), **asked) == ""
    assert _said(bench, image, secret(key_pem(bench.other)), **asked).startswith("SignatureError")
    assert _said(bench, image, None, **asked).startswith("UnknownKeyError ")
    hashed = _said(bench, image, secret(key_pem(bench.key)), **asked, algorithm="sha512")
    assert hashed.startswith("SignatureError")


def test_an_image_validating_policy_names_a_secret_as_kms(bench: Bench, signed: str) -> None:
    cosign: Body = {"key": {"kms": REFERENCE}, "ctlog": {"insecureIgnoreTlog": True}}
    ask = {"name": "a", "cosign": cosign}
    source = bench.source
    source.learn(ScannedSecrets([secret(key_pem(bench.key))]))
    source.signed(signed, ask, NOBODY_ELSE)
    around = f"failed to build cosign verification opts: failed to load public key from {REFERENCE}"
    for body, says in (
        (secret(None), f"{around}: PEM decoding failed"),
        (
            secret("", "another"),
            f"failed to load public key from {REFERENCE}: the Secret kyverno/signer is not among "
            "the scanned objects",
        ),
    ):
        source = bench.source
        source.learn(ScannedSecrets([body]))
        assert error_of(LookupFailed, source.signed, signed, ask, NOBODY_ELSE).message == says
    cosign["key"] = {"kms": REFERENCE, "hashAlgorithm": "md5"}
    source.learn(ScannedSecrets([secret(key_pem(bench.key))]))
    with pytest.raises(SignatureError, match="invalid hash function specified"):
        source.signed(signed, ask, NOBODY_ELSE)


KEY = new_key()
KIND = "https://example.com/review"


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    """`team/app` is signed and attested with KEY."""
    with serving() as made:
        digest = made.add_image("team/app", "1", {"of": "app"})
        signer = Signer(KEY)
        push(made, "team/app", digest, [signer.signature(digest)])
        push(made, "team/app", digest, [signer.attestation(digest, KIND, {})], "att")
        yield made


def _policy(registry: Registry, attests: bool) -> Body:
    rekor = {"url": "https://rekor.example", "ignoreTlog": True}
    keys = {"secret": {"name": "signer", "namespace": "kyverno"}, "rekor": rekor}
    sets = [{"entries": [{"keys": {**keys, "ctlog": {"ignoreSCT": True}}}]}]
    wanted: Body = {"attestors": sets}
    if attests:
        wanted = {"attestations": [{"type": KIND, "attestors": sets}]}
    verify = {"imageReferences": [f"{registry.host}/*"], "mutateDigest": False, **wanted}
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "verifyImages": [{**verify, "required": False, "verifyDigest": False}],
    }
    return api_object(
        "kyverno.io/v1", "ClusterPolicy", "p", spec={"background": False, "rules": [rule]}
    )


def _scanned(
    registry: Registry, folder: Path, attests: bool, secrets: Sequence[Body]
) -> list[list[str]]:
    (folder / "policy.yaml").write_text(yaml.safe_dump(_policy(registry, attests)))
    spec = {"containers": [{"name": "c", "image": f"{registry.host}/team/app:1"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
    (folder / "objects.yaml").write_text(yaml.safe_dump_all([pod, *secrets]))
    words = ["scan", "-p", str(folder / "policy.yaml"), str(folder / "objects.yaml")]
    written = run_command([*words, "--registry", "-o", "json", "--detailed"])
    for word in (PRIVATE, PASSWORD, "hushhush"):
        assert word not in written
    results = json.loads(written)["results"]
    return [[one["result"], one["message"]] for one in results if one["message"]]


@pytest.mark.parametrize("attests", [False, True], ids=["signed", "attested"])
def test_the_command_takes_secrets_among_the_objects(
    registry: Registry, tmp_path: Path, attests: bool
) -> None:
    ((status, _),) = _scanned(registry, tmp_path, attests, [secret(key_pem(KEY))])
    assert status == "pass"
    ((status, message),) = _scanned(registry, tmp_path, attests, [secret(key_pem(new_key()))])
    assert (status, "no matching" in message) == ("fail", True)
    ((status, message),) = _scanned(registry, tmp_path, attests, [secret(None)])
    assert (status, message.endswith(f"{REFERENCE}: PEM decoding failed")) == ("fail", True)


@pytest.mark.parametrize("attests", [False, True], ids=["signed", "attested"])
def test_without_the_secret_there_is_no_verdict(
    registry: Registry, tmp_path: Path, attests: bool
) -> None:
    ((status, message),) = _scanned(registry, tmp_path, attests, [secret("x", "another")])
    assert status == "error"
    assert message.endswith(
        f"failed to load public key from {REFERENCE}: the Secret kyverno/signer is not among the "
        "scanned objects (scan it, too, with cosign.pub alone, or give the public key itself, in "
        "PEM)"
    )

"""Sigstore bundles beside images: what ClusterPolicies and ImageValidatingPolicies ask of them."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.addons.signatures.bundles import verify_cluster_policy
from chartkit.addons.signatures.trust.trusted_root import Trust
from chartkit.engine.ports.signatures import SignatureError, UnknownKeyError, VerificationRequest
from chartkit.engine.ports.world import NOBODY_ELSE
from chartkit.errors import LookupFailed
from chartkit.model import Body
from chartkit.network.registry.artifacts import Artifacts
from chartkit.network.registry.images import Registries
from chartkit.network.registry.settings import Limits, RegistryError, Settings
from tests.addons.signatures.bundle_world import BY, DIGEST, TYPE, WHO, Make, World, push_image
from tests.errors import error_of
from tests.signing.authority import key_pem, new_key, rsa_key
from tests.signing.bundle import KIND, Maker
from tests.signing.cosign import Signer, statement
from tests.unit.network.registry.registry_server import Registry

NONE_MATCHES = "sigstore bundle verification failed: no matching signatures found"
CALM = Limits(pause=0.01, longest_pause=0.1)


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's credentials."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))


@pytest.fixture
def artifacts() -> Artifacts:
    return Registries(Settings(limits=CALM)).artifacts(NOBODY_ELSE)


def _question(registry: Registry, world: World, name: str, **given: object) -> VerificationRequest:
    """By the key, nobody having seen it."""
    key = {"key": key_pem(world.key), "ignores_log": True, "ignores_sct": True}
    asked = {"image": f"{registry.host}/app:{name}", "kind": "SigstoreBundle", **key, **given}
    return VerificationRequest(**asked)  # type: ignore[arg-type]


def _keyless(registry: Registry, name: str, **given: object) -> VerificationRequest:
    image = f"{registry.host}/app:{name}"
    return replace(
        VerificationRequest(image, kind="SigstoreBundle", subject=WHO, issuer=BY),
        **given,  # type: ignore[arg-type]
    )


def _nobody() -> Trust:
    raise AssertionError("no trusted root is needed")


def test_a_signature_by_a_key(registry: Registry, world: World, artifacts: Artifacts) -> None:
    digest = push_image(registry, "key", lambda one: world.bare.attest(one, TYPE, {}))
    question = _question(registry, world, "key")
    found = verify_cluster_policy(artifacts, question, _nobody)
    assert (found.digest, list(found.statements)) == (digest, [])


def test_attestations_of_a_type(registry: Registry, world: World, artifacts: Artifacts) -> None:
    other = Maker(Signer(new_key()))
    digest = push_image(
        registry,
        "many",
        lambda one: world.bare.attest(one, TYPE, {"n": 1}),
        lambda one: other.attest(one, TYPE, {"n": 2}),
        lambda one: world.bare.attest(one, "https://example.com/another", {}),
        lambda _: world.bare.attest(DIGEST, TYPE, {"n": 3}),
        lambda one: world.bare.attest(one, TYPE, {"n": 4}),
    )
    question = _question(registry, world, "many", type=TYPE, attestations=True)
    found = verify_cluster_policy(artifacts, question, _nobody)
    assert found.digest == digest
    assert found.statements == [
        {**statement(digest, TYPE, {"n": number}), "type": TYPE} for number in (1, 4)
    ]
    missing = replace(question, type="https://example.com/none")
    with pytest.raises(SignatureError, match=NONE_MATCHES):
        verify_cluster_policy(artifacts, missing, _nobody)
    with pytest.raises(LookupFailed, match="asked for without a type"):
        verify_cluster_policy(artifacts, replace(question, type=""), _nobody)


def test_an_identity(registry: Registry, world: World, artifacts: Artifacts) -> None:
    digest = push_image(registry, "keyless", lambda one: world.keyless.attest(one, TYPE, {}))
    question = _keyless(registry, "keyless")
    kinds = [
        {},
        {"ignores_log": True},
        {"ignores_log": True, "ignores_sct": True},
        {"subject": "", "subject_regexp": "dev", "issuer": "", "issuer_regexp": "^https://"},
    ]
    for given in kinds:
        asked = replace(question, **given)  # type: ignore[arg-type]
        assert verify_cluster_policy(artifacts, asked, lambda: world.trust).digest == digest
    others = [
        {"subject": "*@example.com"},
        {"subject": "", "subject_regexp": ""},
        {"issuer": ""},
        {"issuer_regexp": "^http://"},
    ]
    for given in others:
        with pytest.raises(SignatureError, match=NONE_MATCHES):
            verify_cluster_policy(artifacts, replace(question, **given), lambda: world.trust)  # type: ignore[arg-type]
    with pytest.raises(SignatureError, match=NONE_MATCHES):
        verify_cluster_policy(artifacts, question, Trust)


def test_attestors_that_contradict_themselves(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    push_image(registry, "contradicts", lambda one: world.bare.attest(one, TYPE, {}))
    question = _question(registry, world, "contradicts")
    exclusive = "static key and certificate identity are mutually exclusive"
    unset = "when initializing a new Verifier, you must specify at least one of "
    cases = {
        f"failed to build policy: {question.image}: {exclusive}": {"subject": WHO, "issuer": BY},
        f"failed to get trusted material: {question.image}: {exclusive}": {"subject": WHO},
        f"failed to get verify bundles: {question.image}: {unset}": {"ignores_log": False},
        f"failed to build policy: {question.image}: error parsing regexp: missing closing ): `(`": {
            "key": "",
            "subject_regexp": "(",
            "issuer": BY,
        },
        f"failed to get trusted material: {question.image}: unsupported signature algorithm "
        '"md5"': {"algorithm": "md5"},
        f"failed to get trusted material: {question.image}: failed to load public key: pem to "
        "public key: PEM decoding failed": {"key": "PUBLIC KEY"},
        f"failed to get trusted material: {question.image}: failed to load public key: invalid "
        "hash function specified": {"key": key_pem(rsa_key()), "algorithm": "sha224"},
    }
    for says, given in cases.items():
        asked = replace(question, **given)  # type: ignore[arg-type]
        with pytest.raises(SignatureError) as raised:
            verify_cluster_policy(artifacts, asked, lambda: world.trust)
        assert raised.value.message.startswith(says)
    for key in ("k8s://ns/name", "awskms:///alias/key"):
        with pytest.raises(UnknownKeyError):
            verify_cluster_policy(artifacts, replace(question, key=key), _nobody)


def _good(world: World) -> Make:
    return lambda one: world.bare.attest(one, TYPE, {})


FAILED: dict[str, tuple[Callable[[World], list[Make]], str]] = {
    "none": (lambda _: [], NONE_MATCHES),
    "another key": (lambda _: [_good(World())], NONE_MATCHES),
    "another image": (lambda world: [lambda _: world.bare.attest(DIGEST, TYPE, {})], NONE_MATCHES),
    "garbage": (lambda _: [lambda _: b"garbage"], "failed to unmarshal bundle: proto: "),
    "garbage beside a good one": (
        lambda world: [_good(world), lambda _: b"{}"],
        "failed to unmarshal bundle: error getting bundle version: ",
    ),
    "a cut archive": (
        lambda _: [lambda _: gzip.compress(b"x" * 100)[:20]],
        "failed to fetch referrer layer: the layer's content is cut",
    ),
    "an archive that is none": (
        lambda _: [lambda _: b"\x1f\x8bgarbage"],
        "failed to fetch referrer layer: gzip: invalid content",
    ),
    "an archive that unpacks to too much": (
        lambda _: [lambda _: gzip.compress(b" " * 10_000_001)],
        "failed to fetch referrer layer: the layer's content is cut, or exceeds 10000000",
    ),
    "too many": (
        lambda world: [lambda one: world.bare.attest(one, TYPE, {})] * 51,
        "failed to fetch referrers: too many referrers found, max limit is 50",
    ),
}


@pytest.mark.parametrize("name", FAILED)
def test_bundles_that_do_not_count(
    registry: Registry, world: World, artifacts: Artifacts, name: str
) -> None:
    make, says = FAILED[name]
    tag = name.replace(" ", "-")
    push_image(registry, tag, *make(world))
    question = _question(registry, world, tag)
    error = error_of(SignatureError, verify_cluster_policy, artifacts, question, _nobody)
    start = "" if says == NONE_MATCHES else f"failed to fetch bundles: {question.image}: "
    assert error.message.startswith(start + says)


def test_referrers_that_are_not_what_they_seem(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    absent = f"sha256:{'1' * 64}"
    cases: dict[str, tuple[list[Body], str]] = {
        "no-layers": ([], "layers not found"),
        "no-blob": ([{"size": 5, "digest": absent}], "failed to fetch referrer layer: GET "),
        "huge": ([{"size": 10_000_001, "digest": absent}], "layer size 10000001 exceeds 10000000"),
        "no-size": ([{"digest": absent}], "failed to fetch referrer layer: the layer has no size"),
    }
    for name, (layers, says) in cases.items():
        digest = push_image(registry, name)
        registry.add_artifact("app", digest, KIND, layers)
        question = _question(registry, world, name)
        error = error_of(SignatureError, verify_cluster_policy, artifacts, question, _nobody)
        start = f"failed to fetch bundles: {question.image}: "
        assert error.message.startswith(start + says)
    digest = push_image(registry, "others", _good(world))
    registry.add_artifact("app", digest, "text/plain", [registry.add_blob("app", b"something")])
    question = _question(registry, world, "others")
    assert verify_cluster_policy(artifacts, question, _nobody).digest == digest


def test_a_compressed_layer(registry: Registry, world: World, artifacts: Artifacts) -> None:
    digest = push_image(
        registry,
        "packed",
        lambda one: gzip.compress(json.dumps(world.bare.attest(one, TYPE, {})).encode()),
    )
    question = _question(registry, world, "packed")
    assert verify_cluster_policy(artifacts, question, _nobody).digest == digest


def test_images_that_are_not_to_be_had(
    registry: Registry, world: World, artifacts: Artifacts
) -> None:
    missing = _question(registry, world, "missing")
    assert error_of(SignatureError, verify_cluster_policy, artifacts, missing, _nobody).message == (
        f"failed to fetch bundles: {missing.image}: HEAD http://{registry.host}/v2/app/manifests/"
        "missing: unexpected status code 404 Not Found (HEAD responses have no body, use GET for "
        "details)"
    )
    with pytest.raises(SignatureError) as raised:
        verify_cluster_policy(artifacts, replace(missing, image="UPPER/x:y"), _nobody)
    assert raised.value.message == (
        "failed to parse image reference: UPPER/x:y: could not parse reference: UPPER/x:y"
    )
    away = replace(missing, image="127.0.0.1:1/app:1")
    error = error_of(RegistryError, verify_cluster_policy, artifacts, away, _nobody)
    assert error.unanswered
    assert error.message.startswith(f"failed to fetch bundles: {away.image}: ")

"""ImageValidatingPolicies from the command to the registry: signed, attested and pinned."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.model import Body
from tests.conformance.image_registry import run_command
from tests.data import from_table
from tests.objects import api_object
from tests.signing import notary
from tests.signing.authority import key_pem, new_key, pem
from tests.signing.bundle import Maker, push_bundle
from tests.signing.cosign import Signer, push
from tests.unit.network.registry.registry_server import Registry, serving

CONFIG: Body = {"architecture": "amd64", "os": "linux", "config": {"User": "65532"}}
BUILT = "https://example.com/built"
KEY, OTHER = new_key(), new_key()
IGNORED: Body = {"insecureIgnoreTlog": True, "insecureIgnoreSCT": True}


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    """`team/key` is signed with a key, `team/bundle` attested in a bundle, `team/notary` signed
    with a certificate and has a signed SBOM, `team/nobody` has nothing."""
    with serving() as made:
        for name in ("key", "bundle", "notary", "nobody"):
            made.add_image(f"team/{name}", "1", {**CONFIG, "author": name})
        digest = digest_of(made, "key")
        push(made, "team/key", digest, [Signer(KEY).signature(digest, {"env": "prod"})])
        digest = digest_of(made, "bundle")
        attested = Maker(Signer(KEY)).attest(digest, BUILT, {"by": "ci"})
        push_bundle(made, "team/bundle", digest, attested)
        digest = digest_of(made, "notary")
        notary.sign_manifest(made, "team/notary", digest, notary.signer())
        layers = [("application/json", b'{"bomFormat": "CycloneDX"}')]
        sbom = notary.attach(made, "team/notary", digest, "sbom/json", layers)
        notary.sign_manifest(made, "team/notary", sbom, notary.signer())
        yield made


def digest_of(registry: Registry, name: str) -> str:
    """The digest of an image."""
    path = f"/v2/team/{name}/manifests/"
    return next(
        one.removeprefix(path) for one in registry.documents if one.startswith(f"{path}sha")
    )


def policy(registry: Registry, *expressions: str, **spec: Any) -> Body:
    """A policy about the images of the registry."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    roots = {"value": pem(notary.signer().chain[-1])}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ImageValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "matchImageReferences": [{"glob": f"{registry.host}/**"}],
            "validationConfigurations": {"mutateDigest": False, "verifyDigest": False},
            "attestors": [
                {"name": "ours", "cosign": {"key": {"data": key_pem(KEY)}, "ctlog": IGNORED}},
                {"name": "theirs", "cosign": {"key": {"data": key_pem(OTHER)}, "ctlog": IGNORED}},
                {"name": "store", "notary": {"certs": roots}},
            ],
            "attestations": [
                {"name": "built", "intoto": {"type": BUILT}},
                {"name": "sbom", "referrer": {"type": "sbom/json"}},
            ],
            "validations": [{"expression": text, "message": "no"} for text in expressions],
            **spec,
        },
    }


def run(folder: Path, asked: Body, command: str, *images: str, offline: bool = False) -> str:
    """What a command writes of a Pod with images."""
    containers = [{"name": f"c{index}", "image": one} for index, one in enumerate(images)]
    subject = api_object("v1", "Pod", "default/a", spec={"containers": containers})
    (folder / "policy.yaml").write_text(yaml.safe_dump(asked))
    (folder / "pod.yaml").write_text(yaml.safe_dump(subject))
    options = ["--detailed", "-o", "json"] if command == "scan" else []
    asks = [] if offline else ["--registry"]
    paths = ["-p", str(folder / "policy.yaml"), str(folder / "pod.yaml")]
    return run_command([command, *paths, *options, *asks])


def result(text: str) -> tuple[str, str, str]:
    """Status, message and reason of the one result."""
    (row,) = json.loads(text)["results"]
    return row["result"], row["message"], row.get("properties", {}).get("verification", "")


def signed(attestor: str) -> str:
    return f"images.containers.all(one, verifyImageSignatures(one, [attestors.{attestor}]) > 0)"


@from_table("name", "attestor", "reason")
def test_image_validating_signatures(
    registry: Registry, tmp_path: Path, name: str, attestor: str, reason: str
) -> None:
    image = f"{registry.host}/team/{name}:1"
    text = run(tmp_path, policy(registry, signed(attestor)), "scan", image)
    status, message, found = result(text)
    if reason:
        assert (status, message) == ("fail", "no")
        assert found.startswith(f"{image}: attestor {attestor}: {reason}")
    else:
        assert (status, message, found) == ("pass", "success", "")


@from_table("name", "attestation", "attestor", "holds")
def test_image_validating_attestations(
    registry: Registry, tmp_path: Path, name: str, attestation: str, attestor: str, holds: str
) -> None:
    image = f"{registry.host}/team/{name}:1"
    which = f"attestations.{attestation}"
    verified = f"verifyAttestationSignatures('{image}', {which}, [attestors.{attestor}]) == 1"
    says = f"extractPayload('{image}', {which}).{holds}"
    assert result(run(tmp_path, policy(registry, verified, says), "scan", image))[0] == "pass"
    asked = policy(registry, verified, says.replace("== '", "== 'not "))
    assert result(run(tmp_path, asked, "scan", image))[:2] == ("fail", "no")


def test_offline_nothing_passes(registry: Registry, tmp_path: Path) -> None:
    image = f"{registry.host}/team/key:1"
    asked = policy(registry, signed("ours"))
    status, message, _ = result(run(tmp_path, asked, "scan", image, offline=True))
    assert status == "error"
    assert message == f"failed to evaluate policy: no registry to verify {image} with"


def test_a_registry_that_wants_a_password(registry: Registry, tmp_path: Path) -> None:
    image = f"{registry.host}/team/key:1"
    registry.password = "it-is-a-secret"
    try:
        text = run(tmp_path, policy(registry, signed("ours")), "scan", image)
    finally:
        registry.password = ""
    status, message, _ = result(text)
    assert status == "error"
    assert "UNAUTHORIZED" in message


def test_digests_are_added_and_shown(registry: Registry, tmp_path: Path) -> None:
    settings = {"validationConfigurations": {"mutateDigest": True}}
    asked = policy(registry, signed("ours"), **settings)
    image = f"{registry.host}/team/key:1"
    pinned = f"{image}@{digest_of(registry, 'key')}"
    assert result(run(tmp_path, asked, "scan", image)) == ("pass", "success", "")
    text = run(tmp_path, asked, "preview", image)
    assert f"image: {pinned}\n" in text
    assert "# by p/mutateDigest" in text
    assert "# 1 mutated, 0 generated, 0 problems" in text
    status, message, _ = result(run(tmp_path, asked, "scan", image, offline=True))
    assert (status, message) == ("fail", f"image {image} does not have a digest")


def test_image_validating_a_digest_that_is_not_to_be_had(
    registry: Registry, tmp_path: Path
) -> None:
    settings = {"validationConfigurations": {"mutateDigest": True}}
    asked = policy(registry, "true", **settings)
    image = f"{registry.host}/team/gone:1"
    text = run(tmp_path, asked, "preview", image)
    problem = f"failed to update digest: failed to resolve digest for image {image}: GET http"
    assert f"# error p/mutateDigest: {problem}" in text

"""Policies that want signatures of the Notary Project, through `chartkit scan --registry`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from chartkit.model import Body
from tests.addons.signatures.test_notary_attestations import SBOM, artifact
from tests.data import tables
from tests.e2e.command import called
from tests.signing import notary as kit
from tests.signing.notary_bench import Bench, plain
from tests.unit.network.registry.registry_server import Registry, serving

IMAGES: Final = ("signed", "unsigned", "strange")
SIGNED, UNSIGNED, STRANGE = IMAGES
FAILED: Final = (
    "image attestations verification failed, verifiedCount: 0, requiredCount: 1, error: "
)
ONLY: Final = tables(__file__)["only"]


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    """Three images: signed and attested, by nobody, by a stranger."""
    with serving() as made:
        for name, holder in ((SIGNED, kit.signer()), (STRANGE, kit.stranger()), (UNSIGNED, None)):
            bench = Bench(made, f"team/{name}")
            artifact(bench, holder)
            if holder is not None:
                bench.sign(holder)
        yield made


def cluster_policy(name: str, **wanted: object) -> Body:
    """A ClusterPolicy with one entry of type Notary."""
    entry = {"type": "Notary", "imageReferences": ["*"], "required": False, "verifyDigest": False}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {
            "name": name,
            "annotations": {"pod-policies.kyverno.io/autogen-controllers": "none"},
        },
        "spec": {
            "background": False,
            "validationFailureAction": "Enforce",
            "rules": [
                {
                    "name": "r",
                    "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                    "verifyImages": [{**entry, "mutateDigest": False, **wanted}],
                }
            ],
        },
    }


def image_policy(expression: str, message: str) -> Body:
    """An ImageValidatingPolicy with one attestor and one attestation."""
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ImageValidatingPolicy",
        "metadata": {"name": "images"},
        "spec": {
            **ONLY,
            "validationConfigurations": {"mutateDigest": False, "verifyDigest": False},
            "matchImageReferences": [{"glob": "*"}],
            "attestors": [{"name": "acme", "notary": {"certs": {"value": kit.root().pem}}}],
            "attestations": [{"name": "sbom", "referrer": {"type": SBOM}}],
            "validations": [{"expression": expression, "message": message}],
        },
    }


def scanned(
    folder: Path, registry: Registry, policies: Sequence[Body]
) -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """Results and messages by policy and Pod."""
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": f"{registry.host}/team/{name}:1"}]},
        }
        for name in IMAGES
    ]
    (folder / "policies.yaml").write_text(yaml.safe_dump_all(policies))
    (folder / "pods.yaml").write_text(yaml.safe_dump_all(pods))
    done = called(folder, "scan", "-p", "policies.yaml", "pods.yaml", "--registry", "-o", "json")
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for one in json.loads(done.out)["results"]:
        of = found.setdefault(one["policy"], {})
        of[one["resource"].rpartition("/")[2]] = (one["result"], one["message"])
    return found


def attestors() -> Any:
    return [{"entries": [{"certificates": {"cert": kit.root().pem}}]}]


def attestation(value: str) -> Any:
    condition = {
        "key": "{{ format }}",
        "operator": "Equals",
        "value": value,
        "message": "{{ format }}",
    }
    return [{"type": SBOM, "attestors": attestors(), "conditions": [{"all": [condition]}]}]


def test_cluster_policies(tmp_path: Path, registry: Registry) -> None:
    policies = [
        cluster_policy("signatures", attestors=attestors()),
        cluster_policy("spdx", attestations=attestation("spdx")),
        cluster_policy("cyclonedx", attestations=attestation("cyclonedx")),
    ]
    found = scanned(tmp_path, registry, policies)
    place = f"{registry.host}/team"
    said = {policy: plain(of[SIGNED][1], f"{place}/{SIGNED}") for policy, of in found.items()}
    assert said == {
        "signatures": "verified image signatures for IMAGE:1",
        "spdx": "verified image attestations for IMAGE@sha256:…",
        "cyclonedx": f"{FAILED}.attestations[0].attestors[0].entries[0]: attestation checks failed "
        f"for IMAGE@sha256:… and predicate {SBOM}: spdx",
    }
    unsigned = (
        'no signature is associated with "IMAGE@sha256:…", make sure the artifact was signed '
        "successfully"
    )
    assert plain(found["signatures"][UNSIGNED][1], f"{place}/{UNSIGNED}") == (
        "failed to verify image IMAGE:1: .attestors[0].entries[0]: failed to verify "
        f"IMAGE@sha256:…: {unsigned}"
    )
    assert plain(found["spdx"][UNSIGNED][1], f"{place}/{UNSIGNED}") == FAILED + unsigned
    results = {policy: [of[name][0] for name in IMAGES] for policy, of in found.items()}
    assert results == {
        "signatures": ["pass", "fail", "fail"],
        "spdx": ["pass", "fail", "fail"],
        "cyclonedx": ["fail", "fail", "fail"],
    }


def test_notary_scan_image_validating_policies(tmp_path: Path, registry: Registry) -> None:
    of = "images.containers.all(image, "
    policies = [
        image_policy(
            f"{of}verifyImageSignatures(image, [attestors.acme]) > 0 && "
            "verifyAttestationSignatures(image, attestations.sbom, [attestors.acme]) > 0 && "
            "extractPayload(image, attestations.sbom).format == 'spdx')",
            "not by Acme",
        )
    ]
    assert scanned(tmp_path, registry, policies)["images"] == {
        SIGNED: ("pass", "success"),
        UNSIGNED: ("fail", "not by Acme"),
        STRANGE: ("fail", "not by Acme"),
    }

"""Recorded cases of ImageValidatingPolicies, against a registry that stands in for the public one.

Their image is signed with Notary and has a signed SBOM; the certificate that they trust is
exchanged for that of who signed here.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.image_registry import (
    SIGNED,
    Case,
    StandIn,
    read_case,
    run_command,
    said_of,
    standing_in,
)
from tests.data import from_table
from tests.shared import shared
from tests.signing import notary
from tests.signing.authority import pem

FOLDER = "conformance/kyverno-cli/test-image-validating-policy"
CASES = ("sample-policy", "with-cel-exceptions")
SBOM = json.dumps({"bomFormat": "CycloneDX"}).encode()


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in() as made:
        registry, digest = made.registry, made.digests["signed"]
        notary.sign_manifest(registry, SIGNED, digest, notary.signer())
        layers = [("application/json", SBOM)]
        sbom = notary.attach(registry, SIGNED, digest, "sbom/cyclone-dx", layers)
        notary.sign_manifest(registry, SIGNED, sbom, notary.signer())
        yield made


def _trusted() -> Mapping[str, str]:
    """The certificate of who signed here, for those of recorded policies."""
    return {"-----BEGIN CERTIFICATE-----": pem(notary.signer().chain[-1])}


def _exceptions(folder: Path) -> tuple[str, ...]:
    listed = yaml.safe_load((folder / "kyverno-test.yaml").read_text("utf-8")).get("exceptions")
    return tuple(word for name in listed or () for word in ("--exceptions", str(folder / name)))


def _said(case: Case, stand_in: StandIn, exchanged: Mapping[str, str], scratch: Path) -> Any:
    options = (*stand_in.options, *_exceptions(case.folder))
    said = said_of(case, exchanged, options, scratch)
    return {key: said.get(key) for key in case.wanted}


@pytest.mark.parametrize("name", CASES)
def test_recorded_image_validating_cases_come_out(
    name: str, stand_in: StandIn, tmp_path: Path
) -> None:
    case = read_case(shared(f"{FOLDER}/{name}"))
    wanted = {key: {result} for key, result in case.wanted.items()}
    assert _said(case, stand_in, _trusted(), tmp_path) == wanted


def test_somebody_elses_certificate_lets_nothing_pass(stand_in: StandIn, tmp_path: Path) -> None:
    case = read_case(shared(f"{FOLDER}/{CASES[0]}"))
    assert set.union(*_said(case, stand_in, {}, tmp_path).values()) == {"fail"}


def _changed(source: Path, target: Path) -> Path:
    """A recorded policy that trusts who signed here."""
    body = yaml.safe_load(source.read_text("utf-8"))
    (certificate,) = _trusted().values()
    for attestor in body["spec"]["attestors"]:
        attestor["notary"]["certs"]["value"] = certificate
    target.write_text(yaml.safe_dump(body))
    return target


@pytest.mark.parametrize(("payload", "wanted"), [("pass", "pass"), ("fail", "fail")])
def test_recorded_payloads(payload: str, wanted: str, stand_in: StandIn, tmp_path: Path) -> None:
    folder = shared(f"{FOLDER}/check-json")
    policy = _changed(folder / "ivpol-json.yaml", tmp_path / "policy.yaml")
    given = str(folder / f"ivpol-payload-{payload}.json")
    words = ["scan", "-o", "json", "--json", given, "-p", str(policy), *stand_in.options]
    (row,) = json.loads(run_command([*words, "--detailed"]))["results"]
    assert row["result"] == wanted


@from_table("environment", "image", "wanted")
def test_the_recorded_policy_that_asks_the_cluster(
    environment: str, image: str, wanted: str, stand_in: StandIn, tmp_path: Path
) -> None:
    folder = shared("conformance/kyverno-cli/test-context-resource-ivpol")
    policy = _changed(folder / "policy.yaml", tmp_path / "policy.yaml")
    beside = yaml.safe_load((folder / ".kyverno-test" / "clusterresources.yaml").read_text())
    digest = stand_in.digests[image]
    containers = [{"name": "c", "image": f"ghcr.io/{SIGNED}@{digest}"}]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default", "labels": {"env": environment}},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    objects = tmp_path / "objects.yaml"
    objects.write_text(yaml.safe_dump_all([*beside["spec"]["resources"], deployment]))
    words = ["scan", "-o", "json", "-p", str(policy), str(objects), *stand_in.options]
    (row,) = json.loads(run_command([*words, "--detailed"]))["results"]
    assert row["result"] == wanted

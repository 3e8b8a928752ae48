"""Converted verifyImages rules: signed images in a registry, admitted and refused as before."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import convert
from chartkit.model import Body, Resource
from tests.addons.signatures.cosign_bench import IDENTITY, ISSUER, Bench
from tests.conformance.image_registry import run_command
from tests.conformance.signed_images import Case, Signed, cases, pod, policy
from tests.signing import notary
from tests.signing.authority import key_pem
from tests.signing.bundle import Instance
from tests.unit.network.registry.registry_server import serving

_REFUSED = {"fail", "error"}
_TYPE = "https://example.com/built"


@pytest.fixture(scope="module")
def signed() -> Iterator[Signed]:
    with serving() as registry:
        yield Signed(registry)


def _refuses(folder: Path, resource: Body, policies: Sequence[Body], *options: str) -> bool:
    (folder / "policies.yaml").write_text(yaml.safe_dump_all(policies))
    (folder / "pod.yaml").write_text(yaml.safe_dump(resource))
    files = ["-p", str(folder / "policies.yaml"), str(folder / "pod.yaml")]
    found = json.loads(run_command(["scan", "-o", "json", "--registry", *options, *files]))
    assert found["results"], found
    return any(row["result"] in _REFUSED for row in found["results"])


def _agrees(folder: Path, case: Case, conversion: Conversion, *options: str) -> bool:
    """Whether both forms refuse a Pod, or both admit it."""
    assert {each["kind"] for each in conversion.documents} == {"ImageValidatingPolicy"}
    before = _refuses(folder, case.pod, [case.policy], *options)
    return before == _refuses(folder, case.pod, conversion.documents, *options)


@pytest.mark.slow
def test_signed_images_are_admitted_as_before(signed: Signed, tmp_path: Path) -> None:
    conversions = {case.name: (case, convert(Resource(case.policy))) for case in cases(signed)}
    complete = {name: pair for name, pair in conversions.items() if pair[1].complete}
    different = [name for name, pair in complete.items() if not _agrees(tmp_path, *pair)]
    assert different == []
    assert len(complete) >= 35
    assert {"key", "unsigned", "two-of-three", "nested-twice", "skipped"} <= set(complete)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with serving() as registry:
        yield Bench(registry)


def _case(name: str, image: str, attestor: Body, **block: object) -> Case:
    entry = {"imageReferences": ["*"], "attestors": [{"entries": [attestor]}], **block}
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "verifyImages": [entry],
    }
    return Case(name, policy("p", rule), pod(image))


def _logged_cases(bench: Bench) -> Iterator[Case]:
    by_person, by_key = bench.signed(bench.keyless.signature), bench.signed(bench.signer.signature)
    exact = {"subject": IDENTITY, "issuer": ISSUER}
    for name, identity in (
        ("identity", exact),
        ("subject", {**exact, "subject": "ops@example.com"}),
        ("wildcards", {"subject": f"*{IDENTITY[3:]}", "issuer": f"{ISSUER[:-2]}*"}),
        ("regexps", {"subjectRegExp": IDENTITY[:4], "issuerRegExp": f"^{ISSUER}$"}),
        ("other-issuer", {"subject": "*", "issuerRegExp": "^http://"}),
    ):
        log = {"rekor": {"url": "https://rekor.sigstore.dev"}}
        yield _case(name, by_person, {"keyless": {**identity, **log}})
    key = {"keys": {"publicKeys": key_pem(bench.key), "ctlog": {"ignoreSCT": True}}}
    other = {"keys": {"publicKeys": key_pem(bench.other), "ctlog": {"ignoreSCT": True}}}
    yield _case("key", by_key, key)
    yield _case("other-key", by_key, other)
    yield _case("key-of-person", by_person, key)
    attested = bench.attested(lambda digest: bench.signer.attestation(digest, _TYPE, {"by": "ci"}))
    for name, type_, attestor, by in (
        ("attestation", _TYPE, key, ""),
        ("other-type", "https://example.com/other", key, ""),
        ("attested-by-other", _TYPE, other, ""),
        ("conditions", _TYPE, key, "c*"),
        ("unmet", _TYPE, key, "me"),
    ):
        attestation: Body = {"type": type_, "attestors": [{"entries": [attestor]}]}
        if by:
            condition = {"key": "{{ by }}", "operator": "Equals", "value": by}
            attestation["conditions"] = [{"all": [condition]}]
        case = _case(name, attested, key, attestations=[attestation])
        del case.policy["spec"]["rules"][0]["verifyImages"][0]["attestors"]
        yield case


def test_signatures_in_logs_are_trusted_as_before(bench: Bench, tmp_path: Path) -> None:
    root = tmp_path / "trusted_root.json"
    root.write_text(Instance((bench.between,), (bench.log,), (bench.certificates,)).root)
    options = ("--trusted-root", str(root))
    refused = set()
    for case in _logged_cases(bench):
        conversion = convert(Resource(case.policy))
        assert conversion.complete, (case.name, conversion.outcomes)
        assert _agrees(tmp_path, case, conversion, *options), case.name
        if _refuses(tmp_path, case.pod, [case.policy], *options):
            refused.add(case.name)
    assert {"subject", "other-issuer", "other-key", "attested-by-other", "other-type"} <= refused
    assert "unmet" in refused
    allowed = {"identity", "wildcards", "regexps", "key", "attestation", "conditions"}
    assert refused.isdisjoint(allowed)


def test_signatures_of_the_notary_project_are_trusted_as_before(tmp_path: Path) -> None:
    with serving() as registry:
        config = {"architecture": "amd64", "os": "linux"}
        digests = {
            name: registry.add_image(f"team/{name}", "1", {**config, "author": name})
            for name in ("signed", "unsigned")
        }
        notary.sign_manifest(registry, "team/signed", digests["signed"], notary.signer())
        certificates = {"cert": notary.signer().pem}
        for name in digests:
            image = f"{registry.host}/team/{name}:1"
            case = _case(name, image, {"certificates": certificates}, type="Notary")
            conversion = convert(Resource(case.policy))
            assert conversion.complete
            assert _agrees(tmp_path, case, conversion)
            assert _refuses(tmp_path, case.pod, [case.policy]) is (name == "unsigned")

"""Notary as ImageValidatingPolicies ask for it; how many attestors Kyverno's own program counts
stands beside each case."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Final

import pytest

from chartkit.addons.signatures import notary
from chartkit.engine.ports.signatures import SignatureError
from chartkit.errors import LookupFailed
from chartkit.model import Body
from tests.addons.signatures.test_notary_attestations import CASES as ATTESTED
from tests.addons.signatures.test_notary_attestations import SBOM, artifact
from tests.errors import error_of
from tests.signing import notary as kit
from tests.signing.authority import NOW, YEAR, pem
from tests.signing.notary_bench import (
    OCSP,
    Bench,
    asked,
    by,
    crowded,
    layered,
    many,
    nobody,
    packed,
    plain,
    read_answers,
)
from tests.signing.tsa import Stamp, TimestampServer, timestamp_server
from tests.unit.network.registry.registry_server import INDEX, Registry, serving

HOUR: Final = timedelta(hours=1)
THEN: Final = NOW - timedelta(days=2)
Build = Callable[[Bench], object]


@cache
def clock() -> TimestampServer:
    return timestamp_server()


@cache
def strange_clock() -> TimestampServer:
    return timestamp_server()


@cache
def careless_clock() -> TimestampServer:
    """Whose certificate does not insist on what it is for."""
    return timestamp_server(critical=False)


@cache
def past() -> kit.Holder:
    """Whose certificate is over."""
    return kit.certify("signer", kit.intermediate(), kit.Wish(start=NOW - YEAR, end=NOW - HOUR))


def root_of_clocks() -> str:
    return pem(clock().certificates[-1])


@dataclass(frozen=True, slots=True)
class Case:
    """build: hangs signatures on a bench's image; clocks: PEM of `tsaCerts`; why: what is said
    where nothing is counted, part of it."""

    build: Build
    clocks: Callable[[], str] = str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Stamping:
    """How a time stamp departs from a sound one."""

    at: datetime = THEN
    by: Callable[[], TimestampServer] = clock
    message: bytes | None = None
    digest: str = "sha256"
    accuracy: int | None = None
    is_cose: bool = field(default=False)

    def __call__(self, bench: Bench) -> None:
        """Signs with a certificate that is over, and has it stamped."""
        stamp = Stamp(at=self.at, digest=self.digest, accuracy=self.accuracy)

        def countersign(signature: bytes) -> bytes:
            return self.by().token(self.message or signature, stamp)

        bench.sign(past(), kit.Signing(at=THEN, stamp=countersign), is_cose=self.is_cose)


def unstamped(bench: Bench) -> None:
    bench.sign(past(), kit.Signing(at=THEN))


def with_garbage(bench: Bench) -> None:
    bench.sign(past(), kit.Signing(at=THEN, stamp=lambda _: b"x"))


CASES: Final[dict[str, Case]] = {
    "plain": Case(by(kit.signer)),
    "cose": Case(by(kit.signer, is_cose=True)),
    "packed": Case(packed),
    "tenth-is-good": Case(many(good=1, bad=9)),
    "unsigned": Case(nobody, why="no signature is associated with"),
    "stranger": Case(by(kit.stranger), why="does not contain any trusted certificate"),
    "ten-strangers": Case(many(good=0, bad=10), why="The configured limit of 10 signatures"),
    "two-layers": Case(layered(2), why="must have only one layer"),
    "fifty-one": Case(crowded(50), why="to many referrers found, max limit is 50"),
    "no-stamp": Case(by(kit.signer), root_of_clocks, "no timestamp countersignature was found"),
    "over": Case(unstamped, why="verification time is after certificate"),
    "stamped": Case(Stamping(), root_of_clocks),
    "stamped-cose": Case(Stamping(is_cose=True), root_of_clocks),
    "stamped-sha384": Case(Stamping(digest="sha384"), root_of_clocks),
    "stamped-no-clock": Case(Stamping(), why="verification time is after certificate"),
    "clock-with-chain": Case(
        Stamping(), lambda: clock().chain_pem, "invalid self-signed certificate"
    ),
    "clock-between-and-root": Case(
        Stamping(), lambda: pem(*clock().certificates[1:]), "is invalid or not self-signed"
    ),
    "clock-between": Case(
        Stamping(), lambda: pem(clock().certificates[1]), "failed to verify the timestamp"
    ),
    "stamped-late": Case(Stamping(at=NOW), root_of_clocks, "timestamp can be after certificate"),
    "stamped-early": Case(
        Stamping(at=NOW - 2 * YEAR + HOUR), root_of_clocks, "failed to verify the timestamp"
    ),
    "stamped-perhaps-late": Case(
        Stamping(at=NOW - HOUR - timedelta(seconds=5), accuracy=10),
        root_of_clocks,
        "timestamp can be after certificate",
    ),
    "stamped-just-in-time": Case(
        Stamping(at=NOW - HOUR - timedelta(seconds=15), accuracy=10), root_of_clocks
    ),
    "stamped-by-stranger": Case(
        Stamping(by=strange_clock), root_of_clocks, "failed to verify the timestamp"
    ),
    "stamped-other": Case(Stamping(message=b"x"), root_of_clocks, "failed to verify the timestamp"),
    "stamped-sha1": Case(Stamping(digest="sha1"), root_of_clocks, "weak hash algorithm"),
    "stamped-carelessly": Case(
        Stamping(by=careless_clock), lambda: pem(careless_clock().certificates[-1]), "critical"
    ),
    "stamped-garbage": Case(with_garbage, root_of_clocks, "failed to verify the timestamp"),
}
ANSWERS: Final = read_answers("counts")


def attestor(clocks: str = "") -> Body:
    """An entry of `spec.attestors`."""
    given = {"tsaCerts": {"value": clocks}} if clocks else {}
    return {"name": "acme", "notary": {"certs": {"value": kit.root().pem}, **given}}


def attestation(kind: str) -> Body:
    """An entry of `spec.attestations`."""
    return {"name": "sbom", "referrer": {"type": kind}}


def prepared(registry: Registry, name: str, build: Build) -> str:
    """The reference of a case's image."""
    bench = Bench(registry, f"team/{name}")
    digest = bench.image()["digest"]
    build(bench)
    return f"{registry.host}/{bench.repository}@{digest}"


@pytest.mark.parametrize("name", CASES)
def test_signatures_count_as_with_kyverno(name: str, registry: Registry) -> None:
    case = CASES[name]
    image = prepared(registry, name, case.build)
    assert ANSWERS[name] == ("0" if case.why else "1")
    if not case.why:
        notary.signed(asked(), image, attestor(case.clocks()))
        return
    with pytest.raises(SignatureError, match=case.why):
        notary.signed(asked(), image, attestor(case.clocks()))


NOT_COUNTED: Final = {
    "nothing": "attestation verification failed, no attestations found for type: sbom/example",
    "other-type": "attestation verification failed, no attestations found for type: sbom/other",
    "part-of-type": "attestation verification failed, no attestations found for type: sbom",
    "unsigned": "failed to verify attestation sbom/example, digest sha256:…: no signature is "
    'associated with "IMAGE@sha256:…", make sure the artifact was signed successfully',
    "stranger": "failed to verify attestation sbom/example, digest sha256:…: signature "
    "verification failed\nfailed to verify signature with digest sha256:…, the signature's "
    "certificate chain does not contain any trusted certificate",
    "fifty-one": "failed to fetch referrers: failed to fetch referrers: to many referrers found, "
    "max limit is 50",
    "signatures-wanted": "failed to verify attestation application/vnd.cncf.notary.signature, "
    'digest sha256:…: no signature is associated with "IMAGE@sha256:…", make sure the artifact was '
    "signed successfully",
}
PAYLOADS: Final = {
    **{
        name: {"format": "spdx"}
        for name in ("signed", "packed", "among-others", "own-members", "own-type")
    },
    "first-unsigned": {"number": 1},
    "first-signed": {"number": 0},
    "array": [],
}
"""What is attested; of all others it is not JSON, or not to be had."""


@pytest.mark.parametrize("name", ATTESTED)
def test_attestations_count_as_with_kyverno(name: str, registry: Registry) -> None:
    case = ATTESTED[name]
    image = prepared(registry, f"attested-{name}", case.build)
    wanted = attestation(case.wanted)
    assert ANSWERS[f"attested-{name}"] == ("0" if name in NOT_COUNTED else "1")
    if name not in NOT_COUNTED:
        assert notary.attested(asked(), image, wanted, attestor()) == PAYLOADS.get(name)
        return
    error = error_of(SignatureError, notary.attested, asked(), image, wanted, attestor())
    assert plain(error.message, image.partition("@")[0]) == NOT_COUNTED[name]


def test_payload_is_that_of_the_first_artifact_whoever_made_it(registry: Registry) -> None:
    image = prepared(registry, "payload", lambda bench: artifact(bench))
    assert notary.payload(asked(), image, SBOM) == {"format": "spdx"}
    with pytest.raises(SignatureError, match="artifact of type other not found"):
        notary.payload(asked(), image, "other")


def test_payload_of_two_layers_is_refused(registry: Registry) -> None:
    image = prepared(registry, "two", lambda bench: artifact(bench, contents=[b"{}", b"[]"]))
    with pytest.raises(SignatureError, match="must have only one layer"):
        notary.payload(asked(), image, SBOM)


def test_payload_that_is_no_json_is_none(registry: Registry) -> None:
    image = prepared(registry, "no-json", lambda bench: artifact(bench, contents=[b"x"]))
    assert notary.payload(asked(), image, SBOM) is None


def test_in_toto_statements_are_not_notary_s(registry: Registry) -> None:
    image = prepared(registry, "in-toto", nobody)
    with pytest.raises(SignatureError, match="notary verifier only supports oci"):
        notary.attested(asked(), image, {"name": "x", "intoto": {"type": "y"}}, attestor())


def test_an_index_is_signed_itself(registry: Registry) -> None:
    bench = Bench(registry, "team/index")
    body = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [bench.image()]}
    digest = registry.add(bench.repository, "many", INDEX, body)
    kit.sign_manifest(registry, bench.repository, digest, kit.signer())
    notary.signed(asked(), f"{registry.host}/{bench.repository}:many", attestor())


def test_a_registry_by_tags_lists_signatures_too() -> None:
    with serving() as registry:
        registry.has_referrers = False
        image = prepared(registry, "tags", by(kit.signer))
        notary.signed(asked(), image, attestor())


@pytest.mark.parametrize("certs", ["x", kit.root().pem[:200]])
def test_certificates_that_are_none_are_refused(certs: str, registry: Registry) -> None:
    image = prepared(registry, "no-certificates", by(kit.signer))
    with pytest.raises(SignatureError, match="failed to setup notation verification data: "):
        notary.signed(asked(), image, {"notary": {"certs": {"value": certs}}})


def test_what_was_revoked_is_not_known(registry: Registry) -> None:
    wish = kit.Wish(further=(OCSP,))
    image = prepared(
        registry, "revoked", by(lambda: kit.certify("signer", kit.intermediate(), wish))
    )
    with pytest.raises(LookupFailed, match="revocation status is unknown") as caught:
        notary.signed(asked(), image, attestor())
    assert not isinstance(caught.value, SignatureError)


def test_a_registry_that_is_gone_is_no_verdict() -> None:
    with serving() as registry:
        image = prepared(registry, "gone", by(kit.signer))
        artifacts = asked()
        artifacts.resolve(image)
    error = error_of(LookupFailed, notary.signed, artifacts, image, attestor())
    assert not isinstance(error, SignatureError)


def test_what_kyverno_counts_is_known_of_every_case() -> None:
    assert ANSWERS.keys() == {*CASES, *(f"attested-{name}" for name in ATTESTED)}

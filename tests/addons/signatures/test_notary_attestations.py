"""What was attested by artifacts that refer to an image, for ClusterPolicies; beside each case
stands what Kyverno's own program said of it."""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from chartkit.addons.signatures import notary
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.model import Body, Json
from tests.signing import notary as kit
from tests.signing.notary_bench import Bench, asked, plain, read_answers
from tests.unit.network.registry.registry_server import MANIFEST, Registry

SBOM: Final = "sbom/example"
CONTENT: Final = b'{"format":"spdx"}'
LAYER: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Case:
    """build: hangs artifacts on a bench's image; predicate: what is attested; wanted: artifact
    type."""

    build: Callable[[Bench], object]
    predicate: Json = None
    wanted: str = SBOM


def artifact(
    bench: Bench,
    holder: kit.Holder | None = None,
    kind: str = SBOM,
    contents: Sequence[bytes] = (CONTENT,),
) -> str:
    """An artifact of the image, signed by somebody or nobody; gives its digest."""
    image = bench.image()["digest"]
    layers = [(LAYER, content) for content in contents]
    digest = kit.attach(bench.registry, bench.repository, image, kind, layers)
    if holder is not None:
        kit.sign_manifest(bench.registry, bench.repository, digest, holder)
    return digest


def holding(*contents: bytes) -> Callable[[Bench], object]:
    return lambda bench: artifact(bench, kit.signer(), contents=contents)


def both(*holders: kit.Holder | None) -> Callable[[Bench], object]:
    """Several artifacts of the type, of different contents."""

    def build(bench: Bench) -> None:
        for number, holder in enumerate(holders):
            artifact(bench, holder, contents=[b'{"number":%d}' % number])

    return build


def written(changes: Body) -> Callable[[Bench], object]:
    """A signed artifact whose manifest has other members."""

    def build(bench: Bench) -> None:
        registry, place = bench.registry, bench.repository
        image = bench.image()["digest"]
        body = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "layers": [registry.add_blob(place, CONTENT, LAYER)],
            **changes,
        }
        digest = registry.add(place, "", MANIFEST, body)
        listed = {**registry.descriptor(place, digest), "artifactType": SBOM}
        registry.list_referrers(place, image, [listed])
        kit.sign_manifest(registry, place, digest, kit.signer())

    return build


def without(kind: str) -> Callable[[Bench], object]:
    """A signed artifact whose manifest or blob is gone."""

    def build(bench: Bench) -> None:
        digest = artifact(bench, kit.signer())
        documents = bench.registry.documents
        manifest = json.loads(documents[f"/v2/{bench.repository}/manifests/{digest}"][1])
        gone = digest if kind == "manifests" else manifest["layers"][0]["digest"]
        del documents[f"/v2/{bench.repository}/{kind}/{gone}"]

    return build


def crowded(bench: Bench) -> None:
    image = bench.image()
    artifact(bench, kit.signer())
    listed = bench.registry.referrers(bench.repository, image["digest"])
    listed += [{**image, "artifactType": f"example/{number}"} for number in range(50)]
    bench.registry.list_referrers(bench.repository, image["digest"], listed)


CASES: Final[dict[str, Case]] = {
    "signed": Case(holding(CONTENT), predicate={"format": "spdx"}),
    "packed": Case(holding(gzip.compress(CONTENT)), predicate={"format": "spdx"}),
    "among-others": Case(
        lambda bench: [artifact(bench, kind="other"), artifact(bench, kit.signer())],
        predicate={"format": "spdx"},
    ),
    "nothing": Case(lambda _: None),
    "other-type": Case(holding(CONTENT), wanted="sbom/other"),
    "part-of-type": Case(holding(CONTENT), wanted="sbom"),
    "unsigned": Case(artifact),
    "stranger": Case(lambda bench: artifact(bench, kit.stranger())),
    "first-unsigned": Case(both(None, kit.signer())),
    "first-signed": Case(both(kit.signer(), None), predicate={"number": 0}),
    "no-json": Case(holding(b"x")),
    "empty": Case(holding(b"")),
    "array": Case(holding(b"[]")),
    "two-layers": Case(holding(CONTENT, CONTENT)),
    "no-layers": Case(holding()),
    "own-members": Case(written({"type": SBOM, "predicate": {"own": 1}}), predicate={"own": 1}),
    "own-type": Case(written({"type": "other"}), predicate={"format": "spdx"}),
    "too-large": Case(
        written(
            {"layers": [{"mediaType": LAYER, "size": 10_000_001, "digest": "sha256:" + "0" * 64}]}
        )
    ),
    "no-manifest": Case(without("manifests")),
    "no-blob": Case(without("blobs")),
    "fifty-one": Case(crowded),
    "signatures-wanted": Case(lambda bench: bench.sign(kit.signer()), wanted=kit.SIGNATURE),
}


ANSWERS: Final = read_answers("attestations")
OWN_WORDS: Final = {
    "no-layers": ("{Versioned", "the manifest sha256:… has no layers"),
    "two-layers": ("{Versioned", "the manifest sha256:… has 2"),
}
"""Where Kyverno prints a Go value: from where on, and what is said here."""
LATER: Final = frozenset({"own-type"})
"""Statements that the rule itself refuses, which is not asked here."""


def question(registry: Registry, name: str, case: Case, trusted: str) -> VerificationRequest:
    bench = Bench(registry, f"team/{name}")
    bench.image()
    case.build(bench)
    reference = f"{registry.host}/{bench.repository}:1"
    return VerificationRequest(
        reference, kind="Notary", cert=trusted, type=case.wanted, attestations=True
    )


@pytest.mark.parametrize("name", CASES)
def test_attestations_are_judged_as_by_kyverno(name: str, registry: Registry) -> None:
    case = CASES[name]
    asking = question(registry, name, case, kit.root().pem)
    if not ANSWERS[name] or name in LATER:
        found = notary.fetch_attestations(asked(), asking)
        statement = found.statements[0]
        assert (statement["predicate"], statement["schemaVersion"]) == (case.predicate, 2)
        assert statement["type"] == ("other" if name in LATER else SBOM)
        assert found.digest == Bench(registry, f"team/{name}").image()["digest"]
        return
    with pytest.raises(SignatureError) as caught:
        notary.fetch_attestations(asked(), asking)
    said = plain(caught.value.message, asking.image.removesuffix(":1"))
    theirs, own = OWN_WORDS.get(name, ("", ""))
    assert said == (ANSWERS[name].partition(theirs)[0] + own if theirs else ANSWERS[name])


def test_nobody_has_to_sign_an_artifact_where_no_certificate_is_given(registry: Registry) -> None:
    asking = question(registry, "anybody", Case(artifact), "")
    assert notary.fetch_attestations(asked(), asking).statements[0]["predicate"] == {
        "format": "spdx"
    }


def test_kyvernos_answer_is_known_for_every_case_of_notary_attestations() -> None:
    assert ANSWERS.keys() == CASES.keys()

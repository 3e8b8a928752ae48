"""ImageValidatingPolicy: who vouches for images, and what is attested of them."""

from dataclasses import replace
from typing import Any

import pytest

from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.world import UNASKED, Credentials
from chartkit.engine.request import Phase, Request
from chartkit.engine.responses import respond
from chartkit.model import Body, Resource, RuleResult
from tests.data import from_table
from tests.unit.engine.cel_policies.policies import (
    PODS,
    conditions,
    deployment,
    exception,
    pod,
    policy,
    results,
    said,
    variables,
)
from tests.unit.engine.cel_policies.signed_images import DIGEST, Images, Signers, world

APP, OTHER = "ghcr.io/a/app:1", "ghcr.io/a/other:1"
COSIGN: Body = {"key": {"data": "-----BEGIN"}}
ATTESTORS: list[Body] = [
    {"name": "ci", "cosign": COSIGN},
    {"name": "release", "cosign": COSIGN},
    {"name": "notary", "notary": {"certs": {"value": "-----BEGIN"}}},
]
ATTESTATIONS: list[Body] = [
    {"name": "built", "intoto": {"type": "https://example.com/built"}},
    {"name": "sbom", "intoto": {"type": "spdxjson"}},
    {"name": "scan", "referrer": {"type": "scan/json"}},
]
SIGNERS = Signers(
    {APP: ["ci", "notary"]},
    {
        (APP, "https://example.com/built", "ci"): {"predicate": {"by": "ci"}, "n": 5},
        (APP, "spdxjson", "ci"): {"name": "x"},
        (APP, "scan/json", "notary"): {"high": 0},
        (APP, "scan/json", ""): {"high": 9},
        (OTHER, "scan/json", ""): None,
    },
)
LOOSE = {"verifyDigest": False, "required": False, "mutateDigest": False}
NEEDED = {"verifyDigest": False, "mutateDigest": False}


def about_images(*expressions: str, **spec: Any) -> Resource:
    """A policy about images of `ghcr.io/a`."""
    spec.setdefault("autogen", {"podControllers": {"controllers": []}})
    spec.setdefault("validationConfigurations", LOOSE)
    spec.setdefault("attestors", ATTESTORS)
    return policy(
        "ImageValidatingPolicy",
        matchImageReferences=[{"glob": "ghcr.io/a/*"}],
        attestations=ATTESTATIONS,
        validations=[{"expression": text, "message": "no"} for text in expressions],
        **spec,
    )


def images(*names: str) -> Resource:
    containers = [{"name": f"c{index}", "image": one} for index, one in enumerate(names)]
    return pod(spec={"containers": containers})


def shown(expression: str, image: str = APP, **given: Any) -> tuple[str, str]:
    """What a text of an expression comes to, or its failure."""
    asked = about_images("false", **given)
    asked.body["spec"]["validations"] = [{"expression": "false", "messageExpression": expression}]
    return said(asked, images(image), world=world(SIGNERS))


def failure(text: str) -> str:
    return f"failed to evaluate message expression: {text}"


@from_table("listed", "count")
def test_how_many_have_signed(listed: str, count: str) -> None:
    assert shown(f"string(verifyImageSignatures('{APP}', {listed}))") == ("fail", count)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("string(verifyImageSignatures('nginx:1', [attestors.ci]))", "0"),
        ("string(verifyAttestationSignatures('nginx:1', 'nope', [attestors.ci]))", "0"),
        (
            "string(verifyAttestationSignatures('ghcr.io/a/app:1', 'nope', [attestors.ci]))",
            failure("attestation not found in policy: nope"),
        ),
        (
            "string(verifyImageSignatures('ghcr.io/a/gone:1', []))",
            failure(
                "failed to get imagedata: GET ghcr.io/a/gone:1: MANIFEST_UNKNOWN: manifest unknown"
            ),
        ),
        (
            "string(verifyImageSignatures('ghcr.io/a/app:1', ['ci']))",
            failure("unsupported native conversion from string to 'v1alpha1.Attestor'"),
        ),
        (
            "string(verifyImageSignatures('ghcr.io/a/app:1', [1]))",
            failure("unsupported type conversion from 'int' to v1alpha1.Attestor"),
        ),
        (
            "string(verifyImageSignatures('ghcr.io/a/app:1', [{'notary': {}}]))",
            failure("an attestor is not written in an expression: name it in spec.attestors"),
        ),
        ("attestors.nope == 1 ? '' : ''", failure("no such key: nope")),
        ("string(attestors.ci.name)", failure("no such key: name")),
        ("string(attestors.ci == attestors.release)", "false"),
        ("string(attestors.ci == 1)", failure("no such overload")),
        ("string('ci' in attestors)", failure("no such overload")),
        (
            "string(verifyImageSignatures('ghcr.io/a/app:1', [{1: 'ci'}]))",
            failure("type conversion error, no such field '1' in type 'v1alpha1.Attestor'"),
        ),
        (
            "string(verifyImageSignatures('ghcr.io/a/app:1', [{'name': 1}]))",
            failure("unsupported type conversion from 'int' to string"),
        ),
        (
            "string(type(attestors.ci) == int)",
            failure("type conversion error from 'imageverify.attestor' to 'type'"),
        ),
        ("string(attestors.ci)", failure("no such overload: string(imageverify.attestor)")),
        (
            "string(verifyImageSignatures('ghcr.io/a/app:1', [{'named': 'ci'}]))",
            failure("type conversion error, no such field 'Named' in type 'v1alpha1.Attestor'"),
        ),
        ("string(has(attestors.ci)) + string(has(attestors.nope))", "truefalse"),
        (
            "string(getImageData('ghcr.io/a/gone:1').Digest)",
            failure(
                "failed to get imagedata: GET ghcr.io/a/gone:1: MANIFEST_UNKNOWN: manifest unknown"
            ),
        ),
        ("string(getImageData('ghcr.io/a/app:1').ConfigData.Config.User)", "65532"),
        ("string(getImageData('ghcr.io/a/app:1').digest)", failure("no such field: digest")),
    ],
)
def test_what_is_asked_wrongly(expression: str, message: str) -> None:
    assert shown(expression) == ("fail", message)


REASON = f"{APP}: attestor release: no signatures found"
VERIFIED = "verifyAttestationSignatures('ghcr.io/a/app:1', '{}', [attestors.{}])"


@pytest.mark.parametrize(
    ("name", "attestor", "path", "message"),
    [
        ("built", "ci", "predicate.by", "ci"),
        ("built", "release", "predicate.by", "0"),
        ("scan", "notary", "high", "0"),
        (
            "sbom",
            "ci",
            "name",
            failure(
                "failed to get payload: intoto attestation payload cannot be fetch before "
                "verifying intoto attestation"
            ),
        ),
        (
            "built",
            "notary",
            "n",
            failure("notary verifier only supports oci 1.1 referrers as attestations"),
        ),
        ("scan", "ci", "high", "0"),
    ],
)
def test_what_is_attested(name: str, attestor: str, path: str, message: str) -> None:
    payload = f"string(extractPayload('{APP}', attestations.{name}).{path})"
    assert shown(f"{VERIFIED.format(name, attestor)} > 0 ? {payload} : '0'") == ("fail", message)


@pytest.mark.parametrize(
    ("image", "name", "message"),
    [
        (
            APP,
            "built",
            failure(
                "failed to get payload: intoto attestation payload cannot be fetch before "
                "verifying intoto attestation"
            ),
        ),
        (APP, "scan", "9"),
        (
            OTHER,
            "scan",
            failure("failed to get payload: failed to unmarshal json for attestation scan"),
        ),
        (OTHER, "nope", failure("attestation not found in policy: nope")),
    ],
)
def test_what_nobody_verified(image: str, name: str, message: str) -> None:
    assert shown(f"string(extractPayload('{image}', '{name}').high)") == ("fail", message)


def test_numbers_of_a_payload_are_doubles() -> None:
    payload = f"type(extractPayload('{APP}', 'built').n) == double"
    assert shown(f"{VERIFIED.format('built', 'ci')} == 1 && {payload} ? 'yes' : 'no'")[1] == "yes"


def _computed(path: str, text: str) -> list[Body]:
    first, *inner, last = path.split(".")
    part: Body = {last: {"expression": text}}
    for step in reversed(inner):
        part = {step: part}
    return [{"name": "ci", first: part}]


@from_table("path", "field", "what")
def test_texts_of_attestors_that_expressions_give(path: str, field: str, what: str) -> None:
    signers = Signers({APP: ["ci"]})
    own = variables(text="object.metadata.name")
    checked = f"verifyImageSignatures('{APP}', [attestors.ci]) == 1"
    asked = about_images(
        checked, checked, attestors=_computed(path, "variables.text"), variables=own
    )
    assert said(asked, images(APP), world=world(signers)) == ("pass", "success")
    value: Any = signers.attestors[0]
    for step in path.split("."):
        value = value[step]
    assert value == {"expression": "variables.text", field: "web"}
    around = (
        f"failed to evaluate policy: failed to convert {what} in compiled attestor: ci, error: "
    )
    asked = about_images(checked, attestors=_computed(path, "object.nope"))
    assert said(asked, images(APP), world=world(signers)) == (
        "error",
        f"{around}failed to evaluate compiled attestor: ci, error: no such key: nope",
    )
    asked = about_images(checked, attestors=_computed(path, "1"))
    assert said(asked, images(APP), world=world(signers)) == (
        "error",
        f"{around}failed to convert expression in compiled attestor: ci, error: "
        "unsupported type conversion from 'int' to string",
    )


def test_why_an_attestor_does_not_vouch() -> None:
    asked = about_images(
        "images.containers.all(i, verifyImageSignatures(i, [attestors.release]) > 0)"
    )
    (found,) = results(asked, images(APP), world=world(SIGNERS))
    assert (found.status.value, found.message) == ("fail", "no")
    assert found.properties == {"verification": REASON}


def test_reasons_of_what_is_required() -> None:
    text = "images.containers.all(i, verifyImageSignatures(i, [attestors.release]) >= 0)"
    for settings, said_of_it in ((LOOSE, {}), (NEEDED, {"verification": REASON})):
        asked = about_images(text, validationConfigurations=settings)
        (found,) = results(asked, images(APP), world=world(SIGNERS))
        assert found.properties == said_of_it


def test_a_question_that_is_not_answered_is_an_error() -> None:
    asked = about_images("images.containers.all(i, verifyImageSignatures(i, [attestors.ci]) == 0)")
    text = f"failed to evaluate policy: failed to verify image {APP}: connection refused"
    assert said(asked, images(APP), world=world(Signers(broken=True))) == ("error", text)
    status, text = said(asked, images(APP))
    assert (status, text) == (
        "error",
        f"failed to evaluate policy: no registry to verify {APP} with",
    )
    nobody = replace(world(SIGNERS), signatures=UNASKED)
    status, text = said(asked, images(APP), world=nobody)
    assert status == "error"
    assert f"no registry to verify {APP} with" in text


def test_all_images_are_fetched_first() -> None:
    registry = Images()
    asked = about_images("true", credentials={"secrets": ["pull"], "providers": ["google"]})
    subject = images(APP, "nginx:1", "ghcr.io/a/gone:1")
    assert said(asked, subject, world=world(SIGNERS, registry)) == (
        "error",
        "failed to evaluate policy: GET ghcr.io/a/gone:1: MANIFEST_UNKNOWN: manifest unknown",
    )
    whom = Credentials(("google",), ("pull",))
    assert registry.asked == [(APP, whom), ("ghcr.io/a/gone:1", whom)]


def several(
    policies: list[Resource], subject: Resource, signers: Signers = SIGNERS, **request: Any
) -> list[RuleResult]:
    compiled = [compile_cel_policy(one) for one in policies]
    return evaluate(compiled, Request(subject, **request), world(signers))


CHECKS = "images.containers.all(i, verifyImageSignatures(i, [attestors.ci]) >= 0)"


def required(name: str, *expressions: str, **spec: Any) -> Resource:
    spec.setdefault("validationConfigurations", NEEDED)
    made = about_images(*expressions, **spec)
    made.body["metadata"]["name"] = name
    return made


def test_what_is_required_is_settled_when_all_were_asked() -> None:
    first, last = required("first", "true"), required("last", CHECKS)
    for policies in ([first, last], [last, first]):
        assert [one.message for one in several(policies, images(APP))] == ["success", "success"]
    refused = f"image {OTHER} failed signature or attestation verification"
    found = several([first, last], images(APP, OTHER))
    assert [(one.status.value, one.message) for one in found] == [("fail", refused)] * 2
    unchecked = (
        f"image {APP} is not verified: no policy performed a signature or attestation check on it"
    )
    assert [one.message for one in several([first], images(APP))] == [unchecked]
    one = required("no-attestors", "verifyImageSignatures(images.containers[0], []) == 0")
    assert [one.message for one in several([one], images(APP))] == [unchecked]


@pytest.mark.parametrize(
    "alone",
    [
        {"matchConditions": conditions("true")},
        {"webhookConfiguration": {"timeoutSeconds": 5}},
        {"matchConstraints": {**PODS, "matchPolicy": "Exact"}},
    ],
)
def test_a_policy_that_a_cluster_asks_by_itself_sees_its_own_evidence(alone: Body) -> None:
    found = several([required("first", "true"), required("last", CHECKS, **alone)], images(APP))
    assert [one.status.value for one in found] == ["fail", "pass"]


def test_conditions_that_only_kyverno_knows_keep_nobody_apart() -> None:
    known = conditions("image('nginx:1').tag() == '1'")
    found = several(
        [required("first", "true"), required("last", CHECKS, matchConditions=known)], images(APP)
    )
    assert [one.status.value for one in found] == ["pass", "pass"]


def test_what_is_required_of_a_policy_that_is_not_scored() -> None:
    asked = required("first", "true")
    asked.body["metadata"]["annotations"] = {"policies.kyverno.io/scored": "false"}
    assert [one.status.value for one in several([asked], images(APP))] == ["warn"]


def test_one_policy_says_what_another_verified() -> None:
    verifies = required("verifies", f"{VERIFIED.format('built', 'ci')} == 1")
    reads = required("reads", f"extractPayload('{APP}', attestations.built).predicate.by == 'ci'")
    found = several([verifies, reads], images(APP))
    assert [one.message for one in found] == ["success", "success"]


def test_any_json() -> None:
    found = [{"name": "bar", "expression": "[object.foo]"}]
    asked = required(
        "p",
        "images.bar.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)",
        evaluation={"mode": "JSON"},
        images=found,
        matchConstraints=None,
    )
    for image, status in ((APP, "pass"), (OTHER, "fail")):
        (result,) = several([asked], Resource({"foo": image}), is_json=True)
        assert result.status.value == status


def test_pod_controllers_and_exceptions() -> None:
    asked = about_images(
        "images.containers.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)", autogen={}
    )
    subject = deployment()
    subject.body["spec"]["template"]["spec"]["containers"][0]["image"] = OTHER
    assert said(asked, subject, world=world(SIGNERS)) == ("fail", "no")
    given = exception(kind="ImageValidatingPolicy")
    assert said(asked, images(OTHER), exceptions=[given], world=world(SIGNERS))[0] == "skip"


PINS = {"required": False}


def test_digests_are_added_before_they_are_verified() -> None:
    asked = about_images(f"images.containers == ['{APP}@{DIGEST}']", validationConfigurations=PINS)
    subject = images(APP, "nginx:1")
    (result,) = results(asked, subject, world=world(SIGNERS))
    assert (result.status.value, result.message) == ("pass", "success")
    made = respond([compile_cel_policy(asked)], Request(subject), world(SIGNERS))
    (pinned,) = [one for one in made if one.phase is Phase.IMAGES and one.results]
    assert [one["image"] for one in pinned.patched.body["spec"]["containers"]] == [
        f"{APP}@{DIGEST}",
        "nginx:1",
    ]
    assert pinned.results[0].rule == "mutateDigest"
    assert subject.body["spec"]["containers"][0]["image"] == APP


def test_image_signatures_a_digest_that_is_not_to_be_had() -> None:
    asked = about_images("true", validationConfigurations=PINS)
    missing = "failed to resolve digest for image ghcr.io/a/gone:1: GET ghcr.io/a/gone:1: "
    first, second = results(asked, images(APP, "ghcr.io/a/gone:1"), world=world(SIGNERS))
    assert (first.rule, first.status.value) == ("mutateDigest", "error")
    assert first.message == (
        f"failed to update digest: {missing}MANIFEST_UNKNOWN: manifest unknown"
    )
    # The other image has its digest all the same.
    assert second.message == "image ghcr.io/a/gone:1 does not have a digest"


@pytest.mark.parametrize(
    ("spec", "given"),
    [
        ({"matchConditions": conditions("false")}, {}),
        ({}, {"exceptions": [exception(kind="ImageValidatingPolicy")]}),
    ],
)
def test_no_digest_is_added_where_the_policy_does_not_apply(
    spec: dict[str, Any], given: dict[str, Any]
) -> None:
    registry = Images()
    asked = about_images("true", validationConfigurations=PINS, **spec)
    results(asked, images(APP), world=world(SIGNERS, registry), **given)
    assert registry.asked == []


def test_digests_of_pod_controllers() -> None:
    asked = about_images("true", validationConfigurations=PINS, autogen={})
    subject = deployment()
    subject.body["spec"]["template"]["spec"]["containers"][0]["image"] = APP
    assert said(asked, subject, world=world(SIGNERS)) == ("pass", "success")


def test_a_glob_that_ends_with_a_tag_does_not_name_what_has_a_digest() -> None:
    asked = about_images("images.containers == []", validationConfigurations={})
    for glob, status in ((APP, "pass"), (f"{APP}*", "fail")):
        asked.body["spec"]["matchImageReferences"] = [{"glob": glob}]
        assert said(asked, images(APP), world=world(SIGNERS))[0] == status

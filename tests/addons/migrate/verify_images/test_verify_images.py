"""verifyImages rules become ImageValidatingPolicies, as far as these can say the same."""

import json

from chartkit.addons.migrate.differences import BUNDLES, ONE_KEY, VERIFIED_AGAIN
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.verify_images import match_references, names
from chartkit.engine.cel import compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.host import OFFLINE
from chartkit.engine.cel.syntax import format_expression
from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body
from tests.addons.migrate.conversions import Converted, converted, one_line
from tests.data import from_table

_KEY = "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----\n"


def _verified(**block: object) -> Converted:
    entry = {"imageReferences": ["ghcr.io/acme/*"], "failureAction": "Enforce", **block}
    return converted(f"verifyImages: [{json.dumps(entry)}]", "Pod")


def _signed(*entries: Body, **block: object) -> Converted:
    return _verified(attestors=[{"entries": list(entries)}], **block)


def test_a_key_and_its_log() -> None:
    found = _signed({"keys": {"publicKeys": _KEY, "rekor": {"ignoreTlog": True}}})
    assert [each["kind"] for each in found.documents] == ["ImageValidatingPolicy"]
    spec = found.spec
    assert spec["matchImageReferences"] == [{"glob": "ghcr.io/acme/*"}]
    assert spec["validationConfigurations"] == {
        "mutateDigest": True,
        "verifyDigest": True,
        "required": True,
    }
    log = {"url": "https://rekor.sigstore.dev", "insecureIgnoreTlog": True}
    assert spec["attestors"] == [{"name": "key", "cosign": {"key": {"data": _KEY}, "ctlog": log}}]
    assert found.expressions == [
        "(images.containers + images.initContainers + images.ephemeralContainers).all(image, "
        "verifyImageSignatures(image, [attestors.key]) >= 1)"
    ]
    assert {BUNDLES, VERIFIED_AGAIN} <= set(found.changes)


def test_the_same_attestor_has_one_name() -> None:
    key, other = (
        {"keys": {"kms": "awskms:///a"}},
        {"keys": {"secret": {"name": "k", "namespace": "n"}}},
    )
    found = _verified(attestors=[{"entries": [key, other], "count": 1}, {"entries": [key]}])
    assert [each["name"] for each in found.spec["attestors"]] == ["key", "key2"]
    both, one = "[attestors.key, attestors.key2]", "[attestors.key]"
    call = "verifyImageSignatures(image, {})".format
    assert f"{call(both)} >= 1 && {call(one)} >= 1" in found.expressions[0]
    assert found.spec["attestors"][1]["cosign"]["key"] == {"kms": "k8s://n/k"}


def test_a_key_that_a_variable_gives_is_an_expression() -> None:
    entry = {
        "imageReferences": ["ghcr.io/acme/*"],
        "failureAction": "Enforce",
        "attestors": [{"entries": [{"keys": {"publicKeys": "{{ keys.data.cosign }}"}}]}],
    }
    read = "[{name: keys, configMap: {name: keys, namespace: kyverno}}]"
    found = converted(f"{{context: {read}, verifyImages: [{json.dumps(entry)}]}}", "Pod")
    (attestor,) = found.spec["attestors"]
    assert attestor["cosign"]["key"] == {"expression": "variables.keys.data.cosign"}
    assert found.variables == {"keys": "resource.Get('v1', 'configmaps', 'kyverno', 'keys')"}
    assert ONE_KEY in found.changes


def test_images_that_are_passed_over_need_no_signature() -> None:
    found = _signed({"keys": {"kms": "awskms:///a"}}, skipImageReferences=["ghcr.io/acme/x*"])
    assert "image.startsWith('ghcr.io/acme/x') || verifyImageSignatures" in found.expressions[0]
    assert found.spec["validationConfigurations"]["required"] is False


def test_entries_are_policies_of_their_own() -> None:
    entry = {
        "imageReferences": ["*"],
        "failureAction": "Enforce",
        "attestors": [{"entries": [{"keys": {"kms": "k://a"}}]}],
    }
    digests = {
        "imageReferences": ["*"],
        "mutateDigest": False,
        "verifyDigest": True,
        "required": False,
    }
    found = converted(f"verifyImages: {json.dumps([entry, entry, digests])}", "Pod")
    named = [(each["kind"], each["metadata"]["name"]) for each in found.documents]
    assert named == [
        ("ImageValidatingPolicy", "example-rule-1"),
        ("ImageValidatingPolicy", "example-rule-2"),
        ("ValidatingPolicy", "example"),
    ]
    expression = one_line(found.documents[2]["spec"]["validations"][0]["expression"])
    assert expression == (
        "variables.allContainers.all(container, "
        "!has(container.image) || container.image.contains('@'))"
    )


_LOG = {"rekor": {"url": "https://rekor.example"}}
_NAMED = {**_LOG, "subject": "a", "issuer": "b"}


@from_table("entry", "reason")
def test_attestors_without_a_form(entry: Body, reason: str) -> None:
    assert reason in _signed(entry).reason


@from_table("block", "reason")
def test_entries_without_a_form(block: Body, reason: str) -> None:
    assert reason in _verified(**block).reason


_IMAGES = (
    *("nginx", "nginx:1.27", "acme/app", "ghcr.io/acme/app", "ghcr.io/acme/app:1"),
    *("ghcr.io/acme/tools/x:2", "localhost/app", "registry:5000/acme/app:1", "Acme/app"),
    *(f"ghcr.io/acme/app{tag}@sha256:{'a' * 64}" for tag in ("", ":1")),
)


@from_table("patterns")
def test_references_are_completed_as_in_a_cluster_policy(patterns: list[str]) -> None:
    expression = format_expression(cel.call("bool", names(cel.ident("ref"), patterns)))
    program = compile_expression(expression, ENVIRONMENTS["matchimage"])
    for image in _IMAGES:
        try:
            full = str(parse_image(image))
        except ImageReferenceError:
            continue
        before = any(compile_wildcard(each)(full) for each in patterns)
        assert program.evaluate({"ref": image}, OFFLINE) is before, image


def test_plain_references_are_globs() -> None:
    assert match_references(["*", "x"]) == []
    assert match_references(["ghcr.io/a*", "quay.io/*"]) == [
        {"glob": "ghcr.io/a*"},
        {"glob": "quay.io/*"},
    ]
    (found,) = match_references(["nginx:*"])
    assert "docker.io/" in found["expression"]

"""verifyImages rules: what Kyverno's program answers offline, and no pass without a signature."""

import json
from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation, Request
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, Status
from tests.data import from_table
from tests.unit.engine.policies import policy_resource, rule

DIGEST = "sha256:" + "1" * 64
TAGGED = "ghcr.io/a/b:1"
WHOLE = f"ghcr.io/a/b@{DIGEST}"
SIGNED = {"attestors": [{"entries": [{"keys": {"publicKeys": "k"}}]}]}

Shown = list[tuple[str, str]]


def _pod(image: str, recorded: Body | None = None) -> Resource:
    metadata: Body = {"name": "a", "namespace": "default"}
    if recorded is not None:
        text = json.dumps({"version": 1, "policies": {"/p": {"r": recorded}}})
        metadata["annotations"] = {"kyverno.io/verify-images-scoped": text}
    spec = {"containers": [{"name": "c", "image": image}]}
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def _block(**fields: Any) -> Body:
    return {"imageReferences": ["ghcr.io/*"], "mutateDigest": False, **fields}


def _rule(*blocks: Body, **parts: Any) -> Body:
    body = rule(verifyImages=list(blocks), **parts)
    del body["validate"]
    return body


def _evaluate(request: Request, body: Body) -> Shown:
    compiled = compile_policy(policy_resource(body, background=False))
    return [(str(one.status), one.message) for one in evaluate([compiled], request)]


def _shown(resource: Resource, *blocks: Body, **parts: Any) -> Shown:
    return _evaluate(Request(resource), _rule(*blocks, **parts))


def test_other_images_are_not_spoken_of_before_any_condition() -> None:
    unmet = {"all": [{"key": "a", "operator": "Equals", "value": "b"}]}
    assert _shown(_pod("nginx"), _block(), preconditions=unmet) == []
    expected = [("skip", "preconditions not met")] * 2
    assert _shown(_pod(WHOLE), _block(), preconditions=unmet) == expected


@pytest.mark.parametrize(
    ("image", "fields", "expected"),
    [
        (TAGGED, {"required": False}, [("fail", f"missing digest for {TAGGED}")]),
        (TAGGED, {}, [("fail", f"missing digest for {TAGGED}")]),
        (WHOLE, {"required": False}, [("pass", "image verified")]),
        (f"{TAGGED}@{DIGEST}", {}, [("fail", f"unverified image {WHOLE}")]),
        (TAGGED, {"verifyDigest": False}, [("fail", f"unverified image {TAGGED}")]),
        (TAGGED, {"verifyDigest": False, "required": False}, []),
    ],
)
def test_digests_and_records_are_judged(image: str, fields: Body, expected: Shown) -> None:
    assert _shown(_pod(image), _block(**fields)) == expected


def test_a_digest_that_is_not_known_is_not_added() -> None:
    block = _block(mutateDigest=True, verifyDigest=False, required=False, failureAction="Enforce")
    text = f"failed to update digest: failed to fetch image reference: {TAGGED}, error: "
    assert _shown(_pod(TAGGED), block) == [("error", f"{text}no registry to ask")]
    assert _shown(_pod(WHOLE), block) == []


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({WHOLE: "pass"}, ("pass", "image verified")),
        ({WHOLE: "skip"}, ("skip", f"image skipped, skipped images: {WHOLE}")),
        ({WHOLE: "fail"}, ("fail", f"unverified image {WHOLE}")),
        ({"other": "pass"}, ("fail", f"unverified image {WHOLE}")),
    ],
)
def test_what_the_annotation_records_counts(recorded: Body, expected: tuple[str, str]) -> None:
    assert _shown(_pod(WHOLE, recorded), _block()) == [expected]


def test_an_annotation_that_is_no_record_fails() -> None:
    pod = _pod(WHOLE, {})
    pod.body["metadata"]["annotations"]["kyverno.io/verify-images-scoped"] = "{"
    ((status, message),) = _shown(pod, _block())
    assert status == "fail"
    assert message.startswith("failed to parse scoped image metadata: ")


@from_table("fields")
@pytest.mark.parametrize("switches", [{}, {"required": False, "verifyDigest": False}])
def test_a_signature_is_never_taken_for_verified(fields: Body, switches: Body) -> None:
    ((status, message),) = _shown(_pod(WHOLE, {WHOLE: "pass"}), _block(**fields, **switches))
    assert status == "error"
    assert message.startswith(f"failed to verify image {WHOLE}: ")
    assert message.endswith("no registry to ask")


def test_a_missing_digest_shows_without_the_signature() -> None:
    found = _shown(_pod(TAGGED), _block(**SIGNED))
    assert [status for status, _ in found] == ["error", "fail"]
    assert found[1][1] == f"missing digest for {TAGGED}"


def test_skipped_images_are_skipped_twice() -> None:
    block = _block(**SIGNED, skipImageReferences=["ghcr.io/a/*"])
    text = f"skipping image reference image {WHOLE}, policy p ruleName r"
    expected = [("skip", text), ("skip", f"image skipped, skipped images: {WHOLE}")]
    assert _shown(_pod(WHOLE), block) == expected


def test_an_attestation_without_a_type_fails() -> None:
    found = _shown(_pod(WHOLE), _block(attestations=[{"name": "x"}]))
    assert found == [
        ("fail", ".attestations[0]: missing type"),
        ("fail", f"unverified image {WHOLE}"),
    ]


@pytest.mark.parametrize("image", [WHOLE, f"ghcr.io/a/c@{DIGEST}"])
def test_an_update_keeps_what_was_verified(image: str) -> None:
    old = _pod(WHOLE, {WHOLE: "pass"})
    request = Request(_pod(image), old=old, operation=Operation.UPDATE)
    statuses = [status for status, _ in _evaluate(request, _rule(_block(**SIGNED)))]
    assert statuses == (["pass"] if image == WHOLE else ["error"])


def test_rules_for_pod_controllers_speak_too() -> None:
    template = {"spec": _pod(TAGGED).body["spec"]}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    resource = Resource({**body, "spec": {"template": template}})
    compiled = compile_policy(policy_resource(_rule(_block())))
    (result,) = evaluate([compiled], Request(resource))
    assert (result.rule, result.status) == ("autogen-r", Status.FAIL)


@pytest.mark.parametrize(
    "fields", [{"imageReferences": "x"}, {"required": "yes"}, {"attestors": [1]}, {"key": 1}]
)
def test_entries_of_wrong_types_are_refused(fields: Body) -> None:
    with pytest.raises(CompileError):
        compile_policy(policy_resource(_rule({**_block(), **fields})))


def test_variables_that_cannot_be_resolved_are_an_error() -> None:
    block = _block(**SIGNED, skipImageReferences=["{{ request.object.metadata.none }}"])
    (first, message), last = _shown(_pod(WHOLE), block)
    assert first == "error"
    assert "at path /verifyImages/0/skipImageReferences/0: " in message
    assert last == ("fail", f"unverified image {WHOLE}")
    assert len(_shown(_pod(WHOLE), {**block, "required": False})) == 1


def test_conditions_see_what_extractors_find() -> None:
    extractor = {"path": "/spec/containers/*/image", "name": "mine", "key": "name"}
    key = "{{ images.mine.c.registry }}"
    unmet = {"all": [{"key": key, "operator": "Equals", "value": "ghcr.io"}]}
    parts = {"imageExtractors": {"Pod": [extractor]}, "preconditions": unmet}
    assert _shown(_pod(WHOLE), _block(required=False), **parts) == [("pass", "image verified")]

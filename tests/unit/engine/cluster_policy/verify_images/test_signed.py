"""Who must have signed: sets, counts, nested sets, and what stands in Kyverno's messages."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.engine.ports.world import Credentials
from chartkit.engine.request import Operation, Request
from chartkit.errors import LookupFailed, NoSource
from chartkit.model import Body, Resource
from tests.data import from_table, tables
from tests.unit.engine.cluster_policy.verify_images.fake_signatures import (
    DIGEST,
    TAGGED,
    WHOLE,
    Signatures,
    block,
    by_key,
    by_keys,
    first,
    image_rule,
    pod,
    results,
    shown,
    world_of,
)
from tests.unit.engine.policies import policy_resource

FAILED = f"failed to verify image {WHOLE}: "
UNSIGNED = "no signatures found"
PASSED = ("pass", f"verified image signatures for {WHOLE}")
LOG = "https://rekor.sigstore.dev"
END = "-----END PUBLIC KEY-----"


def _nested(*entries: Body, **fields: Any) -> Body:
    return {"attestor": {"entries": list(entries), **fields}}


def _set(*entries: Body, **fields: Any) -> Body:
    return block(attestors=[{"entries": list(entries), **fields}])


def _unsigned(*places: str) -> tuple[str, str]:
    return "fail", FAILED + "; ".join(f"{place}: {UNSIGNED}" for place in places)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (_set(by_key("a")), PASSED),
        (_set(by_key("x")), _unsigned(".attestors[0].entries[0].keys")),
        (_set(by_key("a"), by_key("b")), PASSED),
        (_set(by_key("a"), by_key("x")), _unsigned(".attestors[0].entries[1].keys")),
        (_set(by_key("x"), by_key("a"), count=1), PASSED),
        (_set(by_key("x"), by_key("a"), by_key("b"), count=2), PASSED),
        (
            _set(by_key("x"), by_key("a"), by_key("y"), count=2),
            _unsigned(".attestors[0].entries[0].keys", ".attestors[0].entries[2].keys"),
        ),
        (block(attestors=[*by_keys("a"), *by_keys("b")]), PASSED),
        (
            block(attestors=[*by_keys("a"), *by_keys("x")]),
            _unsigned(".attestors[1].entries[0].keys"),
        ),
        (_set(_nested(by_key("x"), by_key("a"), count=1)), PASSED),
        (
            _set(_nested(by_key("x"), by_key("y"), count=1), by_key("z")),
            _unsigned(
                ".attestors[0].entries[0].attestor.entries[0].keys",
                ".attestors[0].entries[0].attestor.entries[1].keys",
                ".attestors[0].entries[1].keys",
            ),
        ),
        (_set(_nested(_nested(by_key("a"))), _nested(by_key("x")), count=1), PASSED),
    ],
)
def test_sets_of_attestors(entry: Body, expected: tuple[str, str]) -> None:
    assert first(Signatures({"a": None, "b": None}), entry) == expected


def test_several_keys_in_one_text_are_as_many_entries() -> None:
    entry = _set(by_key(f"a{END}\nb{END}\nrest"), count=1)
    source = Signatures({f"\nb{END}": None})
    assert first(source, entry) == PASSED
    assert [one.key for one in source.asked] == [f"a{END}", f"\nb{END}"]
    del entry["attestors"][0]["count"]
    assert first(source, entry) == _unsigned(".attestors[0].entries[0].keys")


def test_a_nested_set_of_wrong_types_is_not_signed() -> None:
    nested = _nested(by_key("{{ request.object.spec.containers[0].name | [@] }}"))
    status, message = first(Signatures(), _set(nested))
    assert status == "fail"
    assert message == (
        f"{FAILED}failed to unmarshal nested attestor .attestors[0].entries[0]: failed to "
        'unmarshal attestor set {"entries":[{"keys":{"publicKeys":["c"]}}]}: json: cannot '
        "unmarshal array into Go struct field StaticKeyAttestor.entries.keys.publicKeys of type "
        "string"
    )


def test_variables_of_wrong_types_are_an_error() -> None:
    entry = _set(by_key("{{ request.object.spec.containers[0].name | [@] }}"))
    status, message = first(Signatures(), entry)
    assert status == "error"
    assert message == (
        "failed to substitute variables: json: cannot unmarshal array into Go struct field "
        "StaticKeyAttestor.verifyImages.attestors.entries.keys.publicKeys of type string"
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (LookupFailed("connection refused"), ["error", "fail"]),
        (SignatureError("signed by another"), ["fail", "fail"]),
        (NoSource("pip install"), ["error", "fail"]),
    ],
)
def test_what_could_not_be_asked_is_an_error(error: LookupFailed, expected: list[str]) -> None:
    source = Signatures({"a": error})
    answers = shown(source, _set(by_key("x"), by_key("a")))
    assert [status for status, _ in answers] == expected
    assert answers[0][1] == (
        f"{FAILED}.attestors[0].entries[0].keys: {UNSIGNED}; "
        f".attestors[0].entries[1].keys: {error.message}"
    )
    assert answers[1][1] == f"unverified image {WHOLE}"


def _asked(entry: Body, **fields: Any) -> VerificationRequest:
    source = Signatures()
    first(source, block(attestors=[{"entries": [entry]}], **fields))
    return source.asked[0]


def test_what_an_attestor_leaves_open() -> None:
    asked = _asked({"keys": {"publicKeys": "k"}})
    assert asked == VerificationRequest(WHOLE, key="k", rekor_url=LOG)
    logs = {"rekor": {"url": "u", "pubkey": "r", "ignoreTlog": True}}
    log = {"ctlog": {"ignoreSCT": True, "pubkey": "c", "tsaCertChain": "t"}}
    told = VerificationRequest(
        WHOLE,
        rekor_url="u",
        rekor_key="r",
        ignores_log=True,
        ignores_sct=True,
        ctlog_key="c",
        tsa_chain="t",
    )
    assert _asked({"keys": {"publicKeys": "k", **logs, **log}}) == replace(told, key="k")
    certificates = {"cert": "c", "certChain": "d", **logs, **log}
    asked = _asked({"certificates": certificates})
    assert asked == replace(told, cert="c", cert_chain="d")


@from_table("keys", "key")
def test_where_keys_lie(keys: Body, key: str) -> None:
    assert _asked({"keys": keys}).key == key


def test_keyless_attestors() -> None:
    keyless = tables(__file__)["keyless"]
    wanted = VerificationRequest(
        WHOLE,
        issuer="i",
        issuer_regexp="ie",
        subject="s",
        subject_regexp="se",
        extensions={"a": "b"},
        rekor_url="u",
    )
    # Kyverno takes the roots of a keyless attestor alone, even where it has none.
    assert _asked({"keyless": keyless}, roots="other") == wanted


def test_entries_override_what_a_block_says() -> None:
    said: Body = {"repository": "r", "annotations": {"a": "b"}, "cosignOCI11": True}
    asked = _asked(by_key("k"), **said)
    assert (asked.repository, asked.annotations, asked.oci11) == ("r", {"a": "b"}, True)
    own = {"repository": "s", "annotations": {}, "signatureAlgorithm": "sha512"}
    asked = _asked({**by_key("k"), **own}, **said)
    # A key's own algorithm counts, and that of the entry does not.
    assert (asked.repository, asked.annotations, asked.algorithm) == ("s", {}, "")
    keys = {"publicKeys": "k", "signatureAlgorithm": "sha384"}
    assert _asked({"keys": keys}).algorithm == "sha384"
    keyless = {"keyless": {"roots": "r"}, "signatureAlgorithm": "sha512"}
    assert _asked(keyless).algorithm == "sha512"


def test_kinds_of_signatures() -> None:
    assert _asked(by_key("k"), type="SigstoreBundle").kind == "SigstoreBundle"
    certificates = {"certificates": {"cert": "c"}, "annotations": {"a": "b"}}
    said: Body = {"repository": "not taken", "annotations": {"x": "y"}}
    asked = _asked(certificates, type="Notary", **said)
    assert asked == VerificationRequest(WHOLE, "Notary", cert="c", annotations={"a": "b"})
    nested = _nested(by_key("k"))
    answer = first(Signatures(), block(type="Notary", attestors=[{"entries": [nested]}]))
    assert answer == (
        "error",
        f"{FAILED}.attestors[0].entries[0].attestor.entries[0]: certificates are required for "
        "type Notary",
    )


def test_credentials_are_the_policys_and_the_pods() -> None:
    body = pod(TAGGED)
    body.body["spec"]["imagePullSecrets"] = [{"name": "pull"}]
    given = {"providers": ["amazon"], "secrets": ["a/b", "c"], "allowInsecureRegistry": True}
    source = Signatures()
    entry = block(attestors=by_keys("k"), imageRegistryCredentials=given)
    results(source, body, image_rule(entry))
    assert source.asked[0].credentials == Credentials(
        ("amazon",), ("a/b", "c", "default/pull"), insecure=True
    )


@pytest.mark.parametrize(
    ("older", "wanted"),
    [
        ({"key": "k"}, VerificationRequest(WHOLE, key="k", rekor_url=LOG)),
        (
            {"issuer": "i", "subject": "s", "roots": "r", "additionalExtensions": {"a": "b"}},
            VerificationRequest(WHOLE, issuer="i", subject="s", roots="r", rekor_url=LOG),
        ),
        (
            {"image": "ghcr.io/*", "key": "k", "annotations": {"a": "b"}, "repository": "r"},
            VerificationRequest(
                WHOLE, key="k", annotations={"a": "b"}, repository="r", rekor_url=LOG
            ),
        ),
    ],
)
def test_older_fields(older: Body, wanted: VerificationRequest) -> None:
    entry = block(**older)
    if "image" in older:
        del entry["imageReferences"]
    source = Signatures()
    assert first(source, entry)[0] == "fail"
    assert source.asked == [wanted]


def test_digests_are_added_as_signatures_say_them() -> None:
    entry = block(mutateDigest=True, attestors=by_keys("a"), failureAction="Enforce")
    signed, judged = results(Signatures({"a": None}), pod(TAGGED), image_rule(entry))
    assert (signed.status, judged.status) == ("pass", "pass")
    assert signed.message == f"verified image signatures for {TAGGED}"
    assert judged.message == "image verified"
    assert signed.patched is not None
    (container,) = signed.patched["spec"]["containers"]
    assert container["image"] == f"{TAGGED}@{DIGEST}"
    annotations = signed.patched["metadata"]["annotations"]
    assert json.loads(annotations["kyverno.io/verify-images"]) == {WHOLE: "pass"}
    scoped = json.loads(annotations["kyverno.io/verify-images-scoped"])
    assert scoped == {"version": 1, "policies": {"/p": {"r": {WHOLE: "pass"}}}}


def test_what_was_recorded_before_does_not_count() -> None:
    rules = image_rule(block(attestors=by_keys("x")))
    answers = results(Signatures(), pod(WHOLE, {WHOLE: "pass"}), rules)
    assert [str(one.status) for one in answers] == ["fail", "fail"]


def test_rules_keep_what_others_recorded() -> None:
    entry = block(attestors=by_keys("a"))
    rules = [{**image_rule(entry), "name": name} for name in ("r", "s")]
    answers = results(Signatures({"a": None}), pod(), *rules)
    assert [(one.rule, str(one.status)) for one in answers] == [
        ("r", "pass"),
        ("s", "pass"),
        ("r", "pass"),
        ("s", "pass"),
    ]


def test_all_rules_see_the_images_without_added_digests() -> None:
    adds, adds_none = (
        block(attestors=by_keys("a"), mutateDigest=adds, failureAction="Enforce")
        for adds in (True, False)
    )
    rules = [{**image_rule(one), "name": name} for name, one in (("r", adds), ("s", adds_none))]
    answers = results(Signatures({"a": None}), pod(TAGGED), *rules)
    assert [(one.rule, one.message) for one in answers] == [
        ("r", f"verified image signatures for {TAGGED}"),
        ("s", f"verified image signatures for {TAGGED}"),
        ("r", "image verified"),
        # The record speaks of the tag, and the image has a digest by now.
        ("s", f"unverified image {WHOLE}"),
    ]


@pytest.mark.parametrize(("status", "is_asked"), [("pass", False), ("skip", False), ("fail", True)])
def test_an_update_does_not_ask_again_for_what_was_verified(status: str, is_asked: bool) -> None:
    body = image_rule(block(attestors=by_keys("a")))
    compiled = compile_policy(policy_resource(body, background=False))
    source = Signatures({"a": None})
    request = Request(pod(), old=pod(WHOLE, {WHOLE: status}), operation=Operation.UPDATE)
    answers = evaluate([compiled], request, world_of(source))
    assert bool(source.asked) is is_asked
    assert str(answers[-1].status) == "pass"
    moved = replace(request, resource=pod(f"ghcr.io/a/c@{DIGEST}"))
    evaluate([compiled], moved, world_of(source))
    assert source.asked[-1].image == f"ghcr.io/a/c@{DIGEST}"


def test_templates_of_pods_get_digests_too() -> None:
    entry = block(mutateDigest=True, attestors=by_keys("a"), failureAction="Enforce")
    template = {"spec": {"imagePullSecrets": [{"name": "pull"}], **pod(TAGGED).body["spec"]}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    resource = Resource({**body, "spec": {"template": template}})
    source = Signatures({"a": None})
    compiled = compile_policy(policy_resource(image_rule(entry), background=False))
    signed, judged = evaluate([compiled], Request(resource), world_of(source))
    assert (signed.rule, str(signed.status), str(judged.status)) == ("autogen-r", "pass", "pass")
    assert signed.patched is not None
    (container,) = signed.patched["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{TAGGED}@{DIGEST}"
    assert source.asked[0].credentials.secrets == ("kyverno/pull",)

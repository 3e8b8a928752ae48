"""Attestations of cosign's classic format, for ClusterPolicies."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from chartkit.addons.signatures.errors import UndecidedError
from chartkit.engine.ports.signatures import SignatureError, VerificationRequest
from chartkit.errors import LookupFailed
from chartkit.model import Body
from tests.addons.signatures.cosign_bench import KIND, Bench, Make
from tests.data import from_table
from tests.signing.authority import key_pem
from tests.signing.cosign import ENVELOPE, IN_TOTO, SIGNATURE, Layer, Signer, statement
from tests.signing.rekor import intoto

CUSTOM = "https://cosign.sigstore.dev/attestation/v1"


def _said(bench: Bench, question: VerificationRequest) -> str:
    try:
        bench.source.attestations(question)
    except SignatureError as error:
        return error.message
    return ""


def _review(signer: Signer, **predicate: Any) -> Make:
    return lambda digest: signer.attestation(digest, KIND, predicate)


def test_statements_as_conditions_see_them(bench: Bench) -> None:
    image = bench.attested(_review(bench.signer, by="me"))
    found = bench.source.attestations(bench.by_key(image, type=KIND))
    assert found.digest == ""
    (one,) = found.statements
    subject = one.pop("subject")
    assert one == {
        "_type": "https://in-toto.io/Statement/v0.1",
        "predicateType": KIND,
        "type": KIND,
        "predicate": {"by": "me"},
    }
    assert subject[0]["name"] == "image"
    assert subject[0]["digest"].keys() == {"sha256"}


@pytest.mark.parametrize(
    ("data", "seen"),
    [('{"a": 1}', {"a": 1}), ("text", "text"), ("[1]", "[1]"), ({"a": 1}, {"a": 1})],
)
def test_data_of_cosigns_own_statements_is_read(bench: Bench, data: Any, seen: Any) -> None:
    def make(digest: str) -> Layer:
        body = statement(digest, CUSTOM, {"Data": data, "Timestamp": ""})
        return bench.signer.attested({**body, "_type": CUSTOM})

    question = bench.by_key(bench.attested(make), type=CUSTOM)
    (one,) = bench.source.attestations(question).statements
    assert one["predicate"] == {"Data": seen, "Timestamp": ""}


@from_table("predicate", "wanted")
def test_statements_of_cosign_without_data(bench: Bench, predicate: Any, wanted: str) -> None:
    def make(digest: str) -> Layer:
        return bench.signer.attested({**statement(digest, CUSTOM, predicate), "_type": CUSTOM})

    message = _said(bench, bench.by_key(bench.attested(make)))
    assert message.startswith("failed to decode statement {")
    assert message.endswith(wanted)


def test_only_what_the_key_attests_counts(bench: Bench) -> None:
    stranger = Signer(bench.other, log=bench.log)
    image = bench.attested(_review(stranger, by="you"), _review(bench.signer, by="me"))
    (one,) = bench.source.attestations(bench.by_key(image, type=KIND)).statements
    assert one["predicate"] == {"by": "me"}


def test_nothing_attested(bench: Bench) -> None:
    image, repository, _ = bench.image()
    assert _said(bench, bench.by_key(image)) == "no matching attestations: "
    gone = f"{bench.registry.host}/{repository}:gone"
    assert _said(bench, bench.by_key(gone)) == "not found"


def test_entries_of_older_logs(bench: Bench) -> None:
    def make(digest: str) -> Layer:
        layer = Signer(bench.key).attestation(digest, KIND, {})
        entry = bench.log.add(intoto(layer.content, key_pem(bench.key)))
        return layer.having(bundle=json.dumps(entry.bundle))

    image = bench.attested(make)
    assert _said(bench, bench.by_key(image)) == ""
    other = bench.by_key(image, key=key_pem(bench.other))
    assert _said(bench, other).startswith(
        "no matching attestations: error verifying bundle: comparing public key PEMs, expected "
    )


def test_the_hash_of_an_entry_is_compared(bench: Bench) -> None:
    def make(digest: str) -> Layer:
        layer = Signer(bench.key).attestation(digest, KIND, {})
        entry = bench.log.add(intoto(b"another", key_pem(bench.key)))
        return layer.having(bundle=json.dumps(entry.bundle))

    message = _said(bench, bench.by_key(bench.attested(make)))
    wanted = (
        'no matching attestations: error verifying bundle: matching bundle to payload: bundle="'
    )
    assert message.startswith(wanted)


def test_a_statement_that_the_log_may_know_is_no_verdict(bench: Bench) -> None:
    image = bench.attested(_review(bench.signer), _review(Signer(bench.key)))
    with pytest.raises(LookupFailed, match="the log itself is not asked") as raised:
        bench.source.attestations(bench.by_key(image))
    assert not isinstance(raised.value, SignatureError)


_THRESHOLD = "accepted signatures do not match threshold, Found: 0, Expected 1"


def _envelope(**changes: Any) -> Callable[[Bench], Make]:
    def make(bench: Bench, digest: str) -> Layer:
        content = json.dumps(statement(digest, KIND, {})).encode()
        body = json.loads(Signer(bench.key).envelope(content))
        return Layer(ENVELOPE, json.dumps({**body, **changes}).encode(), {SIGNATURE: ""})

    return lambda bench: lambda digest: make(bench, digest)


def _stating(**changes: Any) -> Callable[[Bench], Make]:
    def make(bench: Bench, digest: str) -> Layer:
        body: Body = {**statement(digest, KIND, {"a": 1}), **changes}
        return Signer(bench.key).attested({k: v for k, v in body.items() if v is not ...})

    return lambda bench: lambda digest: make(bench, digest)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        (lambda b: _review(Signer(b.other)), _THRESHOLD),
        (_envelope(signatures=[]), "no signature found"),
        (_envelope(signatures=[5]), "json: signatures of the envelope are not a list of objects"),
        (_envelope(payload=5), "unable to base64 decode payload (is payload in the right format?)"),
        (
            _envelope(payload="%"),
            "unable to base64 decode payload (is payload in the right format?)",
        ),
        (_envelope(signatures=[{"keyid": ""}]), _THRESHOLD),
        (_envelope(payloadType="text"), f"payloadType text on envelope. Expected {IN_TOTO}"),
        (
            lambda _: lambda _: Layer(ENVELOPE, b"[]", {SIGNATURE: ""}),
            "json: cannot unmarshal array into Go value of type dsse.Envelope",
        ),
        (_stating(subject=[]), "no matching subject digest found"),
        (_stating(subject=[{"digest": {"sha512": "0"}}]), "no matching subject digest found"),
        (_stating(subject=[None]), "could not parse predicate with type map[string]interface {}"),
        (_stating(subject=5), "could not parse predicate with type map[string]interface {}"),
        (_stating(subject=5, predicate="text"), "could not parse statement: subject is not a list"),
        (_stating(_type=5), "could not parse predicate with type map[string]interface {}"),
        (_stating(predicate=[1]), "could not parse predicate with type []interface {}"),
        (_stating(predicate=1), "could not parse predicate with type float64"),
        (_stating(more=1, predicate=None), "could not parse predicate with type <nil>"),
        (_stating(more=1), "could not parse predicate with type map[string]interface {}"),
        (_stating(more=1, predicate=...), "could not parse statement, could not find predicate"),
    ],
)
def test_attestations_that_do_not_hold(
    bench: Bench, shape: Callable[[Bench], Make], wanted: str
) -> None:
    image = bench.attested(shape(bench))
    message = _said(bench, bench.by_key(image, ignores_log=True))
    assert message.startswith("no matching attestations: ")
    assert message.endswith(wanted)


def test_predicates_of_text_or_none(bench: Bench) -> None:
    for shape, seen in ((_stating(predicate="text"), "text"), (_stating(predicate=...), None)):
        image = bench.attested(shape(bench))
        question = bench.by_key(image, ignores_log=True)
        (one,) = bench.source.attestations(question).statements
        assert one["predicate"] == seen


def test_the_names_of_keys_in_envelopes_count_for_nothing(bench: Bench) -> None:
    def make(image: str) -> Layer:
        layer = Signer(bench.key).attestation(image, KIND, {})
        body = json.loads(layer.content)
        body["signatures"][0]["keyid"] = "another"
        return Layer(ENVELOPE, json.dumps(body).encode(), layer.annotations)

    assert _said(bench, bench.by_key(bench.attested(make), ignores_log=True)) == ""


def test_digests_of_subjects_are_text(bench: Bench) -> None:
    def make(image: str) -> Layer:
        digests = {"sha256": image.partition(":")[2], "more": 1}
        body = statement(image, KIND, {"a": 1})
        return Signer(bench.key).attested({**body, "subject": [{"digest": digests}]})

    message = _said(bench, bench.by_key(bench.attested(make), ignores_log=True))
    assert message.endswith("could not parse predicate with type map[string]interface {}")


@pytest.mark.parametrize(
    "twice", ['"predicate": {"a": 1}, "predicate": {"a": 1}', '"predicate": {"a": 1, "a": 1}']
)
def test_statements_that_say_a_thing_twice(bench: Bench, twice: str) -> None:
    def make(image: str) -> Layer:
        text = json.dumps(statement(image, KIND, {"a": 1}))
        changed = text.replace('"predicate": {"a": 1}', twice)
        assert changed != text
        return Layer(ENVELOPE, Signer(bench.key).envelope(changed.encode()), {SIGNATURE: ""})

    message = _said(bench, bench.by_key(bench.attested(make), ignores_log=True))
    assert message.endswith("could not parse predicate with type map[string]interface {}")


def test_identities_count_for_the_wanted_type(bench: Bench) -> None:
    image = bench.attested(_review(bench.keyless))
    assert _said(bench, bench.by_identity(image, type=KIND)) == ""
    stranger = bench.by_identity(image, type=KIND, subject="you@*")
    assert _said(bench, stranger) == ("subject mismatch: expected you@*, received me@example.com")
    other_type = bench.by_identity(image, type="https://other", subject="you@*")
    assert _said(bench, other_type) == ""
    wanted = bench.by_identity(image, type=KIND, annotations={"a": "b"})
    assert _said(bench, wanted) == "no signature matched the required annotations"


def test_envelopes_with_many_signatures_are_no_verdict(bench: Bench) -> None:
    image = bench.attested(_envelope(signatures=[{}] * 1001)(bench))
    with pytest.raises(UndecidedError, match="an envelope has more than 1000 signatures"):
        bench.source.attestations(bench.by_key(image, ignores_log=True))

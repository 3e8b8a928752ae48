"""What must have been attested of images: who attests, what the predicates say, what is denied."""

from typing import Any

import pytest

from chartkit.engine.ports.signatures import SignatureError
from chartkit.errors import LookupFailed
from chartkit.model import Body, Json
from tests.unit.engine.cluster_policy.verify_images.fake_signatures import (
    TAGGED,
    TYPE,
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
    statement,
)

FOUND = statement(count=2, tool={"name": "scanner"}, text="said")
PASSED = ("pass", f"verified image attestations for {WHOLE}")
PLACE = ".attestations[0].attestors[0].entries[0].keys: "


def _attested(*statements: Body) -> Signatures:
    return Signatures({"a": None}, {"a": statements, "b": statements, "": statements})


def _wants(**fields: Any) -> Body:
    return block(attestations=[{"type": TYPE, "attestors": by_keys("a"), **fields}])


def _all(*conditions: Body) -> list[Body]:
    return [{"all": list(conditions)}]


def _equals(key: str, value: Json, message: str = "") -> Body:
    return {"key": key, "operator": "Equals", "value": value, "message": message}


def _too_few(error: str, verified: int = 0, required: int = 1) -> tuple[str, str]:
    return (
        "fail",
        f"image attestations verification failed, verifiedCount: {verified}, requiredCount: "
        f"{required}, error: {error}",
    )


def _unmet(message: str) -> tuple[str, str]:
    text = f"attestation checks failed for {WHOLE} and predicate {TYPE}: {message}"
    return _too_few(PLACE + text)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, PASSED),
        ({"attestors": None}, PASSED),
        ({"conditions": _all(_equals("{{ count }}", 2))}, PASSED),
        ({"conditions": _all(_equals("{{ tool.name }}", "scanner"))}, PASSED),
        ({"name": "scan", "conditions": _all(_equals("{{ scan.text }}", "said"))}, PASSED),
        ({"conditions": _all(_equals("{{ image.tag }}", ""))}, PASSED),
        (
            {"conditions": _all(_equals("{{ count }}", 3, "{{ text }} {{ count }}"))},
            _unmet("said 2"),
        ),
        ({"conditions": _all(_equals("{{ count }}", 3))}, _unmet("")),
        (
            {"conditions": [*_all(_equals("{{ count }}", 2)), {"any": [_equals("a", "b", "no")]}]},
            _unmet("no"),
        ),
        ({"type": "", "predicateType": TYPE}, PASSED),
        ({"type": "other"}, _too_few(f"{PLACE}attestions not found for predicate type other")),
        ({"type": ""}, ("fail", ".attestations[0]: missing type")),
    ],
)
def test_what_predicates_say(wanted: Body, expected: tuple[str, str]) -> None:
    assert first(_attested(FOUND), _wants(**wanted)) == expected


def test_variables_of_all_conditions_must_be_there() -> None:
    conditions = _all(_equals("{{ count }}", 3), _equals("{{ none }}", 1))
    status, message = first(_attested(FOUND), _wants(conditions=conditions))
    assert status == "fail"
    assert (
        "failed to check attestations: failed to substitute variables in attestation "
        "conditions: failed to resolve none at path /0/all/1/key: " in message
    )


def test_every_statement_of_the_type_must_do() -> None:
    other = statement("other", count=9)
    wanted = _wants(conditions=_all(_equals("{{ count }}", 2)))
    assert first(_attested(other, FOUND), wanted) == PASSED
    assert first(_attested(FOUND, statement(count=3)), wanted) == _unmet("")


@pytest.mark.parametrize(
    ("statements", "error"),
    [
        ((), "predicate not found in any statement"),
        (({"type": TYPE, "predicate": [1]},), "predicate not found in any statement"),
        (({"type": TYPE, "predicate": {"n": float("nan")}},), "json: unsupported value: NaN"),
        (
            (statement("other"), {"type": TYPE, "predicate": 1}),
            f"{PLACE}failed to check attestations: failed to extract predicate from statement: "
            f"map[predicate:1 type:{TYPE}]",
        ),
    ],
)
def test_statements_without_predicates(statements: tuple[Body, ...], error: str) -> None:
    wanted = _wants(conditions=_all(_equals("a", "a")))
    assert first(_attested(*statements), wanted) == _too_few(error)


@pytest.mark.parametrize(
    "error", [SignatureError("no matching attestations"), LookupFailed("connection refused")]
)
def test_attestations_that_are_not_there(error: LookupFailed) -> None:
    # Kyverno fails for the network's faults, too, and gives no place.
    source = Signatures(attested={"a": error})
    assert first(source, _wants()) == _too_few(error.message)


def test_counts_of_attestors() -> None:
    source = Signatures(attested={"a": [FOUND], "b": [FOUND]})
    wrong = "no matching attestations"
    sets = by_keys("x", "a", "b", count=2)
    assert first(source, _wants(attestors=sets)) == PASSED
    sets = by_keys("x", "a", "y")
    expected = _too_few(f"{wrong}; {wrong}", verified=1, required=3)
    assert first(source, _wants(attestors=sets)) == expected
    sets = [*by_keys("x", "a", count=1), *by_keys("y")]
    assert first(source, _wants(attestors=sets)) == _too_few(f"{wrong}; {wrong}")


def test_what_is_asked_of_attestors() -> None:
    source = _attested(FOUND)
    nobody = {"attestors": None}
    first(source, block(attestors=by_keys("a"), attestations=[{"type": TYPE, **nobody}]))
    signature, attestation = source.asked
    assert not signature.attestations
    assert attestation.attestations
    assert (attestation.type, attestation.key, attestation.ignores_sct) == (TYPE, "", True)
    assert attestation.rekor_url == ""
    first(source, _wants(attestors=[{"entries": [by_key("a")]}]))
    assert source.asked[-1].ignores_sct is False


def test_an_unsigned_image_is_not_asked_for_attestations() -> None:
    source = _attested(FOUND)
    entry = block(attestors=by_keys("x"), attestations=[{"type": TYPE}])
    status, message = first(source, entry)
    assert status == "fail"
    assert message.startswith(f"failed to verify image {WHOLE}: .attestors[0]")
    assert len(source.asked) == 1


def test_the_digest_of_a_signature_names_the_image_from_then_on() -> None:
    entry = block(attestors=by_keys("a"), attestations=[{"type": TYPE}])
    source = _attested(FOUND)
    assert first(source, entry, image=TAGGED) == PASSED
    assert [one.image for one in source.asked] == [TAGGED, WHOLE]


def _denies(*conditions: Body, message: str = "") -> Body:
    attestations = [{"name": "scan", "type": TYPE}, {"name": "more", "type": "other"}]
    validate: Body = {"message": message, "deny": {"conditions": {"any": list(conditions)}}}
    return block(attestations=attestations, validate=validate)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            _denies(_equals("{{ scan.count }}", "{{ more.count }}")),
            ("pass", "verifyImages validation is passed in r rule"),
        ),
        (
            _denies(_equals("{{ scan.count }}", 2, "{{ more.count }} or two"), message="not"),
            ("fail", "validation in verifyImages failed: not; 4 or two"),
        ),
        (
            _denies(_equals("{{ scan.count }}", 2)),
            ("fail", "validation in verifyImages failed: validation error: imageVerify  failed"),
        ),
        (
            _denies(_equals("{{ scan.count }}", 2, "{{ scan.none }}"), message="not"),
            ("fail", "validation in verifyImages failed: {{ scan.none }}"),
        ),
    ],
)
def test_what_is_denied_over_all_attestations(entry: Body, expected: tuple[str, str]) -> None:
    source = _attested(FOUND, statement("other", count=4))
    # Kyverno puts the first predicate of all under every attestation's name.
    source.attested = _ByType(source.attested)
    assert first(source, entry) == expected


class _ByType(dict[str, Any]):
    """Answers with one statement, another one each time."""

    def get(self, key: str, _default: object = None) -> Any:
        found = list(self[key])
        self[key] = [*found[1:], found[0]]
        return found[:1]


def test_what_cannot_be_denied() -> None:
    entry = _denies(_equals("{{ scan.none }}", 1))
    entry["attestations"].pop()
    status, message = first(_attested(FOUND), entry)
    assert status == "fail"
    assert message.startswith(
        "validation in verifyImages failed: failed to check deny conditions: failed to "
        "substitute variables in condition key: failed to resolve scan.none at path : "
    )


def test_a_failure_is_one_in_the_second_pass_too() -> None:
    answers = shown(_attested(FOUND), _wants(type="other"))
    assert answers[1:] == [("fail", f"unverified image {WHOLE}")]


def test_conditions_keep_their_variables_where_others_are_replaced() -> None:
    entry = _wants(conditions=_all(_equals("{{ count }}", 2)))
    entry["skipImageReferences"] = ["{{ request.object.metadata.name }}"]
    answers = results(_attested(FOUND), pod(), image_rule(entry))
    assert (str(answers[0].status), answers[0].message) == PASSED

"""What is refused of verifyImages entries."""

from typing import Any

import pytest

from chartkit.engine.cluster_policy.policy_check.images import images_fault
from chartkit.model import Body
from tests.data import from_table
from tests.unit.engine.policies import policy, rule

PLACE = "spec.rules[0].verifyImages[{}].mutateDigest: Invalid value: true: "


def _fault(*blocks: Body) -> str:
    body = rule(verifyImages=[{"imageReferences": ["*"], **block} for block in blocks])
    del body["validate"]
    read = policy(body)
    return images_fault(0, read.rules[0], read.failure_action) or ""


@pytest.mark.parametrize("action", [None, "Audit"])
def test_an_audit_adds_no_digests(action: str | None) -> None:
    block = {"failureAction": action} if action else {}
    assert _fault(block).startswith(PLACE.format(0))
    assert not _fault({**block, "mutateDigest": False})


def test_an_action_holds_for_the_entries_after_it() -> None:
    assert not _fault({"failureAction": "Enforce"}, {})
    fault = _fault({"failureAction": "Enforce"}, {"failureAction": "Audit"}, {})
    assert fault.startswith(f"[{PLACE.format(1)}")
    assert PLACE.format(2) in fault


KEY = {"keys": {"publicKeys": "k"}}
SHOWN = '{"keys":{"publicKeys":"k","signatureAlgorithm":"sha256"},"signatureAlgorithm":"sha256"}'
SET = "spec.rules[0].verifyImages[0].attestors[0]"
ENTRY = f"{SET}.entries[0]"
INVALID = "Invalid value: "
NO_METHOD = "keys, certificates, keyless, or a nested attestor is required"


def _of_entries(*entries: Body, **fields: Any) -> str:
    attestors = [{"entries": list(entries), **fields}]
    return _fault({"attestors": attestors, "mutateDigest": False})


@from_table("entry", "place", "text")
def test_entries_must_say_who_signs(entry: Body, place: str, text: str) -> None:
    assert _of_entries(entry) == f"{ENTRY}{place}: {INVALID}{text}"


def test_one_who_signs_is_named_in_one_way() -> None:
    assert not _of_entries(KEY)
    assert _of_entries({**KEY, "keyless": {"roots": "r"}}).endswith(NO_METHOD)


def test_sets_have_as_many_entries_as_they_count() -> None:
    assert _of_entries() == f"{SET}: {INVALID}{{}}: An entry is required"
    assert _of_entries(KEY, count=2) == (
        f'{SET}: {INVALID}{{"count":2,"entries":[{SHOWN}]}}: Count cannot exceed length of entries'
    )


def test_attestations_and_older_fields_are_checked_too() -> None:
    fault = _fault({"attestations": [{"attestors": [{}]}], "mutateDigest": False})
    place = "spec.rules[0].verifyImages[0].attestations[0].attestors[0]"
    assert fault == f"{place}: {INVALID}{{}}: An entry is required"
    assert _fault({"issuer": "i", "mutateDigest": False}).startswith(f"{ENTRY}.keyless: ")
    fault = _fault({"key": "k", "imageReferences": [], "mutateDigest": False})
    assert fault == (
        f'spec.rules[0].verifyImages[0]: {INVALID}{{"key":"k","mutateDigest":false,'
        '"verifyDigest":true,"validate":{},"required":true,"useCache":true}: '
        "An image reference is required"
    )


def test_notary_knows_certificates_alone() -> None:
    attestors = [{"entries": [KEY, {"keyless": {"roots": "r"}}]}]
    fault = _fault({"type": "Notary", "attestors": attestors, "mutateDigest": False})
    assert "Keys field is not allowed for type notary, " in fault
    assert fault.endswith("Keyless field is not allowed for type notary]")

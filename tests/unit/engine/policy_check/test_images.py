"""What is refused of verifyImages entries."""

from __future__ import annotations

import pytest

from chartkit.engine.policy_check.images import images_fault
from chartkit.model import Body
from tests.unit.engine.policies import policy, rule

PLACE = "spec.rules[0].verifyImages[{}].mutateDigest: Invalid value: true: "


def _fault(*blocks: Body) -> str | None:
    body = rule(verifyImages=[{"imageReferences": ["*"], **block} for block in blocks])
    del body["validate"]
    read = policy(body)
    return images_fault(0, read.rules[0], read.failure_action)


@pytest.mark.parametrize("action", [None, "Audit"])
def test_an_audit_adds_no_digests(action: str | None) -> None:
    block = {"failureAction": action} if action else {}
    fault = _fault(block)
    assert fault is not None
    assert fault.startswith(PLACE.format(0))
    assert _fault({**block, "mutateDigest": False}) is None


def test_an_action_holds_for_the_entries_after_it() -> None:
    assert _fault({"failureAction": "Enforce"}, {}) is None
    fault = _fault({"failureAction": "Enforce"}, {"failureAction": "Audit"}, {})
    assert fault is not None
    assert fault.startswith(f"[{PLACE.format(1)}")
    assert PLACE.format(2) in fault

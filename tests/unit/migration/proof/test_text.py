"""Proofs as text."""

from __future__ import annotations

from chartkit.migration.proof import ProofOptions, prove
from chartkit.migration.proof.text import to_text
from tests.unit.migration.proof.policies import NOT_LATEST, legacy, validating

_FEW = ProofOptions(budget=30, most_requests=300)


def test_a_difference_is_shown_with_both_answers_and_the_smallest_object() -> None:
    text = to_text(prove(legacy(NOT_LATEST), [validating("true")], options=_FEW))
    assert text.startswith("1 difference found in 300 requests, ")
    assert "image: :latest" in text
    assert "  legacy: fail; no\n  new: pass\n" in text
    assert "never" in text


def test_a_proof_without_difference_says_what_was_reached() -> None:
    new = validating("object.spec.containers.all(one, !one.image.endsWith(':latest'))")
    text = to_text(prove(legacy(NOT_LATEST), [new], options=_FEW))
    assert text.startswith("no difference found in 300 requests, ")
    assert "legacy: rule only: fail " in text
    assert "left out: missing required fields (" in text


def test_a_proof_that_decided_nothing_proves_nothing() -> None:
    conditions = "matchConditions: [{name: never, expression: 'false'}]"
    never = validating("true", resources="nodes", spec=conditions)
    rule = """
      preconditions:
        all: [{key: "a", operator: Equals, value: "b"}]
      validate:
        deny: {}
"""
    proof = prove(legacy(rule, "[Node]"), [never], options=_FEW)
    assert not proof.equal
    assert not proof.differences
    assert to_text(proof).startswith("nothing is proved: neither form decides any of ")

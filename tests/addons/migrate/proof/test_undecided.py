"""Proofs that decide nothing."""

from chartkit.addons.migrate.proof import ProofOptions, prove
from tests.addons.migrate.proof.policies import legacy, validating

_FEW = ProofOptions(budget=30, most_requests=300)


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
    assert not proof.decided

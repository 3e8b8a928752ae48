"""Proofs of policies that look up objects in the cluster."""

from __future__ import annotations

from chartkit.migration.proof import Proof, ProofOptions, prove
from tests.unit.migration.proof.policies import legacy, policy

_OPTIONS = ProofOptions(budget=30, most_requests=700)
_OLD = """
      context:
        - name: allowed
          configMap:
            name: registries
            namespace: policies
      validate:
        message: "no"
        deny:
          conditions:
            all:
              - key: "{{ request.object.metadata.labels.team || '' }}"
                operator: NotEquals
                value: "{{ allowed.data.team }}"
"""
_NEW = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: example}
spec:
  validationActions: [Audit]
  matchConstraints:
    resourceRules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [services]
  variables:
    - name: allowed
      expression: resource.Get("v1", "configmaps", "policies", "registries")
  validations:
    - message: "no"
      expression: >-
        object.metadata.?labels.?team.orValue("") OPERATOR variables.allowed.data.team
"""


def _proof(operator: str) -> Proof:
    new = policy(_NEW.replace("OPERATOR", operator))
    return prove(legacy(_OLD, "[Service]"), [new], options=_OPTIONS)


def test_objects_that_both_forms_look_up_exist() -> None:
    proof = _proof("==")
    decided = {one.name: one for one in proof.coverage.places}["rule only"]
    assert {"pass", "fail"} <= set(decided.states)


def test_what_is_done_with_them_is_compared() -> None:
    found = _proof("!=").differences
    assert found
    configmaps = found[0].case.document["cluster"]["v1/configmaps"]
    assert [one["metadata"]["name"] for one in configmaps] == ["registries"]

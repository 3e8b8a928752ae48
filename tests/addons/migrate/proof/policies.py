"""Pairs of policies for the tests of proofs."""

from chartkit.documents.reader import read_text, resources
from chartkit.model import Resource


def policy(text: str) -> Resource:
    (found,) = resources(read_text(text, "policy.yaml"))
    return found


def legacy(rule: str, kinds: str = "[Pod]", spec: str = "") -> Resource:
    """A ClusterPolicy with one rule; rule: what stands below `match`, indented by six."""
    return policy(
        f"""
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: example
spec:
  {spec or "background: true"}
  rules:
    - name: only
      match:
        any:
          - resources:
              kinds: {kinds}
{rule}
"""
    )


def validating(
    *expressions: str, resources: str = "pods", group: str = "", spec: str = ""
) -> Resource:
    validations = "\n".join(
        f'    - expression: >-\n        {text}\n      message: "no"' for text in expressions
    )
    return policy(
        f"""
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: example
spec:
  validationActions: [Audit]
  {spec}
  matchConstraints:
    resourceRules:
      - apiGroups: ["{group}"]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [{resources}]
  validations:
{validations}
"""
    )


NOT_LATEST = """
      validate:
        message: "no"
        pattern:
          spec:
            containers:
              - image: "!*:latest"
"""
"""A rule whose pattern is about every container."""

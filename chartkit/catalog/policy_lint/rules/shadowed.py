"""CK752: rules whose objects another rule denies."""

from __future__ import annotations

from chartkit.catalog.policy_lint.rule import PolicyRule


class Shadowed(PolicyRule):
    id = "CK752"
    what = "A rule that applies only to objects that another, enforced rule denies."
    why = (
        "It decides nothing: whether an object passes it or not, the other rule refuses the object."
    )
    do = "Remove one of the rules, or change what the other one denies."
    problematic = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: example}
spec:
  validationFailureAction: Enforce
  rules:
  - name: no-privileges
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: Host networking is not allowed.
      pattern: {spec: {=(hostNetwork): false}}
  - name: label-of-privileged
    match: {any: [{resources: {kinds: [Pod]}}]}
    preconditions:
      all:
      - {key: "{{ request.object.spec.hostNetwork || `false` }}", operator: Equals, value: true}
    validate:
      message: Pods with host networking need the label owner.
      pattern: {metadata: {labels: {owner: "?*"}}}
"""
    correct = problematic.replace("value: true", "value: false")

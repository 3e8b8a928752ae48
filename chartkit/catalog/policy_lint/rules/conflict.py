"""CK751: rules that no object passes together."""

from __future__ import annotations

from chartkit.catalog.policy_lint.rule import PolicyRule


class Conflict(PolicyRule):
    id = "CK751"
    what = "Rules that no object passes together."
    why = (
        "Every object fails one of them; if both are enforced, no object of the kind can be "
        "created."
    )
    do = "Change one of the rules that the message names."
    problematic = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: example}
spec:
  rules:
  - name: from-registry
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: Images come from registry.example.
      pattern: {spec: {containers: [{image: registry.example/*}]}}
  - name: from-mirror
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: Images come from mirror.example.
      pattern: {spec: {containers: [{image: mirror.example/*}]}}
"""
    correct = problematic.replace("{image: mirror.example/*}", '{image: "*:*"}')

"""CK753: mutations that do not settle."""

from __future__ import annotations

from chartkit.catalog.policy_lint.rule import PolicyRule


class Unsettled(PolicyRule):
    id = "CK753"
    what = "Mutations that undo each other, or change an object each time that they are applied."
    why = (
        "An API server may ask webhooks again after a mutation, and a controller that applies an "
        "object again finds it changed each time: the object never comes to rest."
    )
    do = "Let one rule set the field, or let the rule match only objects without the change."
    problematic = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: example}
spec:
  rules:
  - name: links-on
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {enableServiceLinks: true}}}
  - name: links-off
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {enableServiceLinks: false}}}
"""
    correct = problematic.replace("enableServiceLinks: true", "hostNetwork: false")

"""CK740: policies about everything that fail closed."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.admission import asked_of, is_fail_closed
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic


class FailClosed(PolicyRule):
    id = "CK740"
    what = "A policy about objects of all kinds, with the failure policy Fail (the default)."
    why = (
        "While no admission controller of Kyverno answers, the API server refuses to create and to "
        "change anything: Leases, Nodes and the Pods that would bring Kyverno back. After an "
        "outage such a cluster does not start by itself (kyverno/kyverno#16177)."
    )
    do = (
        "Name the kinds, set failurePolicy: Ignore, or leave requests out with "
        "webhookConfiguration.matchConditions."
    )
    problematic = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owner}
spec:
  background: false
  rules:
    - name: owner
      match: {any: [{resources: {kinds: ["*"]}}]}
      validate:
        message: The annotation owner is required.
        pattern: {metadata: {=(annotations): {owner: "?*"}}}
"""
    correct = problematic.replace("  background:", "  failurePolicy: Ignore\n  background:")

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        if is_fail_closed(subject):
            for each in asked_of(subject):
                if each.is_everything:
                    message = (
                        f"{each.shown}without Kyverno, the API server refuses all objects of all "
                        "kinds: the policy is about everything and fails closed"
                    )
                    hint = "name the kinds, or set failurePolicy: Ignore"
                    yield self.finding(subject, each.path, message, hint)

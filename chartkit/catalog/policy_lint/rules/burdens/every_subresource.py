"""CK743: policies about all subresources."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.admission import ANY, asked_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic


class EverySubresource(PolicyRule):
    id = "CK743"
    what = "A policy about the subresources of all kinds, or about the status of all."
    why = (
        "Controllers and kubelets write the status of objects continuously. Each of these requests "
        "waits for Kyverno, and a policy that refuses one stops the component that made it."
    )
    do = "Name the kinds and the subresources that are meant, such as Pod/exec."
    problematic = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: approved}
spec:
  background: false
  failurePolicy: Ignore
  rules:
    - name: approved
      match: {any: [{resources: {kinds: ["*/*"]}}]}
      validate:
        message: Changes need an approval.
        deny:
          conditions:
            any:
              - {key: "{{ request.namespace }}", operator: Equals, value: shop}
"""
    correct = problematic.replace('["*/*"]', "[Pod/exec]")

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for each in asked_of(subject):
            if each.name == ANY and each.subresource in (ANY, "status"):
                what = "the status" if each.subresource == "status" else "all subresources"
                message = (
                    f"{each.shown}'{each.text}' is about {what} of all kinds: the requests of "
                    "kubelets and controllers wait for Kyverno"
                )
                hint = "name the subresources that are meant, such as Pod/exec"
                yield self.finding(subject, each.path, message, hint)

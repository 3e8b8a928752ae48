"""CK744: calls of the API server whose answer is the same for each request."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic, Severity, mapping_at, mappings_at, text_of


class RepeatedCall(PolicyRule):
    id = "CK744"
    what = "A context entry that asks the API server the same question for each request."
    why = (
        "The call is made anew for every object that the rule matches, while the request waits. A "
        "GlobalContextEntry asks once and keeps the answer."
    )
    do = "Move the call to a GlobalContextEntry, and refer to it with globalReference."
    level = Severity.NOTE
    problematic = """\
name: host
match: {any: [{resources: {kinds: [Ingress]}}]}
context:
  - name: hosts
    apiCall: {urlPath: /apis/networking.k8s.io/v1/ingresses, jmesPath: "items[].spec.rules[].host"}
validate:
  message: The host is in use.
  deny:
    conditions:
      any:
        - key: "{{ request.object.spec.rules[].host }}"
          operator: AnyIn
          value: "{{ hosts }}"
"""
    correct = problematic.replace(
        "apiCall: {urlPath: /apis/networking.k8s.io/v1/ingresses, jmesPath: "
        '"items[].spec.rules[].host"}',
        'globalReference: {name: ingresses, jmesPath: "[].spec.rules[].host"}',
    )

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for path, rule in subject.rules:
            for at, entry in enumerate(mappings_at(rule.body, "context")):
                call = mapping_at(entry, "apiCall")
                url = text_of(call.get("urlPath"))
                if not url or "{{" in url or call.get("method") == "POST":
                    continue
                here = (*path, "context", at, "apiCall", "urlPath")
                message = f"rule {rule.name}: asks the API server for {url} anew for each request"
                hint = "a GlobalContextEntry keeps the answer (globalReference)"
                yield self.finding(subject, here, message, hint)

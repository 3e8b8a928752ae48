"""CK744: calls of the API server whose answer is the same for each request."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic, mapping_at, mappings_at, text_of


class RepeatedCall(PolicyRule):
    id = "CK744"

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

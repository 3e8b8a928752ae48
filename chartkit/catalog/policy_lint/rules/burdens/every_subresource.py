"""CK743: policies about all subresources."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.admission import ANY, asked_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic


class EverySubresource(PolicyRule):
    id = "CK743"

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

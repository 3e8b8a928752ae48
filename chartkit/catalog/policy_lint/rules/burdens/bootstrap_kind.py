"""CK741: policies that fail closed on what a cluster needs to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.admission import asked_of, is_fail_closed
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic

_JOIN: Final = "no Node can join the cluster"
_AUTHENTICATE: Final = "kubelets and API servers cannot authenticate requests"
_AUTHORIZE: Final = "kubelets and API servers cannot authorize requests"
_NEEDED: Final = {
    ("", "Node"): _JOIN,
    ("storage.k8s.io", "CSINode"): _JOIN,
    ("certificates.k8s.io", "CertificateSigningRequest"): _JOIN,
    ("coordination.k8s.io", "Lease"): "controllers lose their Leases, Nodes become unready",
    ("authentication.k8s.io", "TokenReview"): _AUTHENTICATE,
    ("authorization.k8s.io", "SubjectAccessReview"): _AUTHORIZE,
    ("authorization.k8s.io", "LocalSubjectAccessReview"): _AUTHORIZE,
}
"""Groups and kinds that a cluster needs to start, and what comes of it where they are refused
(source: those that Kyverno's flag --excludeBootstrapResources is about, kyverno/kyverno#16397)."""


class BootstrapKind(PolicyRule):
    id = "CK741"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        if is_fail_closed(subject):
            for each in asked_of(subject):
                for (group, kind), outcome in _NEEDED.items():
                    if each.has_served(group, kind):
                        message = (
                            f"{each.shown}without Kyverno, the API server refuses {kind} objects: "
                            f"{outcome}"
                        )
                        hint = "set failurePolicy: Ignore, or matchConditions of the webhook"
                        yield self.finding(subject, each.path, message, hint)

"""CK720: fields and kinds that the Kyverno of a cluster does not have yet."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.kyverno import cel_policy_fields, cluster_policy_fields
from chartkit.model import Diagnostic


class YoungField(PolicyRule):
    id = "CK720"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        version, body = subject.kyverno, subject.resource.body
        if version is None:
            return
        if subject.cluster_policy is not None:
            for use in cluster_policy_fields.needed(body):
                if use.field.since > version.minor_version:
                    yield self._field(subject, use)
            return
        if subject.resource.kind in cel_policy_fields.KINDS and subject.cel_policy is not None:
            needed, newest = cel_policy_fields.minimum_version(body)
            if needed > version.minor_version and newest is None:
                message = f"Kyverno {version} has no {subject.resource.kind}: it came with {needed}"
                yield self.finding(subject, ("kind",), message)
            elif needed > version.minor_version and newest is not None:
                yield self._field(subject, newest)

    def _field(self, subject: Subject, use: cluster_policy_fields.Use) -> Diagnostic:
        message = (
            f"Kyverno {subject.kyverno} has no {use.field.text}: it came with {use.field.since}"
        )
        return self.finding(subject, use.path, message, "an API server drops the field")

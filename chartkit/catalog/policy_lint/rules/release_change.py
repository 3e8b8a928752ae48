"""CK721: what a release of Kyverno changes for a policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.kyverno.known_faults import (
    Change,
    ChangeKind,
    Concerned,
    announced,
    changes,
    known_faults,
)
from chartkit.model import Diagnostic, Severity
from chartkit.wording import counted

_NAMED: Final = frozenset({ChangeKind.CHANGED, ChangeKind.DEPRECATED, ChangeKind.REMOVED})


class ReleaseChange(PolicyRule):
    id = "CK721"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        release = subject.kyverno
        if release is None:
            return
        for fault in known_faults():
            if fault.is_in(release) and fault.concerns(subject.resource):
                message = fault.message(release, subject.resource)
                yield fault.diagnostic(message, subject.resource.location, release)
        of_versions = {**changes(), **{each.version: each.changes for each in announced().values()}}
        for version, found in of_versions.items():
            for change in found:
                is_old = version < release.minor_version
                if version > release.minor_version or change.kind not in _NAMED:
                    continue
                if is_old and not (change.stops or change.kind is ChangeKind.REMOVED):
                    continue
                if change.concerned is not None and change.concerned.has(subject.resource):
                    yield from self._change(subject, change, change.concerned, str(version))

    def _change(
        self, subject: Subject, change: Change, concerned: Concerned, version: str
    ) -> Iterator[Diagnostic]:
        """Yield one finding for all policies of the run, at the first of them."""
        if next(filter(concerned.has, subject.run)) is subject.resource:
            others = sum(map(concerned.has, subject.run)) - 1
            more = f" ({counted(others, 'more policy', 'more policies')})" if others else ""
            message = f"Kyverno {version}: {change.sentence}{more}"
            found = self.finding(subject, (), message, change.advice or None)
            is_gone = change.kind is not ChangeKind.DEPRECATED
            yield found if is_gone else replace(found, severity=Severity.NOTE)

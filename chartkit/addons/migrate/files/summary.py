"""Sentences that a migration's report has once, and not for each rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.addons.migrate.files.texts import MigratedObject
from chartkit.model import Body, Diagnostic
from chartkit.wording import abridged, counted

_DELETIONS: Final = (
    "deletions: {rules}, which named no operations, judged them and no longer do (--deletions keep "
    "keeps them)"
)
_UPDATES: Final = (
    "updates: {rules} let objects that violate already be updated, which new policies refuse "
    "(--objects PATH counts these objects for each rule)"
)


def finding_body(finding: Diagnostic) -> Body:
    """Return a finding about an input for programs."""
    return {
        "id": finding.rule_id,
        "severity": str(finding.severity),
        "message": finding.message,
        "location": None if finding.location is None else str(finding.location),
        "hint": finding.hint,
    }


def said_once(objects: Sequence[MigratedObject]) -> Iterator[str]:
    """Yield sentences about deletions and about updates of objects that violate already."""
    converted = [rule for resource in objects for rule in resource.outcomes if rule.converted]
    for sentence, count in (
        (_DELETIONS, sum(outcome.drops_deletions for outcome in converted)),
        (_UPDATES, sum(outcome.refuses_updates for outcome in converted)),
    ):
        if count:
            yield sentence.format(rules=counted(count, "rule"))


def split_of(migrated_object: MigratedObject) -> str:
    """Return which rules of a policy move and which stay; empty where all do one of both."""
    moved = [one for one in migrated_object.outcomes if one.converted]
    left = [one.rule for one in migrated_object.outcomes if not one.converted]
    if not moved or not left:
        return ""
    names = dict.fromkeys(name for outcome in moved for name in outcome.replaced_by)
    rules = abridged([outcome.rule for outcome in moved])
    return f"{rules} → {abridged(list(names))}; {abridged(left)} {'stay' if left[1:] else 'stays'}"

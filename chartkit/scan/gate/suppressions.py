"""Suppressions: an annotation of an object that accepts findings about it, each with a reason.

The annotation's value is YAML, a list with an item for each finding:

    chartkit.dev/suppress: |
      - policy: disallow-privileged-containers
        rule: privileged-containers       # without it, all rules of the policy
        reason: The CNI changes routes of the node.
        until: 2027-01-31                 # without it, no end
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from chartkit.documents.reader import parse_yaml
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    Diagnostic,
    Json,
    Location,
    Resource,
    RuleResult,
    Severity,
    mapping_at,
    pointer_of,
    single_line,
)
from chartkit.scan.gate import ANNOTATION, written_rule
from chartkit.suggestions import suggestion

SUPPRESSION: Final = "CK601"
_KEYS: Final = frozenset({"policy", "rule", "reason", "until"})
_HINT: Final = (
    "write a list: - {policy: NAME, reason: TEXT}; 'rule' and 'until: 2027-01-31' may be added"
)


class Suppression(NamedTuple):
    """A suppression of findings about one object. rule: empty for all rules of the policy; until:
    the last day on which it holds."""

    policy: str
    rule: str
    reason: str
    until: date | None
    location: Location

    def covers(self, result: RuleResult) -> bool:
        """Report whether it is about a result's rule, named as the policy or as reports have it."""
        if self.policy not in (result.policy, result.policy_id):
            return False
        return not self.rule or self.rule in (result.rule, written_rule(result.rule))

    def __str__(self) -> str:
        return f"{self.policy}/{self.rule}" if self.rule else self.policy


def read_suppressions(
    resource: Resource, today: date, are_allowed: bool
) -> tuple[list[Suppression], list[Diagnostic]]:
    """Return the suppressions of an object that hold, and a warning for each of the others."""
    location = resource.location.within(pointer_of("metadata", "annotations", ANNOTATION))
    if not are_allowed:
        hint = "put it into the baseline, or write a PolicyException"
        return [], [_warning(f"{ANNOTATION} does not count: suppressions are off", location, hint)]
    try:
        items = _items(mapping_at(resource.body, "metadata", "annotations")[ANNOTATION], location)
    except InputError as error:
        return [], [_warning(error.message, location, error.hint)]
    suppressions: list[Suppression] = []
    warnings: list[Diagnostic] = []
    for item in items:
        try:
            suppressions.append(_suppression(item, location, today))
        except InputError as error:
            warnings.append(_warning(error.message, location, error.hint))
    return suppressions, warnings


def _warning(message: str, location: Location, hint: str | None) -> Diagnostic:
    return Diagnostic(SUPPRESSION, Severity.WARNING, message, location, hint)


def _items(value: Json, location: Location) -> list[Json]:
    if not isinstance(value, str):
        raise InputError(f"{ANNOTATION} is not a string", location, _HINT)
    try:
        items = parse_yaml(value)
    except InputError as error:
        what = f"{ANNOTATION} is not YAML: {single_line(error.message)}"
        raise InputError(what, location, _HINT) from None
    items = [items] if isinstance(items, dict) else items
    if not isinstance(items, list) or not items:
        raise InputError(f"{ANNOTATION} is not a list", location, _HINT)
    return items


def _suppression(item: Json, location: Location, today: date) -> Suppression:
    """Return the suppression of an item; raise InputError for one that does not hold."""
    from chartkit.scan.gate.baseline import parse_date

    if not isinstance(item, dict) or not all(isinstance(text, str) for text in item.values()):
        raise InputError(f"an item of {ANNOTATION} is not a mapping of strings", location, _HINT)
    body: Body = item
    for key in body:
        if key not in _KEYS:
            hint = suggestion(key, _KEYS) or _HINT
            raise InputError(f"{ANNOTATION} has the unknown key '{key}'", location, hint)
    policy = body.get("policy", "").strip()
    if not policy:
        raise InputError(f"an item of {ANNOTATION} names no policy", location, _HINT)
    reason = " ".join(body.get("reason", "").split())
    if not reason:
        what = f"the suppression of {policy} has no reason and does not count"
        raise InputError(what, location, "add 'reason'")
    until = parse_date(body["until"].strip(), location) if "until" in body else None
    if until is not None and until < today:
        what = f"the suppression of {policy} ended on {until.isoformat()}"
        raise InputError(what, location, f"it was: {reason}; fix the finding, or renew 'until'")
    return Suppression(policy, body.get("rule", "").strip(), reason, until, location)


def unneeded(
    suppressions: Sequence[Suppression], used: Sequence[Suppression], policies: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a note for each suppression that nothing needs; policies: the names of those that
    run. One of a policy that does not run is not judged, unless its name seems misspelt."""
    for suppression in suppressions:
        hint = suggestion(suppression.policy, policies)
        if suppression in used or (hint is None and suppression.policy not in policies):
            continue
        what = f"the suppression names '{suppression.policy}', which is none of the policies"
        if suppression.policy in policies:
            what = f"the suppression of {suppression} is not needed: nothing is found"
            hint = f"remove it from {ANNOTATION}"
        yield Diagnostic(SUPPRESSION, Severity.NOTE, what, suppression.location, hint)

"""`promotions.yaml`: what was promoted when, by what evidence, and what it was before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final

from chartkit.addons.operate.promote.model import Plan, PlannedPolicy, Verdict
from chartkit.documents.reader import parse_yaml, read_file
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location
from chartkit.output.yaml_edit import rewritten

FILE_NAME: Final = "promotions.yaml"
_LIST: Final = "promotions"
_HEAD: Final = """\
# What was promoted to Enforce, by what evidence, and what it was before: `chartkit promote --back`
# reads it. `chartkit promote --write` adds to it.
apiVersion: chartkit.dev/v1
kind: Promotions
promotions:
"""
_BACK: Final = "back"


def read_decisions(file: Path) -> list[Body]:
    """Return the decisions of a file in their order, none where there is no file; raise
    InputError."""
    if not file.is_file():
        return []
    documents = read_file(file)
    found = documents[0].body.get(_LIST) if documents and isinstance(documents[0].body, dict) else 0
    entries = found if found is not None else []
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        hint = "`chartkit promote --write` writes it"
        raise InputError("is not a record of promotions", Location(str(file)), hint)
    return entries


def _is_entry(entry: Json) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("environment"), str)
        and isinstance(entry.get("policies"), dict)
        and all(isinstance(policy, dict) for policy in entry["policies"].values())
    )


def decision(plan: Plan, today: date, before: Mapping[str, Body], exceptions: str) -> Body:
    """Return the record of a plan that is carried out.

    before: the actions that the environment gave each policy; exceptions: the file that was
    written, empty for none.
    """
    entry: Body = {"date": today.isoformat(), "environment": plan.environment}
    if plan.namespaces:
        entry["namespaces"] = list(plan.namespaces)
    entry["policies"] = {
        policy.candidate.name: _policy(policy, before[policy.candidate.name], exceptions)
        for policy in plan.of(Verdict.PROMOTE)
    }
    return entry


def _policy(planned: PlannedPolicy, before: Body, exceptions: str) -> Body:
    evidence = planned.candidate.evidence
    body: Body = {"before": dict(before), "evidence": evidence_body(planned)}
    if planned.exceptions:
        body["exceptions"] = {"file": exceptions, "objects": planned.exceptions}
    if evidence.unsent:
        body["evidence"]["notSent"] = len(evidence.unsent)
    return body


def evidence_body(planned: PlannedPolicy) -> Body:
    """Return the evidence about a policy for a record."""
    evidence = planned.candidate.evidence
    body: Body = {
        "objects": len(evidence.objects),
        "sources": {name: len(names) for name, names in sorted(evidence.judged.items())},
    }
    if evidence.reported:
        reported: Body = {"results": dict(sorted(evidence.reported.items()))}
        for key, moment in (("from", evidence.since), ("to", evidence.until)):
            if moment is not None:
                reported[key] = moment.date().isoformat()
        if evidence.outdated:
            reported["outdated"] = evidence.outdated
        body["reports"] = reported
    return body


def way_back(environment: str, names: Sequence[str], today: date) -> Body:
    """Return the record of promotions that are taken back."""
    return {
        "date": today.isoformat(),
        "environment": environment,
        _BACK: True,
        "policies": {name: {} for name in names},
    }


def last_promotion(entries: Sequence[Body], environment: str, policy: str) -> Body | None:
    """Return the record of a policy's last promotion in an environment that was not taken back,
    with what it was `before`; None where there is none."""
    found: list[Body] = []
    for entry in entries:
        if entry["environment"] == environment and policy in entry["policies"]:
            if not entry.get(_BACK):
                found.append(entry["policies"][policy])
            elif found:
                found.pop()
    return found[-1] if found else None


def with_entry(file: Path, entry: Body) -> str:
    """Return the text of the file with one entry more, and all else as it was; raise InputError
    where it cannot be edited."""
    text = file.read_text("utf-8") if file.is_file() else _HEAD
    before = parse_yaml(text)
    wanted = {**before, _LIST: [*(before.get(_LIST) or ()), entry]}
    return rewritten(text, wanted, file, f"write '{_LIST}' without anchors")

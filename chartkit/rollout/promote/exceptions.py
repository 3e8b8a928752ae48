"""The exceptions that make a promotion safe: one for each object that would be refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_documents
from chartkit.model import Body, Json, Location, mapping_at, mappings_at
from chartkit.rollout.promote.evidence import policy_name
from chartkit.rollout.promote.model import Plan, PlannedPolicy, Verdict
from chartkit.scan.gate.exceptions import exception_of
from chartkit.scan.gate.suppressions import Suppression
from chartkit.scan.gate.violation import written_rule

_REASON: Final = "violated the policy when it was promoted to Enforce"
_HERE: Final = Location("promotions.yaml")


def exceptions_text(plan: Plan, until: date, namespace: str) -> str:
    """Return the exceptions of a plan as YAML, empty if it needs none; until: the last day on which
    they hold; namespace: that of the exceptions."""
    bodies = [
        body
        for planned in plan.of(Verdict.PROMOTE)
        if planned.exceptions
        for body in _exceptions(planned, until, namespace)
    ]
    unique = {body["metadata"]["name"]: body for body in bodies}
    return dump_documents(unique.values()) if unique else ""


def text_without(file: Path, policies: Sequence[str]) -> str | None:
    """Return the text of a file without the exceptions of some policies, None if nothing is left;
    an exception for another policy as well stays whole. Raise InputError."""
    kept = [each for each in read_file(file) if not _is_only_for(each.body, policies)]
    texts = (each.source.text[each.start : each.end].strip("\n") for each in kept)
    parts = [text.removeprefix("---").strip("\n") for text in texts]
    return "---\n".join(f"{each}\n" for each in parts) if any(parts) else None


def _is_only_for(body: Json, policies: Sequence[str]) -> bool:
    spec = mapping_at(body, "spec")
    named = [each.get("policyName") for each in mappings_at(spec, "exceptions")]
    named += [each.get("name") for each in mappings_at(spec, "policyRefs")]
    return bool(named) and all(policy_name(str(each), policies) in policies for each in named)


def _exceptions(planned: PlannedPolicy, until: date, namespace: str) -> Iterator[Body]:
    """Yield an exception for each object and rule, for each form of the policy."""
    name = planned.candidate.name
    for found in planned.candidate.evidence.blocked:
        rule = written_rule(found.rule)
        suppression = Suppression(name, rule, _REASON, until, _HERE)
        for one in planned.candidate.compiled:
            body = exception_of(replace(found.resource), suppression, one, namespace)
            if body is not None:
                yield body

"""Compares what generate rules made with what was recorded, in `apply` and in `test`."""

import json
from collections.abc import Sequence
from typing import Any

from chartkit.model import Body, Resource, RuleResult
from chartkit.testing.matching import differs, find_expected

Results = Sequence[tuple[Resource, RuleResult]]
Case = dict[str, Any]


def generated_differ(case: Case, results: Results) -> str | None:
    """What of a case's `generated` was not recorded so; None where all of it agrees."""
    if case.get("generated") is None:
        return None
    recorded = [(one["policy"], one["resource"], one["object"]) for one in case["generated"]]
    found = [
        (result.policy.rpartition("/")[2], _name(resource), body)
        for resource, result in results
        for body in result.generated
    ]
    if _texts(found) == _texts(recorded):
        return None
    return f"generated: recorded {recorded}; found {found}"


def is_test(case: Case) -> bool:
    """Whether the case was recorded with Kyverno's test command, which sees what is cloned."""
    return "test_rows" in case


def clone_sources(case: Case) -> list[Body]:
    """What is there to be cloned in a case of the test command."""
    sources = case.get("clone_source") or []
    return sources if isinstance(sources, list) else [sources]


def tested_rows_differ(case: Case, results: Results) -> str | None:
    """What of the test command's rows was not recorded so."""
    recorded = [tuple(row[1:6]) for row in case["test_rows"]]
    candidate = Resource(case["candidate"])
    found = [row for resource, result in results for row in _rows(candidate, resource, result)]
    return None if found == recorded else f"rows: recorded {recorded}; found {found}"


def _rows(candidate: Resource, trigger: Resource, result: RuleResult) -> list[tuple[str, ...]]:
    if not result.generated:
        key = (trigger.api_version, trigger.kind, trigger.namespace, trigger.name)
        return [(result.policy, result.rule, "/".join(key), "Pass", "Ok")]
    rows: list[tuple[str, ...]] = []
    for body in result.generated:
        own = Resource(body)
        expected = find_expected(own, [candidate])
        if expected is None:
            verdict = ("Fail", "Resource error")
        elif differs(own.body, expected.body):
            verdict = ("Fail", "Resource diff")
        else:
            verdict = ("Pass", "Ok")
        rows.append((result.policy, result.rule, f"/{own.name}", *verdict))
    return rows


def _texts(rows: Sequence[tuple[str, str, Body]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def _name(resource: Resource) -> str:
    return f"{resource.namespace}/{resource.kind}/{resource.name}"

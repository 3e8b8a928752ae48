"""Runs the recorded cases of policies whose rules are CEL: every recorded row, and no other.

Formats: `NOTES-cel.md` beside the cases.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from chartkit.documents.reader import read_text
from chartkit.engine.cleanup import Cleaner
from chartkit.engine.cli_files.admissions import Admissions, UserContext
from chartkit.engine.cli_files.user_files import read_context, read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserGlobalContext, UserImages, UserMocks
from chartkit.engine.kubernetes.definitions import SCHEMA_RULE
from chartkit.engine.policies import (
    RunnablePolicy,
    compile_any,
    evaluate,
    is_policy,
    read_exceptions,
    sorted_out,
)
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import Request, as_submitted
from chartkit.engine.responses import explain
from chartkit.errors import CompileError, InputError
from chartkit.model import Body, Location, Resource, RuleResult, Status
from tests.conformance.engine_policies import resource_of, rows_differ, user_of
from tests.conformance.generated import generated_differ
from tests.conformance.patched import patched_differ

Case = dict[str, Any]
Judge = Callable[[Sequence[RunnablePolicy], Request, World], list[RuleResult]]

_PLACE: Final = Location("case.jsonl")


def explained(
    policies: Sequence[RunnablePolicy], request: Request, world: World
) -> list[RuleResult]:
    """Return the results of a run that says why, each of which has a decision."""
    decisions, results = explain(policies, request, world)
    for result in results:
        named = [one.status for one in decisions if one.policy == result.policy_id]
        assert result.status in named or result.patched_target is not None
    return results


def run_case(case: Case, judge: Judge = evaluate) -> str | None:
    """What a case shows that was not recorded; None where it agrees."""
    refusal = str(case.get("cli_error") or "")
    try:
        values = read_values(case.get("values"), _PLACE, read_settings([]))
        policies, cleaners = _policies(case)
    except InputError as error:
        return f"refused: {error}"
    except CompileError as error:
        return _refusal_differs(case, refusal, error)
    if refusal and not case.get("crash"):
        return f"taken, where Kyverno says: {refusal}"
    context = _context(case)
    there = [*context.resources, *_params(case)]
    world = World(
        api=UserApi(Cluster(there)),
        images=UserImages(context.images),
        global_context=UserGlobalContext(),
        mocks=UserMocks(values),
    )
    names = [one.policy.name for one in policies]
    admissions = Admissions(names, values, user_of(case["userinfo"]))
    results: list[tuple[Resource, RuleResult]] = []
    for resource in _objects(case):
        is_json = "json" in case
        request = Request(resource, is_json=True) if is_json else admissions.request(resource)
        found = judge(policies, request, world)
        found += filter(None, (one.evaluate(request, world) for one in cleaners))
        results += [(resource, result) for result in found]
    if case.get("crash"):
        return None
    if "--audit-warn" in (case.get("flags") or ()):
        results = [(resource, _warned(result)) for resource, result in results]
    fault = rows_differ(case, results) or patched_differ(case, results, after_all=True)
    return fault or generated_differ(case, results)


def _policies(case: Case) -> tuple[Sequence[RunnablePolicy], Sequence[Cleaner]]:
    around = read_exceptions(resource_of(body) for body in case["exceptions"])
    documents = [resource_of(body) for body in case["policies"]]
    around = around.with_bindings(documents)
    return sorted_out(compile_any(one, around) for one in documents if is_policy(one))


def _params(case: Case) -> list[Body]:
    return [as_submitted(resource_of(body)).body for body in case.get("params") or ()]


def _context(case: Case) -> UserContext:
    if not case.get("context"):
        return UserContext()
    (document,) = read_text(json.dumps(case["context"]), _PLACE.file)
    return read_context(document)


def _refusal_differs(case: Case, refusal: str, error: CompileError) -> str | None:
    if not refusal:
        # The recorded program drops what its schema does not take without a word.
        dropped = not case["expected"] and error.diagnostics[0].rule_id == SCHEMA_RULE
        return None if dropped else f"refused: {error.message}"
    missing = [one.message for one in error.diagnostics if one.message not in refusal]
    return f"refused: {missing} not in {refusal!r}" if missing else None


def _objects(case: Case) -> list[Resource]:
    if "json" in case:
        return [Resource(case["json"], _PLACE)] if isinstance(case["json"], dict) else []
    return [as_submitted(resource_of(body)) for body in case["resources"]]


def _warned(result: RuleResult) -> RuleResult:
    return replace(result, status=Status.WARN) if result.status is Status.FAIL else result

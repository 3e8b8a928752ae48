"""Runs the recorded cases that apply policies to objects: every recorded row, and no other.

Formats: `NOTES-patterns.md` and `NOTES-jmes.md` beside the cases.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from chartkit.documents.reader import read_text
from chartkit.engine.cleanup import CleanupPolicy, read_cleanup_policy
from chartkit.engine.cli_files.admissions import UserValues
from chartkit.engine.cli_files.user_files import read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserGlobalContext, UserImages, UserMocks
from chartkit.engine.cluster_policy.compile import CompiledPolicy, compile_policy
from chartkit.engine.cluster_policy.exceptions import read_exception
from chartkit.engine.kubernetes.definitions import SCHEMA_RULE
from chartkit.engine.kubernetes.kinds import CLEANUP_KINDS, GroupVersionKind, kind_of
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import Operation, Request, User, as_submitted
from chartkit.errors import CompileError, InputError
from chartkit.model import Body, Location, Resource, RuleResult
from tests.conformance.controls import lifts_controls, ordered_message, ordered_properties
from tests.conformance.generated import clone_sources, generated_differ, is_test, tested_rows_differ
from tests.conformance.patched import patched_differ

Case = dict[str, Any]
Row = tuple[str, str, str, str, str, tuple[tuple[str, str], ...]]

_PLACE: Final = Location("case.jsonl")
_CRASHED: Final = 2
_INVALID: Final = "Invalid Policy"
_OPERATORS: Final = re.compile(r"valid values: \[.*\]")
"""Operators are listed in no order."""


def run_case(case: Case) -> str | None:
    """What a case shows that was not recorded; None where it agrees."""
    try:
        values = read_values(case.get("values"), _PLACE, read_settings(_settings(case)))
        exceptions = [read_exception(resource_of(one)) for one in case.get("exceptions") or ()]
    except (InputError, CompileError) as error:
        recorded = case.get("cli_error") or case.get("exit_code") == 1
        return None if recorded and not case["expected"] else f"refused: {error}"
    policies: list[CompiledPolicy] = []
    cleanup: list[CleanupPolicy] = []
    for body in _policy_bodies(case):
        try:
            if body.get("kind") in CLEANUP_KINDS:
                cleanup.append(read_cleanup_policy(resource_of(body)))
            else:
                policies.append(compile_policy(resource_of(body), exceptions))
        except CompileError as error:
            fault = _refusal_differs(case, body["metadata"]["name"], error)
            if fault:
                return fault
    refused = _refusals(case)
    if refused and len(policies) + len(cleanup) == len(_policy_bodies(case)):
        return f"taken, where Kyverno says: {refused}"
    results = _results(case, policies, values) + _cleaned(case, cleanup, values)
    if is_test(case):
        return tested_rows_differ(case, results)
    fault = rows_differ(case, results) or patched_differ(case, results)
    return fault or generated_differ(case, results)


def _settings(case: Case) -> list[str]:
    given = case.get("set") or ""
    return given.split(",") if isinstance(given, str) else given


def _policy_bodies(case: Case) -> list[Body]:
    return list(case.get("policies") or [case["policy"]])


def resource_of(body: Body) -> Resource:
    """The object as the reader of documents gives it: 1.0 is 1."""
    (document,) = read_text(json.dumps(body), _PLACE.file)
    return Resource(document.body, _PLACE)


def _refusals(case: Case) -> list[str]:
    skipped = case.get("policies_skipped")
    if skipped:
        return list(skipped.values()) if isinstance(skipped, dict) else [str(skipped)]
    if case.get("policy_error"):
        return [case["policy_error"]]
    invalid = [row["message"] for row in case["expected"] if row["result"] == _INVALID]
    if invalid:
        return invalid
    note = case.get("note") or ""
    return [note] if "not loaded" in note else []


def _refusal_differs(case: Case, name: str, error: CompileError) -> str | None:
    recorded = _refusals(case)
    if not recorded:
        return f"refused: {error.message}"
    if "not loaded" in recorded[0]:
        schema = all(one.rule_id == SCHEMA_RULE for one in error.diagnostics)
        return None if schema else f"refused by the webhook: {error.message}"
    texts = {_OPERATORS.sub("", one.partition(f"{name}: ")[2] or one) for one in recorded}
    return (
        None
        if _OPERATORS.sub("", error.message) in texts
        else f"refused: {error.message!r} not in {texts}"
    )


def _results(
    case: Case, policies: Sequence[CompiledPolicy], values: UserValues
) -> list[tuple[Resource, RuleResult]]:
    world = World(
        api=UserApi(_cluster(case)),
        images=UserImages({}),
        global_context=UserGlobalContext(case.get("globalContextEntries") or ()),
        mocks=UserMocks(values, case.get("apiCallResponses") or ()),
    )
    results = []
    for body in case["resources"]:
        resource = as_submitted(resource_of(body))
        request = _request(case, resource, policies, values)
        for result in evaluate(policies, request, world):
            results.append((resource, result))
    return results


def _cleaned(
    case: Case, policies: Sequence[CleanupPolicy], values: UserValues
) -> list[tuple[Resource, RuleResult]]:
    results = []
    for body in case["resources"]:
        resource = as_submitted(resource_of(body))
        request = _request(case, resource, (), values)
        results += [(resource, policy.evaluate(request)) for policy in policies]
    return results


def _cluster(case: Case) -> Cluster:
    """What is there already: the objects themselves, and those recorded as targets. A generate rule
    sees what it clones in the test command alone."""
    if is_test(case):
        return Cluster(clone_sources(case))
    if case.get("generated") is not None:
        return Cluster()
    targets = case.get("targets") or case.get("target_resources") or ()
    return Cluster(as_submitted(resource_of(body)).body for body in (*case["resources"], *targets))


def _request(
    case: Case, resource: Resource, policies: Sequence[CompiledPolicy], values: UserValues
) -> Request:
    names = [policy.policy.name for policy in policies]
    named = values.operation(names[0], resource.name) if names else ""
    # The command-line program tells apart these two; all else is matched as CREATE.
    operation = Operation(named) if named in ("UPDATE", "DELETE") else Operation.CREATE
    kind, subresource = _subresource(case, resource)
    return Request(
        resource,
        resource if operation is Operation.UPDATE else None,
        operation,
        user_of(case.get("userinfo")),
        values.labels.get(resource.namespace, {}),
        subresource=subresource,
        kind=kind,
        variables={name: values.for_resource(name, resource.name) for name in names},
    )


def _subresource(case: Case, resource: Resource) -> tuple[GroupVersionKind | None, str]:
    for one in (case.get("values") or {}).get("subresources") or ():
        if _kind(one["subresource"]) == kind_of(resource):
            return _kind(one["parentResource"]), one["subresource"]["name"].split("/")[1]
    return None, ""


def _kind(body: Body) -> GroupVersionKind:
    return GroupVersionKind(body.get("group", ""), body.get("version", ""), body.get("kind", ""))


def user_of(body: Body | None) -> User | None:
    if not body:
        return None
    info = body.get("userInfo") or {}
    return User(
        info.get("username") or "",
        info.get("uid") or "",
        tuple(info.get("groups") or ()),
        info.get("extra") or {},
        tuple(body.get("roles") or ()),
        tuple(body.get("clusterRoles") or ()),
    )


def rows_differ(case: Case, results: Sequence[tuple[Resource, RuleResult]]) -> str | None:
    found = [
        (
            result.policy,
            result.rule,
            _name(resource),
            result.status.value,
            result.message,
            tuple(sorted(result.properties.items())),
        )
        for resource, result in results
    ]
    if case.get("exit_code") == _CRASHED:
        # Where the recorded program crashed there is no row; here the rule has an error.
        if not any(row[3] == "error" for row in found):
            return f"no error: {found}"
        found = [row for row in found if row[3] != "error"]
    recorded = [_row(row) for row in case["expected"] if row["result"] != _INVALID]
    if case.get("exceptions") or any(map(lifts_controls, _policy_bodies(case))):
        found, recorded = [_ordered(row) for row in found], [_ordered(row) for row in recorded]
    if _byresource_of(found) == _byresource_of(recorded):
        return None
    missing = [row for row in recorded if row not in found]
    added = [row for row in found if row not in recorded]
    return f"recorded only: {missing}; found only: {added}"


def _row(row: dict[str, Any]) -> Row:
    properties = tuple(sorted((row.get("properties") or {}).items()))
    return row["policy"], row["rule"], row["resource"], row["result"], row["message"], properties


def _ordered(row: Row) -> Row:
    properties = ordered_properties(dict(row[5]))
    return *row[:4], ordered_message(row[4]), tuple(sorted(properties.items()))


def _name(resource: Resource) -> str:
    return f"{resource.namespace}/{resource.kind}/{resource.name}"


def _byresource_of(rows: Sequence[Row]) -> list[Row]:
    """Sorted by object and policy; rules stay in order. Some files put the kind first."""

    def key(row: Row) -> tuple[list[str], str]:
        return sorted(row[2].split("/")), row[0]

    return sorted(
        ((*row[:2], "/".join(sorted(row[2].split("/"))), *row[3:]) for row in rows), key=key
    )

"""Policies and objects: the results, each with the field that decided, and why."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from chartkit.addons.playground.inputs import Problems, objects_of, typed
from chartkit.documents.yaml_dump import dump_yaml, in_order
from chartkit.engine import Operation, Request, User, explain, is_exception, misnamed
from chartkit.engine import read_exceptions as exceptions_among
from chartkit.engine.why import RuleDecision
from chartkit.errors import ChartkitError, InputError
from chartkit.model import Body, Location, Resource, RuleResult
from chartkit.scan.policies import PolicySet, compile_all
from chartkit.scan.requests import Requests
from chartkit.scan.run import as_changed, namespaces_among, with_refusals
from chartkit.scan.user_inputs import UserInputs
from chartkit.scan.why.report import decision_body

_KEPT: Final = 8
_MOST_ROWS: Final = 5_000
_MOST_SECONDS: Final = 15.0
"""The processor time after which no further object is judged."""
_COUNTED: Final = 1.0
"""The most of these that one object takes up: it may take longer, and the others are judged."""
_MOST_LINES: Final = 2_000
"""The lines of an object whose change is shown as a diff."""
_MOST_PARTS: Final = 400
"""The checks of a decision that are shown."""


def evaluate(given: Body, step: Callable[[int], object]) -> Body:
    """Return the results of policies for objects; step: called with each number before it."""
    problems = Problems("policies")
    answer: Body = {"rows": [], "mutated": [], "generated": [], "problems": problems.found}
    try:
        policies = _compiled(typed(given, "policies", str), typed(given, "exceptions", str))
        problems.add_all([*policies.diagnostics, *policies.remarks])
        objects = objects_of("objects", typed(given, "objects", str))
        old = objects_of("old", typed(given, "old", str))
        before = {_identity(resource): resource for resource in old}
        requests = _requests(policies, [*objects, *old], given, problems)
        name = typed(given, "operation", str) or "CREATE"
        if name not in ("CREATE", "UPDATE", "DELETE"):
            raise InputError("the operation is CREATE, UPDATE or DELETE")
        operation = Operation(name)
        context = replace(
            requests.context(requests.world()),
            operation=operation if operation is not Operation.CREATE else "",
        )
        complete = requests.completion()
        judges = [policy for policy in requests.policies.policies if not policy.judges_json]
        admissions = context.admissions(judges)
        silent: dict[str, RuleDecision] = {}
        left_out, spent = typed(given, "left_out", list), 0.0
        for number, resource in enumerate(objects):
            if number in left_out:
                message = "this object is too much for the page, and has no results here"
                problems.add(message, resource.location, "chartkit scan judges it", "warning")
                continue
            if len(answer["rows"]) > _MOST_ROWS or spent > _MOST_SECONDS:
                message = "from here on, objects are too many for the page, and are not judged"
                problems.add(message, resource.location, "chartkit scan judges all", "warning")
                break
            step(number)
            started = time.process_time()
            request = context.request(resource, admissions)
            request = replace(request, operation=operation, old=_old(request, operation, before))
            decisions, results = explain(judges, request, context.world)
            results = list(complete(resource, with_refusals(request.resource, results)))
            answer["rows"] += _rows(request.resource, decisions, results)
            answer["mutated"] += _mutated(request.resource, results)
            answer["generated"] += _generated(results)
            # Record for each policy the check that keeps its rules from objects: the last one about
            # more than their kind, or a result.
            for rule in decisions:
                check = silent.get(rule.policy)
                if check is None or (check.status is None and not rule.decision.is_of_another_kind):
                    silent[rule.policy] = rule
            spent += min(time.process_time() - started, _COUNTED)
        for rule in silent.values():
            if rule.status is None:
                message = f"{rule.name} applies to none of the objects: {rule.decision.text}"
                problems.add(message, rule.decision.location, level="note")
    except ChartkitError as error:
        problems.add_error(error)
    return answer


@lru_cache(maxsize=_KEPT)
def _compiled(policies: str, exceptions: str) -> PolicySet:
    objects = objects_of("policies", policies)
    for resource in objects:
        if (error := misnamed(resource)) is not None:
            raise error
    excepting = objects_of("exceptions", exceptions)
    for resource in excepting:
        if not is_exception(resource):
            hint = "policies and objects have editors of their own"
            raise InputError(f"{resource.kind} is not a PolicyException", resource.location, hint)
    return compile_all(objects, exceptions_among([*objects, *excepting]))


def _requests(
    policies: PolicySet, objects: Sequence[Resource], given: Body, problems: Problems
) -> Requests:
    """Return policies with the existing objects, and with the user's input about requests."""
    groups = tuple(str(group) for group in typed(given, "groups", list))
    user = User(typed(given, "user", str), groups=groups)
    inputs = UserInputs(user=user if user != User() else None)
    requests = Requests.of(policies, objects, inputs, note=lambda fault: problems.add_all([fault]))
    namespaces = dict(requests.namespace_objects)
    for name, labels in typed(given, "namespace_labels", dict).items():
        if isinstance(labels, dict):
            new = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            namespaces = namespaces_among([Resource(new)]) | namespaces
            own = namespaces[name]["metadata"]["labels"]
            own |= {key: str(value) for key, value in labels.items()}
    return requests._replace(namespace_objects=namespaces)


def _old(
    request: Request, operation: Operation, before: Mapping[tuple[str, ...], Resource]
) -> Resource | None:
    if operation is not Operation.UPDATE:
        return request.old
    # An object of which no other state is given is updated without a change.
    return before.get(_identity(request.resource), request.resource)


def _identity(resource: Resource) -> tuple[str, ...]:
    return resource.kind, resource.namespace or "default", resource.name


def _rows(
    resource: Resource, decisions: Sequence[RuleDecision], results: Sequence[RuleResult]
) -> Iterator[Body]:
    left = list(decisions)
    for result in results:
        rule = next((decision for decision in left if decision.is_about(result)), None)
        if rule is not None:
            left.remove(rule)
        at = rule.decision.location if rule is not None else None
        yield {
            "policy": result.policy,
            "rule": result.rule,
            "kind": resource.kind,
            "name": resource.name,
            "namespace": resource.namespace,
            "status": str(result.status),
            "message": result.message,
            "object": _span(resource, result.fields),
            "rule_at": {"line": at.line, "column": at.column or 1} if at and at.line else None,
            "why": _why(rule, resource),
        }


def _why(rule: RuleDecision | None, resource: Resource) -> Body | None:
    if rule is None:
        return None
    parts = sum(1 for _ in rule.decision.walk())
    shown = rule.decision if parts <= _MOST_PARTS else replace(rule.decision, parts=())
    return decision_body(shown, resource)


def _span(resource: Resource, fields: Sequence[str]) -> Body | None:
    """Return the place of the first field, with its whole line; without one, the object's."""
    location: Location = resource.location.within(fields[0]) if fields else resource.location
    places = resource.location.places
    if not location.line or places is None:
        return None
    first, lines = places.excerpt(location.line)
    line, column = lines[location.line - first], location.column or 1
    return {
        "line": location.line,
        "column": column,
        "length": max(1, len(line.rstrip()) - column + 1),
    }


def _mutated(resource: Resource, results: Sequence[RuleResult]) -> Iterator[Body]:
    changed = as_changed(resource, results)
    pairs = [(resource, changed.body)] if changed is not resource else []
    pairs += [
        (Resource(result.patched_target), result.patched_target)
        for result in results
        if result.patched_target
    ]
    for before, after in pairs:
        old = dump_yaml(before.body) if before.body is not after else ""
        new = dump_yaml(in_order(after, before.body))
        lines = (old.splitlines(), new.splitlines())
        is_short = max(map(len, lines)) <= _MOST_LINES
        diff = difflib.unified_diff(*lines, "before", "after", lineterm="") if is_short else ()
        yield {
            "kind": before.kind,
            "name": before.name,
            "namespace": before.namespace,
            "before": old,
            "after": new,
            "diff": "\n".join(diff),
        }


def _generated(results: Sequence[RuleResult]) -> Iterator[Body]:
    for result in results:
        for body in (*result.generated, *result.updated):
            made = Resource(body)
            yield {
                "policy": result.policy,
                "rule": result.rule,
                "kind": made.kind,
                "name": made.name,
                "yaml": dump_yaml(body),
            }

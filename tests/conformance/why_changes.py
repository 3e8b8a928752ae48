"""Whether what `engine.why` names decided a result: with that changed, the result is another.

A change is made in the policy, at the location that the decision names: a filter, a condition or a
part of a pattern is taken away or turned round. Where several things decide, each change names the
next one, until the result is another.
"""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Final

from chartkit.documents.reader import read_text, resources
from chartkit.engine.cli_files.user_files import read_settings, read_values
from chartkit.engine.cli_files.world import UserApi, UserMocks
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.exceptions import read_exception
from chartkit.engine.ports.world import World
from chartkit.engine.request import as_submitted
from chartkit.engine.responses import explain
from chartkit.engine.why import Asked, Decision, RuleDecision
from chartkit.errors import CompileError, InputError
from chartkit.model import Body, Json, Location, Resource, Status, pointer_steps
from tests.conformance.engine_policies import Case, _cluster, _policy_bodies, _request

MOST_CHANGES: Final = 40
ALWAYS: Final = {"key": "a", "operator": "Equals", "value": "a"}
NEVER: Final = {"key": "a", "operator": "Equals", "value": "b"}


def outcomes(case: Case) -> list[tuple[str, str]]:
    """Return, for each decision of a case that names something to change, its kind of result and
    what is wrong; empty where another result came of the change."""
    bodies = _policy_bodies(case)
    if len(bodies) != 1 or bodies[0].get("kind") not in ("ClusterPolicy", "Policy"):
        return []
    found: list[tuple[str, str]] = []
    for resource in case["resources"]:
        try:
            before = decided(case, bodies[0], case.get("exceptions") or (), resource)
        except (CompileError, InputError):
            return []
        for one in before:
            if _changed(one, bodies[0], case.get("exceptions") or (), resource) is None:
                continue
            wrong = fault(case, bodies[0], resource, one)
            if wrong is not None:
                found.append((f"{one.status or 'none'} {one.decision.asked}", wrong))
    return found


def fault(case: Case, policy: Body, resource: Body, first: RuleDecision) -> str | None:
    """Return what is wrong with a decision, empty if another result comes of what it names; None
    where Kyverno refuses the changed policy."""
    exceptions: Sequence[Body] = case.get("exceptions") or ()
    one = first
    for _ in range(MOST_CHANGES):
        changed = _changed(one, policy, exceptions, resource)
        if changed is None:
            # What is left is no part of the policy, such as a pattern without any.
            return "" if one is not first else f"{case['id']}: {one.decision.text!r}"
        policy, exceptions = changed
        try:
            now = decided(case, policy, exceptions, resource)
        except CompileError:
            return None
        same = [each for each in now if each.rule == first.rule]
        if not same or same[0].status is not first.status:
            return ""
        if one.decision.text == same[0].decision.text and one.message == same[0].message:
            return f"{case['id']} {first.rule}: unchanged: {one.decision.text!r}"
        one = same[0]
    return f"{case['id']} {first.rule}: still {first.status}: {one.decision.text!r}"


def _placed(body: Body, file: str) -> Resource:
    (resource,) = resources(read_text(json.dumps(body, indent=1), file))
    return resource


def decided(
    case: Case, policy: Body, exceptions: Sequence[Body], resource: Body
) -> list[RuleDecision]:
    """Return the decisions of a policy about an object of a case."""
    values = read_values(case.get("values"), Location("case"), read_settings(_settings(case)))
    read = [read_exception(_placed(one, f"{at}.exception")) for at, one in enumerate(exceptions)]
    compiled = compile_policy(_placed(policy, "policy"), read)
    world = World(
        api=UserApi(_cluster(case)), mocks=UserMocks(values, case.get("apiCallResponses") or ())
    )
    submitted = as_submitted(_placed(resource, "object"))
    return explain([compiled], _request(case, submitted, [compiled], values), world)[0]


def _settings(case: Case) -> list[str]:
    given = case.get("set") or ""
    return given.split(",") if isinstance(given, str) else given


Changed = tuple[Body, Sequence[Body]]


def _changed(
    one: RuleDecision, policy: Body, exceptions: Sequence[Body], resource: Body
) -> Changed | None:
    """Return the policy and the exceptions with what a decision names changed; None where it names
    nothing that could be."""
    decision, location = one.decision, one.decision.location
    if location is None:
        return None
    if location.file != "policy":
        at = int(location.file.partition(".")[0])
        return policy, [each for index, each in enumerate(exceptions) if index != at]
    path = pointer_steps(location.path)
    if decision.asked is Asked.POD_SECURITY and path[-1] != "exclude":
        return (_without_control(policy, path, decision), exceptions) if decision.parts else None
    if decision.asked is Asked.NAMESPACE:
        namespace = resource["metadata"].get("namespace") or "default"
        return _with(policy, ("metadata", "namespace"), namespace), exceptions
    if "exclude" in path:
        return _without(policy, path[: path.index("exclude") + 1]), exceptions
    value = _at(policy, path)
    if isinstance(value, dict) and "operator" in value and "key" in value:
        return _with(policy, path, NEVER if _holds(decision, location) else ALWAYS), exceptions
    if path[-1:] == ("kinds",):
        return _with(policy, path, [decision.value]), exceptions
    if len(path) < 5 and decision.asked is not Asked.AUTOGEN:
        return None
    if decision.asked in _WITH_PARTS and one.status in (Status.PASS, None):
        return None
    if path[-1] in ("preconditions", "deny", "foreach", "validate", "mutate", "generate"):
        return None
    if path[-1] in ("pattern", "anyPattern", "verifyImages", "context", "cel", "podSecurity"):
        return None
    return _without(policy, path), exceptions


_WITH_PARTS: Final = frozenset({Asked.PATTERN, Asked.ANY_PATTERN, Asked.FOREACH, Asked.DENY})


def _holds(decision: Decision, location: Location) -> bool:
    """Return the answer of the condition at a location."""
    for part in decision.walk():
        is_there = part.asked is Asked.CONDITION and part.location == location
        if is_there and part.text in decision.text:
            return part.holds is not False
    return decision.holds is not False


def _without_control(policy: Body, path: Sequence[str], decision: Decision) -> Body:
    name = decision.text.partition(":")[0]
    body = deepcopy(policy)
    inner = _at(body, path)
    excluded = inner.setdefault("exclude", [])
    excluded += [{"controlName": name}, {"controlName": name, "images": ["*"]}]
    return body


def _step(value: Json, step: str) -> Json:
    return value[int(step)] if isinstance(value, list) else value[step]


def _at(body: Json, path: Sequence[str]) -> Json:
    for step in path:
        body = _step(body, step)
    return body


def _with(body: Body, path: Sequence[str], value: Json) -> Body:
    made: Body = deepcopy(body)
    parent = _at(made, path[:-1])
    parent[int(path[-1]) if isinstance(parent, list) else path[-1]] = value
    return made


def _without(body: Body, path: Sequence[str]) -> Body:
    made: Body = deepcopy(body)
    parent = _at(made, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    return made

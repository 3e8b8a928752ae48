"""What policies take is measured by rule and by context entry, where that is wanted."""

from dataclasses import replace
from itertools import count

from chartkit.engine.cleanup import Cleaner
from chartkit.engine.policies import RunnablePolicy, compile_any, evaluate
from chartkit.engine.ports.timings import TimedPart, Timing, Timings
from chartkit.engine.ports.world import OFFLINE
from chartkit.engine.verdicts import Judge
from chartkit.model import Resource
from tests.unit.engine.policies import obj, policy_resource, request, rule


def _clock() -> Timings:
    """Return timings by a clock that goes on by a nanosecond whenever it is read."""
    return Timings(count().__next__)


def _compiled(resource: Resource) -> RunnablePolicy:
    policy = compile_any(resource)
    assert not isinstance(policy, Cleaner)
    return policy


def test_rules_and_their_entries_are_measured() -> None:
    entry = {"name": "team", "variable": {"value": "{{ request.object.metadata.name }}"}}
    condition = {"key": "{{ team }}", "operator": "Equals", "value": "x"}
    deny = {"message": "m", "deny": {"conditions": {"all": [condition]}}}
    policy = _compiled(policy_resource(rule("plain"), rule("asks", context=[entry], validate=deny)))
    timings = _clock()
    for _ in range(3):
        evaluate([policy], request(), replace(OFFLINE, timings=timings))
    assert dict(timings) == {
        TimedPart("p", "plain"): Timing(3, 3),
        TimedPart("p", "asks"): Timing(3, 9),
        TimedPart("p", "asks", "team"): Timing(3, 3),
    }


def test_a_rule_that_does_not_match_takes_no_time() -> None:
    timings = _clock()
    policy = _compiled(policy_resource())
    evaluate([policy], request(obj("Service")), replace(OFFLINE, timings=timings))
    assert not dict(timings)


def test_policies_in_cel_are_measured_as_a_whole() -> None:
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
    body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "v"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": "object.metadata.name != ''"}],
        },
    }
    timings = _clock()
    evaluate([_compiled(Resource(body))], request(), replace(OFFLINE, timings=timings))
    assert dict(timings) == {TimedPart("ValidatingPolicy/v"): Timing(1, 1)}


def test_equal_objects_are_judged_one_by_one() -> None:
    timings = _clock()
    judge = Judge([_compiled(policy_resource())], replace(OFFLINE, timings=timings))
    for _ in range(40):
        judge.results(request())
    assert dict(timings)[TimedPart("p", "r")].count == 40

"""Updates of objects that failed already, under rules that are enforced."""

from typing import Any

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation, Request
from chartkit.model import Body, Resource
from tests.unit.engine.policies import obj, policy_resource, request, rule

ALLOWED = "skipping the rule evaluation as pre-existing violations are allowed"
BAD, GOOD = obj(name="bad"), obj(name="good")


def _update(old: Resource, new: Resource, action: str = "Enforce", **parts: Any) -> list[str]:
    given = request(new, old=old, operation=Operation.UPDATE)
    return _messages(given, action, **parts)


def _messages(given: Request, action: str, **parts: Any) -> list[str]:
    validate: Body = {"pattern": {"metadata": {"name": "good"}}, "failureAction": action}
    validate |= parts.pop("validate", {})
    compiled = compile_policy(policy_resource(rule(validate=validate, **parts)))
    return [one.message for one in evaluate([compiled], given)]


FAILED = "validation error: rule r failed at path /metadata/name/"


def test_what_failed_before_is_skipped() -> None:
    assert _update(BAD, BAD) == [ALLOWED]
    assert _update(GOOD, BAD) == [FAILED]
    assert _update(BAD, GOOD) == ["validation rule 'r' passed."]


def test_only_where_the_rule_is_enforced_and_allows_it() -> None:
    assert _update(BAD, BAD, "Audit") == [FAILED]
    assert _update(BAD, BAD, validate={"allowExistingViolations": False}) == [FAILED]


def test_only_for_an_update() -> None:
    assert _messages(request(BAD, old=BAD), "Enforce") == [FAILED]
    assert _messages(request(BAD, operation=Operation.UPDATE), "Enforce") == [FAILED]


def test_only_where_the_old_object_is_matched() -> None:
    labelled = obj(name="bad", labels={"a": "b"})
    match = {"any": [{"resources": {"kinds": ["Pod"], "selector": {"matchLabels": {"a": "b"}}}}]}
    assert _update(labelled, labelled, match=match) == [ALLOWED]
    assert _update(BAD, labelled, match=match) == [FAILED]
    assert _update(obj("Service", name="bad"), BAD) == [FAILED]


def test_never_where_the_rule_has_preconditions() -> None:
    wanted = {"all": [{"key": "b", "operator": "Equals", "value": "b"}]}
    assert _update(BAD, BAD, preconditions=wanted) == [FAILED]
    assert _update(BAD, BAD, preconditions=[]) == [FAILED]


def test_expressions_see_the_old_object() -> None:
    deny = {
        "any": [{"key": "{{ request.object.metadata.name }}", "operator": "Equals", "value": "bad"}]
    }
    validate = {"pattern": None, "deny": {"conditions": deny}}
    assert _update(BAD, BAD, validate=validate) == [ALLOWED]
    assert _update(GOOD, BAD, validate=validate) == ["validation error: rule r failed"]


def test_objects_of_another_kind_are_asked_about_for_themselves() -> None:
    validate: Body = {"pattern": {"spec": {"hostNetwork": False}}, "failureAction": "Enforce"}
    compiled = compile_policy(policy_resource(rule(validate=validate)))
    found: list[str] = []
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        body = obj(kind, api_version="apps/v1").body
        spec = {"template": {"spec": {"hostNetwork": True}}}
        workload = Resource({**body, "spec": spec})
        given = request(workload, old=workload, operation=Operation.UPDATE)
        found += [one.message for one in evaluate([compiled], given)]
    assert found == [ALLOWED] * 3


def test_the_pod_security_standards_too() -> None:
    pod = Resource({**obj(name="bad").body, "spec": {"hostNetwork": True, "containers": []}})
    security = {"pattern": None, "podSecurity": {"level": "baseline", "version": "latest"}}
    assert _update(pod, pod, validate=security) == [ALLOWED]
    assert "hostNetwork" in _update(pod, pod, "Audit", validate=security)[0]

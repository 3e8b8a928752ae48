"""Exceptions of kyverno.io become exceptions from the policies that took over."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.exceptions import exceptions_in_cel
from chartkit.engine import Request, compile_any, evaluate, read_exceptions, sorted_out
from chartkit.engine.policies import is_exception
from chartkit.model import Body, Location, Resource, Status
from tests.data import from_table, tables

_MEMORY = Location("policy.yaml")


def policy(**changes: Any) -> Resource:
    """Return a policy of two rules about Pods, which Kyverno extends to controllers."""
    rules = [
        {
            "name": name,
            "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
            "validate": {"message": "not here", "pattern": {"spec": {f"=({field})": False}}},
        }
        for name, field in (("host", "hostNetwork"), ("pid", "hostPID"))
    ]
    body: Body = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "checks"},
        "spec": {"validationFailureAction": "Enforce", "rules": rules},
    }
    return Resource({**body, **changes}, _MEMORY)


def exception(spec: str, rules: list[str], name: str = "checks") -> Resource:
    body = {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "let-off", "namespace": "team"},
        "spec": {"exceptions": [{"policyName": name, "ruleNames": rules}], **yaml.safe_load(spec)},
    }
    return Resource(body, _MEMORY)


def convert_all(resources: list[Resource]) -> list[Conversion]:
    """Convert legacy objects that belong together."""
    batch = Batch(resources)
    return [batch.convert(each) for each in resources]


def objects() -> Iterator[Resource]:
    """Yield Pods and controllers of some names, namespaces and labels that fail one rule."""
    for field in ("hostNetwork", "hostPID"):
        yield from _failing({field: True, "containers": [{"name": "a", "image": "b"}]})


def _failing(pod: Body) -> Iterator[Resource]:
    for namespace in ("team", "other"):
        for name in ("node-exporter", "web"):
            for labels in (None, {}, {"app": "exporter"}, {"app": "other"}):
                metadata: Body = {"name": name, "namespace": namespace}
                if labels is not None:
                    metadata["labels"] = labels
                template = {"metadata": {"labels": {"app": "other"}}, "spec": pod}
                job = {"jobTemplate": {"spec": {"template": template}}}
                for api, kind, spec in (
                    ("v1", "Pod", pod),
                    ("apps/v1", "Deployment", {"template": template, "selector": {}}),
                    ("batch/v1", "CronJob", job),
                ):
                    body = {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
                    yield Resource(body, _MEMORY)


def fails(policies: list[Resource], exceptions: list[Resource], resource: Resource) -> bool:
    attached = read_exceptions(exceptions)
    admitting, _ = sorted_out([compile_any(each, attached) for each in policies])
    results = evaluate(admitting, Request(resource))
    assert all(each.status is not Status.ERROR for each in results), results
    return any(each.status is Status.FAIL for each in results)


_MATCH = "match: {any: [{resources: {kinds: [%s]}}]}"


@pytest.mark.slow
@pytest.mark.parametrize("rules", [["host"], ["*"], ["host", "autogen-host"], ["host*", "pid"]])
@pytest.mark.parametrize(
    "spec",
    [
        _MATCH % "Pod",
        _MATCH % "Pod, Deployment",
        _MATCH % "'*'",
        "match: {any: [{resources: {kinds: [Pod, CronJob], names: ['node-*']}}, "
        "{resources: {kinds: [Deployment], namespaces: [team]}}]}",
        "match: {all: [{resources: {kinds: [Pod, Deployment], namespaces: [team], "
        "selector: {matchLabels: {app: exporter}}}}]}",
        "match: {any: [{resources: {namespaces: [team]}}]}",
        f"{_MATCH % 'Pod, Deployment'}\nconditions: {{all: [{{key: "
        "\"{{ request.object.metadata.labels.app || '' }}\", operator: Equals, value: exporter}]}",
    ],
)
def test_both_forms_let_the_same_objects_off(rules: list[str], spec: str) -> None:
    assert False in same_failures(policy(), exception(spec, rules))


def same_failures(legacy: Resource, let_off: Resource) -> set[bool]:
    """Return whether objects fail, of which both forms say the same."""
    conversions = convert_all([legacy, let_off])
    assert all(each.complete for each in conversions), [each.outcomes for each in conversions]
    made = [Resource(body, _MEMORY) for each in conversions for body in each.documents]
    exceptions = [each for each in made if is_exception(each)]
    policies = [each for each in made if each not in exceptions]
    seen = set()
    for resource in objects():
        before = fails([legacy], [let_off], resource)
        assert fails(policies, exceptions, resource) == before, resource.body
        seen.add(before)
    return seen


@pytest.mark.parametrize(
    "lifted", ["controlName: Host Namespaces", "controlName: Host Ports", "controlName: Seccomp"]
)
@pytest.mark.parametrize("rules", [["baseline"], ["baseline", "autogen-baseline"]])
def test_objects_are_judged_without_the_controls_that_are_lifted(
    rules: list[str], lifted: str
) -> None:
    rule = {
        "name": "baseline",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"podSecurity": {"level": "baseline", "version": "latest"}},
    }
    legacy = policy(spec={"validationFailureAction": "Enforce", "rules": [rule]})
    match = "match: {any: [{resources: {kinds: [Pod, Deployment], names: ['node-*']}}]}"
    let_off = exception(f"{match}\npodSecurity: [{{{lifted}}}]", rules)
    assert same_failures(legacy, let_off) == ({True, False} if "Names" in lifted else {True})


def test_rules_that_exceptions_tell_apart_do_not_share_a_policy() -> None:
    alone = convert_all([policy()])[0]
    apart = convert_all([policy(), exception(_MATCH % "Pod", ["pid"])])[0]
    assert [each["metadata"]["name"] for each in alone.documents] == ["checks"]
    assert [each["metadata"]["name"] for each in apart.documents] == ["checks-host", "checks-pid"]


def test_the_policies_that_took_over_are_named() -> None:
    converted = convert_all([policy(), exception(_MATCH % "Pod", ["pid"])])[1]
    (document,) = converted.documents
    assert document["metadata"] == {"name": "let-off", "namespace": "team"}
    assert document["spec"]["policyRefs"] == [{"kind": "ValidatingPolicy", "name": "checks-pid"}]
    assert document["spec"]["matchConditions"] == [
        {"name": "match", "expression": "request.kind.kind == 'Pod'"}
    ]
    assert converted.outcomes[0].replaced_by == ("PolicyException/let-off",)


def test_a_policy_of_a_namespace_is_lifted_there_alone() -> None:
    legacy = policy(kind="Policy", metadata={"name": "checks", "namespace": "team"})
    converted = convert_all([legacy, exception(_MATCH % "Pod", ["*"], "team/checks")])[1]
    (document,) = converted.documents
    assert document["spec"]["policyRefs"] == [
        {"kind": "NamespacedValidatingPolicy", "name": "checks"}
    ]
    expressions = [each["expression"] for each in document["spec"]["matchConditions"]]
    assert "request.namespace == 'team'" in expressions


@from_table("spec", "rules", "name", "reason")
def test_exceptions_without_a_form_stay(
    spec: str, rules: list[str], name: str, reason: str
) -> None:
    legacy = exception(spec, rules, name)
    converted = convert_all([policy(), legacy])[1]
    assert not converted.documents
    assert converted.remaining == legacy.body
    assert reason in converted.outcomes[0].reason


def test_an_exception_stays_for_the_rules_that_are_left() -> None:
    body = policy().body
    hard = {
        "name": "hard",
        "match": {"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["a"]}}]},
        "validate": {"message": "x", "pattern": {"spec": {"containers": []}}},
    }
    legacy = policy(spec={**body["spec"], "rules": [*body["spec"]["rules"], hard]})
    let_off = exception(_MATCH % "Pod", ["*"])
    converted = convert_all([legacy, let_off])[1]
    assert [each["kind"] for each in converted.documents] == ["PolicyException"]
    assert converted.remaining == let_off.body
    assert "rule hard of checks is not converted" in converted.outcomes[0].reason


def test_a_batch_is_sent_to_another_process() -> None:
    resources = [policy(), exception(_MATCH % "Pod", ["pid"])]
    make, arguments = Batch(resources).__reduce__()
    batch = make(*arguments)
    assert [len(batch.convert(each).documents) for each in resources] == [2, 1]


def test_a_policy_that_was_never_a_cluster_policy_has_no_rules_to_except() -> None:
    body = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {"validationActions": ["Deny"], "validations": [{"expression": "true"}]},
    }
    legacy = tables(__file__)["legacy"]
    found = exceptions_in_cel(
        Resource(legacy), lambda _: body, lambda _: [("ValidatingPolicy", "p")]
    )
    assert found == ((), "p is a ValidatingPolicy, and has no rules")

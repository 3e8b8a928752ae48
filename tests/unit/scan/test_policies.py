"""What reports say of policies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from chartkit.model import Body, Location, Resource, RuleResult, Status
from chartkit.report.model import ReportOptions
from chartkit.scan.policies import PolicySet, compile_all, load_policies
from chartkit.scan.run import run_scan
from tests.unit.engine.cel_policies.policies import pod, validating


def with_rules(action: str) -> Resource:
    """A ClusterPolicy named `p` that no Pod passes."""
    rule: Body = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"message": "no", "failureAction": action, "deny": {}},
    }
    body: Body = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p", "annotations": {"policies.kyverno.io/severity": "low"}},
        "spec": {"rules": [rule]},
    }
    return Resource(body, Location("rules.yaml"))


def in_cel(action: str) -> Resource:
    """A ValidatingPolicy named `p` that no Pod passes."""
    annotations = {"policies.kyverno.io/severity": "high"}
    return validating(
        "false",
        metadata={"name": "p", "annotations": annotations},
        validationActions=[action],
    )


def scanned(policies: PolicySet, *, audit_warn: bool = False) -> Sequence[RuleResult]:
    found: list[RuleResult] = []
    run_scan(
        policies.policies, [pod()], lambda _, results: found.extend(results), {},
        audit_warn=audit_warn,
    )  # fmt: skip
    return found


@pytest.mark.parametrize("order", [1, -1])
def test_policies_of_two_generations_may_have_one_name(order: int) -> None:
    policies = compile_all([with_rules("Enforce"), in_cel("Audit")][::order])
    options = ReportOptions(policies.facts())
    results = scanned(policies)
    assert {result.policy for result in results} == {"p"}
    said = {
        (result.rule, options.facts(result).severity, options.action(pod(), result))
        for result in results
    }
    assert said == {("r", "low", "Enforce"), ("", "high", "Audit")}


@pytest.mark.parametrize("order", [1, -1])
def test_only_the_one_that_audits_warns(order: int) -> None:
    policies = compile_all([with_rules("Enforce"), in_cel("Audit")][::order])
    statuses = {result.rule: result.status for result in scanned(policies, audit_warn=True)}
    assert statuses == {"r": Status.FAIL, "": Status.WARN}


PROFILE = """\
apiVersion: chartkit.dev/v1
kind: Profile
metadata: {name: ours}
spec:
  title: Ours
  description: One policy.
  policies:
    baseline/disallow-host-ports: {}
"""


@pytest.mark.parametrize(
    ("policy_type", "policy"),
    [
        ("ClusterPolicy", "disallow-host-ports"),
        ("ValidatingPolicy", "ValidatingPolicy/disallow-host-ports"),
    ],
)
def test_a_profile_in_a_file(tmp_path: Path, policy_type: str, policy: str) -> None:
    (tmp_path / "ours.yaml").write_text(PROFILE)
    found = load_policies([str(tmp_path / "ours.yaml")], {}, policy_type=policy_type)
    assert found.policies[0].policy.id == policy

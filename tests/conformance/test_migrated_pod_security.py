"""Converted pod security: the fixtures of Pod Security Admission, and the project's own Pods."""

from collections.abc import Sequence

import pytest

from chartkit.addons.migrate.convert import convert
from chartkit.documents.reader import read_file, resources
from chartkit.engine import evaluate
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import RunnablePolicy
from chartkit.engine.request import Request
from chartkit.model import Body, Resource, Status
from tests.objects import api_object
from tests.pod_security import CHECKS, MINORS, forbidden, not_passed, recorded
from tests.policy_forms import standard
from tests.shared import shared

VERSIONS = {
    "v1.19": "v1.19",
    "v1.24": "v1.24",
    "v1.25": "v1.25",
    "v1.29": "v1.29",
    "v1.33": "",
    "v1.35": "",
}
"""The folders of the fixtures, each with the version that a rule may name for it."""
_LEVELS = ("baseline", "restricted")


@pytest.mark.parametrize("minor", MINORS)
def test_converted_standards_agree_with_pod_security_admission(minor: int) -> None:
    standards = standard("ClusterPolicy", minor)
    pods = [each.resource for each in recorded()]
    for check, name in CHECKS.items():
        conversions = [convert(legacy) for legacy in standards[name]]
        assert all(each.complete for each in conversions), name
        new = [Resource(body) for each in conversions for body in each.documents]
        refused = not_passed(new, pods) if new else frozenset()
        assert refused == forbidden(check, minor), check


@pytest.mark.parametrize("level", _LEVELS)
@pytest.mark.parametrize("folder", VERSIONS)
def test_converted_pod_security_rules_judge_the_fixtures_as_before(folder: str, level: str) -> None:
    legacy = _rule(level, VERSIONS[folder] or "latest")
    conversion = convert(legacy)
    assert conversion.complete
    original = compile_policy(legacy)
    new = [compile_cel_policy(Resource(each)) for each in conversion.documents]
    for outcome in ("pass", "fail"):
        pods = resources(read_file(shared(f"conformance/psa/{folder}/{level}-{outcome}.yaml")))
        assert pods
        for pod in pods:
            refused = _refuses(new, pod)
            assert refused == _refuses([original], pod), pod.name
            assert refused or outcome == "pass", pod.name


def _refuses(policies: Sequence[RunnablePolicy], pod: Resource) -> bool:
    answers = evaluate(policies, Request(pod))
    assert answers
    assert not any(each.status is Status.ERROR for each in answers), pod.name
    return any(each.status is Status.FAIL for each in answers)


def _rule(level: str, version: str) -> Resource:
    rule: Body = {
        "name": "pss",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"podSecurity": {"level": level, "version": version}},
    }
    return Resource(api_object("kyverno.io/v1", "ClusterPolicy", "pss", spec={"rules": [rule]}))

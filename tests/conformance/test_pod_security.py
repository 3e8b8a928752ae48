"""Pod Security Admission and the policies agree on every recorded Pod, at its version and in every
form that the policies have."""

import re
from functools import cache

import pytest

from chartkit.model import Resource, RuleResult, Status
from tests.pod_security import CHECKS, GROUPS, MINORS, forbidden, recorded, refused
from tests.policy_forms import FORMS, compiled, judge, standard
from tests.policy_library import library, read
from tests.shared import shared

VERSIONS = (19, 24, 25, 29, 33, 35)
"""The minor versions of which Pod Security Admission's own fixtures are recorded."""

each_form = pytest.mark.parametrize("form", FORMS)
each_version = pytest.mark.parametrize("minor", VERSIONS)
each_level = pytest.mark.parametrize("level", GROUPS)


def test_every_check_has_a_policy_and_every_policy_a_check() -> None:
    policies = library().policies.values()
    assert {p.name for p in policies if p.group in GROUPS["restricted"]} == set(CHECKS.values())


@each_form
@each_version
@each_level
def test_admits_what_pod_security_admits(form: str, minor: int, level: str) -> None:
    for name, results in _judge(form, minor, level, "pass").items():
        assert [r for r in results if r.status is not Status.PASS] == [], name
        assert results, name


@each_form
@each_version
@each_level
def test_rejects_what_pod_security_rejects(form: str, minor: int, level: str) -> None:
    checks = {check.lower(): check for check in CHECKS}
    for name, results in _judge(form, minor, level, "fail").items():
        check = checks[re.sub(r"\d+$", "", name)]
        failed = {r.policy for r in results if r.status is Status.FAIL}
        assert CHECKS[check] in failed, name
        assert not [r for r in results if r.status is Status.ERROR], name


@each_form
@pytest.mark.parametrize("minor", MINORS)
def test_agrees_on_pods_of_our_own(form: str, minor: int) -> None:
    for check in CHECKS:
        assert refused(form, check, minor) == forbidden(check, minor), check


def test_pods_of_our_own_show_both_sides_of_every_check() -> None:
    names = {pod.resource.name for pod in recorded()}
    for check in CHECKS:
        found = {name for minor in MINORS for name in forbidden(check, minor)}
        assert found, check
        assert found != names, check


def _judge(form: str, minor: int, level: str, outcome: str) -> dict[str, list[RuleResult]]:
    rendered = standard(form, minor, GROUPS[level])
    policies = compiled(each for policy in rendered.values() for each in policy)
    found = {pod.name: judge(policies, pod) for pod in _pods(minor, level, outcome)}
    assert found
    return found


@cache
def _pods(minor: int, level: str, outcome: str) -> list[Resource]:
    return read(shared(f"conformance/psa/v1.{minor}/{level}-{outcome}.yaml"))

"""Pod Security Admission and the policies agree on every recorded Pod, at its version."""

from __future__ import annotations

import re
from functools import cache

import pytest

from chartkit.chart.library import LibraryPolicy
from chartkit.model import Resource, RuleResult, Status
from tests.policy_library import library, read, render, verdicts
from tests.shared import shared

CHECKS = {
    "allowprivilegeescalation": "disallow-privilege-escalation",
    "apparmorprofile": "restrict-apparmor-profiles",
    "capabilities_baseline": "disallow-capabilities",
    "capabilities_restricted": "disallow-capabilities-strict",
    "hostnamespaces": "disallow-host-namespaces",
    "hostpathvolumes": "disallow-host-path",
    "hostports": "disallow-host-ports",
    "hostprobesandhostlifecycle": "disallow-host-probes",
    "privileged": "disallow-privileged-containers",
    "procmount": "disallow-proc-mount",
    "procmount_restricted": "disallow-proc-mount-strict",
    "restrictedvolumes": "restrict-volume-types",
    "runasnonroot": "require-run-as-nonroot",
    "runasuser": "require-run-as-non-root-user",
    "seccompprofile_baseline": "restrict-seccomp",
    "seccompprofile_restricted": "restrict-seccomp-strict",
    "selinuxoptions": "disallow-selinux",
    "sysctls": "restrict-sysctls",
    "windowshostprocess": "disallow-host-process",
}
"""The policy of each check of Pod Security Admission, by the check's id in lower case."""

GROUPS = {"baseline": ("baseline",), "restricted": ("baseline", "restricted")}
VERSIONS = ("v1.19", "v1.24", "v1.25", "v1.29", "v1.33", "v1.35")

each_version = pytest.mark.parametrize("version", VERSIONS)
each_level = pytest.mark.parametrize("level", GROUPS)


def test_every_check_has_a_policy_and_every_policy_a_check() -> None:
    policies = library().policies.values()
    assert {p.name for p in policies if p.group in GROUPS["restricted"]} == set(CHECKS.values())


@each_version
@each_level
def test_admits_what_pod_security_admits(version: str, level: str) -> None:
    for name, results in _judge(version, level, "pass").items():
        assert [r for r in results if r.status is not Status.PASS] == [], name


@each_version
@each_level
def test_rejects_what_pod_security_rejects(version: str, level: str) -> None:
    for name, results in _judge(version, level, "fail").items():
        check = re.sub(r"\d+$", "", name.removeprefix("Pod/"))
        failed = {r.policy for r in results if r.status is Status.FAIL}
        assert CHECKS[check] in failed, name
        assert not [r for r in results if r.status is Status.ERROR], name


def _judge(version: str, level: str, outcome: str) -> dict[str, list[RuleResult]]:
    pods = _pods(version, level, outcome)
    found: dict[str, list[RuleResult]] = {f"Pod/{pod.name}": [] for pod in pods}
    for body in render(_policies(level), {"podSecurityVersion": version}).values():
        for name, results in verdicts(body, pods).items():
            found[name] += results
    assert found
    return found


def _policies(level: str) -> list[LibraryPolicy]:
    return [p for p in library().policies.values() if p.group in GROUPS[level]]


@cache
def _pods(version: str, level: str, outcome: str) -> list[Resource]:
    return read(shared(f"conformance/psa/{version}/{level}-{outcome}.yaml"))

"""Pod Security Admission and the policies agree on every recorded Pod, at its version.

`data/pod_security.jsonl` holds Pods written for this project, and for each check of Pod Security
Admission that forbids one the spans of minor versions (first and last) in which it does, recorded
from kubernetes/pod-security-admission as of July 2026, which knows checks up to version 1.37.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from chartkit.chart.library import LibraryPolicy
from chartkit.model import Body, Resource, RuleResult, Status
from tests.policy_library import library, read, render, verdicts
from tests.shared import shared

CHECKS = {
    "allowPrivilegeEscalation": "disallow-privilege-escalation",
    "appArmorProfile": "restrict-apparmor-profiles",
    "capabilities_baseline": "disallow-capabilities",
    "capabilities_restricted": "disallow-capabilities-strict",
    "hostNamespaces": "disallow-host-namespaces",
    "hostPathVolumes": "disallow-host-path",
    "hostPorts": "disallow-host-ports",
    "hostProbesAndHostLifecycle": "disallow-host-probes",
    "privileged": "disallow-privileged-containers",
    "procMount": "disallow-proc-mount",
    "procMount_restricted": "disallow-proc-mount-strict",
    "restrictedVolumes": "restrict-volume-types",
    "runAsNonRoot": "require-run-as-nonroot",
    "runAsUser": "require-run-as-non-root-user",
    "seccompProfile_baseline": "restrict-seccomp",
    "seccompProfile_restricted": "restrict-seccomp-strict",
    "seLinuxOptions": "disallow-selinux",
    "sysctls": "restrict-sysctls",
    "windowsHostProcess": "disallow-host-process",
}
"""The policy of each check of Pod Security Admission, by the check's id."""

GROUPS = {"baseline": ("baseline",), "restricted": ("baseline", "restricted")}
RECORDED = Path(__file__).parent / "data" / "pod_security.jsonl"
MINORS = range(19, 38)
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
    policies = {check.lower(): policy for check, policy in CHECKS.items()}
    for name, results in _judge(version, level, "fail").items():
        check = re.sub(r"\d+$", "", name.removeprefix("Pod/"))
        failed = {r.policy for r in results if r.status is Status.FAIL}
        assert policies[check] in failed, name
        assert not [r for r in results if r.status is Status.ERROR], name


@pytest.mark.parametrize("minor", MINORS)
def test_agrees_on_pods_of_our_own(minor: int) -> None:
    bodies = render(_policies("restricted"), {"podSecurityVersion": f"v1.{minor}"})
    recorded = _recorded()
    pods = [pod for pod, _ in recorded]
    for check, policy in CHECKS.items():
        expected = {
            pod.name
            for pod, forbidden in recorded
            if any(first <= minor <= last for first, last in forbidden.get(check, ()))
        }
        found = verdicts(bodies[policy], pods) if policy in bodies else {}
        failed = {
            name.removeprefix("Pod/")
            for name, results in found.items()
            if any(result.status is not Status.PASS for result in results)
        }
        assert failed == expected, check


def test_pods_of_our_own_show_both_sides_of_every_check() -> None:
    recorded = _recorded()
    for check in CHECKS:
        forbidden = [check in spans for _, spans in recorded]
        assert any(forbidden), check
        assert not all(forbidden), check


@cache
def _recorded() -> list[tuple[Resource, Mapping[str, list[tuple[int, int]]]]]:
    rows: list[Body] = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    return [(Resource(row["pod"]), row["forbidden"]) for row in rows]


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

"""What a change does to objects that policies generated."""

import pytest

from chartkit.model import Body, Resource
from chartkit.render.compare.fields import compare
from chartkit.render.compare.policy_risks import DELETED, LEFT
from chartkit.render.compare.risk import Level, risk


def _cluster_policy(*rules: str, synchronize: bool = True, orphan: bool = False) -> Body:
    generate = {"kind": "ConfigMap", "synchronize": synchronize}
    if orphan:
        generate["orphanDownstreamOnPolicyDelete"] = True
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"rules": [{"name": name, "generate": dict(generate)} for name in rules]},
    }


def _generating_policy(synchronize: bool = True, orphan: bool = False) -> Body:
    switches = {"synchronize": synchronize, "orphanDownstreamOnPolicyDelete": orphan}
    evaluation = {name: {"enabled": value} for name, value in switches.items()}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "GeneratingPolicy",
        "metadata": {"name": "p"},
        "spec": {"generate": [{"expression": "x"}], "evaluation": evaluation},
    }


_CASES: tuple[tuple[Body, Body | None, str], ...] = (
    (_cluster_policy("a"), None, DELETED),
    (_cluster_policy("a", orphan=True), None, LEFT),
    (_cluster_policy("a", synchronize=False), None, ""),
    (_cluster_policy("a"), _generating_policy(), DELETED),
    (_cluster_policy("a", orphan=True), _generating_policy(), LEFT),
    (_generating_policy(), _cluster_policy("a"), DELETED),
    (_generating_policy(orphan=True), _cluster_policy("a"), LEFT),
    (_generating_policy(synchronize=False), None, ""),
    (_cluster_policy("a", "b"), _cluster_policy("a"), DELETED),
    (_cluster_policy("a"), _cluster_policy("a", "b"), ""),
)


@pytest.mark.parametrize(("before", "after", "reason"), _CASES)
def test_a_generator_that_goes(before: Body, after: Body | None, reason: str) -> None:
    new = [] if after is None else [Resource(after)]
    found = [risk(change) for change in compare([Resource(before)], new)]
    said = {each.reason for each in found if each.reason}
    assert any(reason and reason in each for each in said) is bool(reason)
    assert not any(other in each for each in said for other in {DELETED, LEFT} - {reason})
    if reason == DELETED:
        assert any(each.level is Level.HIGH for each in found)

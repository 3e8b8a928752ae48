"""`chartkit diff --against release`: an environment and what Helm has installed of it."""

import json

import pytest

from tests.e2e.test_install import Cluster, cluster, server
from tests.small_charts import POLICY_NAMES

__all__ = ["cluster", "server"]
VALUES = "charts/kyverno-policies/values_prd.yaml"


@pytest.mark.slow
def test_the_releases_of_a_cluster_are_a_side(cluster: Cluster) -> None:
    none = cluster.run("diff", "prd", "--against", "release")
    assert none.code == 2
    assert "has no release of the charts" in none.err
    assert cluster.run("install", "prd", "--yes", "--allow-drift").code == 0
    same = cluster.run("diff", "prd", "--against", "release")
    assert (same.code, "no difference" in same.out) == (0, True), same.out + same.err
    (cluster.project / VALUES).write_text("action: Enforce\n")
    done = cluster.run("diff", "prd", "--against", "release", "-o", "json")
    (compared,) = json.loads(done.out)["comparisons"]
    assert compared["from"].startswith("releases in ")
    assert {each["name"] for each in compared["changes"]} == set(POLICY_NAMES)
    assert {each["reason"] for each in compared["changes"]} == {
        "refuses what it only reported before"
    }


@pytest.mark.slow
def test_it_compares_one_environment(cluster: Cluster) -> None:
    done = cluster.run("diff", "--against", "release")
    assert (done.code, "compares one ENV" in done.err) == (2, True)
    done = cluster.run("diff", "prd", "--against", "HEAD", "--context", "x")
    assert "--context is for --against release" in done.err

"""Three legacy files of a team become a project with clusters, charts and what Argo CD installs of
them, a promotion, and a cluster that is rescued."""

import json
from pathlib import Path
from typing import Any

import pytest

from chartkit.documents.reader import read_file, resources
from chartkit.engine import is_exception, is_policy
from tests.addons.operate.rescue.locked_cluster import LockedCluster
from tests.api_server import ApiServer
from tests.data import beside
from tests.e2e.command import Done, chartkit

_TEXTS = beside(__file__)
_POLICIES = _TEXTS["policies"]
_EXCEPTIONS = _TEXTS["exceptions"]
_VALUES = _TEXTS["values"]
_DEPLOYMENT = _TEXTS["deployment"]


def _done(folder: Path, *arguments: str) -> Done:
    done = chartkit(folder, *arguments)
    assert done.code == 0, done.out + done.err
    return done


def _json(folder: Path, *arguments: str) -> Any:
    return json.loads(chartkit(folder, *arguments, "-o", "json").out)


def _adopted(folder: Path) -> Path:
    for name, text in (
        ("legacy/policies.yaml", _POLICIES),
        ("legacy/exceptions.yaml", _EXCEPTIONS),
        ("values.yaml", _VALUES),
        ("apps/search.yaml", _DEPLOYMENT.replace("NAME", "search").replace("LABELS", "app: a")),
        ("apps/old.yaml", _DEPLOYMENT.replace("NAME", "old-cart").replace("LABELS", "app: a")),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    clusters = ("--env", "qa", "--env", "prd/eu", "--env", "prd/us")
    versions = ("--kyverno", "1.19.1", "--eks", "1.34", "--values", "values.yaml")
    _done(folder, "adopt", "legacy", "apps", *clusters, *versions, "--folder", "platform")
    return folder / "platform"


@pytest.mark.slow
def test_from_three_legacy_files_to_a_promotion(tmp_path: Path) -> None:
    platform = _adopted(tmp_path)
    _done(platform, "render")
    for target in ("qa", "prd/eu", "prd/us"):
        _same_as_before(platform, target)
    _is_known(platform)
    held = chartkit(platform, "promote", "require-team", "--to", "prd")
    assert (held.code, "Deployment shop/search" in held.out) == (1, True)
    (tmp_path / "apps/search.yaml").write_text(
        _DEPLOYMENT.replace("NAME", "search").replace("LABELS", "team: search")
    )
    _done(platform, "promote", "require-team", "--to", "prd", "--write", "-o", "markdown=pr.md")
    assert "prd: 1 to Enforce" in (platform / "pr.md").read_text()
    _done(platform, "render", "--gitops", "argocd", "--repository", "https://git.example.com/p.git")
    _applications_install(platform)
    for name, action in (("qa", "Audit"), ("prd_eu", "Enforce"), ("prd_us", "Enforce")):
        assert _action(platform, name) == action
    project = (platform / "chartkit.yaml").read_text()
    _done(platform, "promote", "require-team", "--to", "prd", "--back", "--write")
    _done(platform, "render")
    assert _action(platform, "prd_eu") == "Audit"
    _cluster_is_rescued(platform)
    assert "# The exceptions that were in use; the chart installs them." in project


def _applications_install(platform: Path) -> None:
    """Argo CD's Applications name the values of each environment and cluster."""
    text = "".join(each.read_text() for each in (platform / "gitops/argocd").rglob("*.yaml"))
    for name in ("values_qa.yaml", "values_prd.yaml", "values_prd_eu.yaml", "values_prd_us.yaml"):
        assert name in text


def _cluster_is_rescued(platform: Path) -> None:
    """Kyverno is gone and its webhooks stand: the cluster is opened, and set back afterwards."""
    with ApiServer() as server:
        cluster = LockedCluster(server, platform / "kubeconfig").build()
        given = {"KUBECONFIG": str(cluster.kubeconfig)}
        closed = cluster.policies()
        assert chartkit(platform, "rescue", "--yes", **given).code == 0
        assert list(closed.values()).count("Fail") > list(cluster.policies().values()).count("Fail")
        cluster.answer()
        assert chartkit(platform, "rescue", "--restore", **given).code == 0
        assert cluster.policies() == closed
    assert not (platform / "chartkit-rescue.yaml").exists()


def _same_as_before(platform: Path, target: str) -> None:
    """No policy or exception differs from those in use but in the chart's labels."""
    [compared] = _json(platform, "diff", target, "--against", "../legacy")["comparisons"]
    kinds = ("ClusterPolicy", "PolicyException")
    found = [each for each in compared["changes"] if each["kind"] in kinds]
    assert {each["change"] for each in found} == {"changed"}
    paths = [field["path"] for each in found for field in each["fields"]]
    assert all(path.startswith(("metadata.labels", "metadata.annotations")) for path in paths)


def _is_known(platform: Path) -> None:
    """The exception holds, and what it does not let off is known."""
    [known] = read_file(platform / "baselines/qa.yaml")[0].body["violations"]
    assert known["object"] == "apps/v1/Deployment/shop/search"
    files = ("rendered/qa/kyverno-policies.yaml", "rendered/prd_eu/kyverno-policies.yaml")
    for name in files:
        found = resources(read_file(platform / name))
        assert sum(map(is_policy, found)) == 2
        assert sum(map(is_exception, found)) == 1


def _action(platform: Path, folder: str) -> str:
    found = resources(read_file(platform / f"rendered/{folder}/kyverno-policies.yaml"))
    [policy] = [each for each in found if each.name == "require-team" and is_policy(each)]
    spec = policy.body["spec"]
    [rule] = spec["rules"]
    return str(rule["validate"].get("failureAction") or spec["validationFailureAction"])

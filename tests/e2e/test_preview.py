"""`chartkit preview` from the outside."""

import json
from pathlib import Path

import pytest

from tests.data import beside, tables
from tests.e2e.command import chartkit
from tests.shared import ROOT

CASES = ROOT / "tests" / "cases"


def preview(folder: Path, case: str, *more: str) -> tuple[int, str]:
    policy, objects = CASES / case / "policy.yaml", CASES / case / "resources.yaml"
    done = chartkit(folder, "preview", str(objects), "-p", str(policy), *more)
    assert done.err == ""
    return done.code, done.out


def test_a_mutation_is_a_diff(tmp_path: Path) -> None:
    code, out = preview(tmp_path, "mutation")
    assert code == 0
    assert "# by add-owner/label\n--- a/Pod/default/free\n+++ b/Pod/default/free\n" in out
    added = [line for line in out.splitlines() if line.startswith("+") and line[1] != "+"]
    assert added == ["+  labels:", "+    owner: nobody"]
    assert out.endswith("# 1 mutated, 0 generated, 0 problems\n")


def test_what_is_generated_is_shown_whole(tmp_path: Path) -> None:
    code, out = preview(tmp_path, "generation", str(CASES / "generation" / "source.yaml"))
    assert code == 0
    assert "# by new-namespace/quota\n---\napiVersion: v1\nkind: ResourceQuota\n" in out
    assert "# by new-namespace/secret\n---\napiVersion: v1\nkind: Secret\n" in out
    assert out.endswith("# 0 mutated, 2 generated, 0 problems\n")


def test_without_its_source_a_clone_is_a_problem(tmp_path: Path) -> None:
    code, out = preview(tmp_path, "generation")
    assert code == 1
    assert "# error new-namespace/secret: source resource v1/Secret/" in out
    assert out.endswith("# 0 mutated, 1 generated, 1 problem\n")


def test_existing_objects_are_those_among_the_paths(tmp_path: Path) -> None:
    code, out = preview(tmp_path, "targets", str(CASES / "targets" / "targets.yaml"))
    assert code == 0
    assert "--- a/Secret/shop/touched\n+++ b/Secret/shop/touched\n" in out
    assert "+    by: trigger" in out


def test_a_rule_that_cannot_is_a_problem(tmp_path: Path) -> None:
    code, out = preview(tmp_path, "targets")
    assert code == 1
    assert "# error touch-secret/touch: " in out


_EXISTING = beside(__file__)["existing"]


@pytest.mark.slow
def test_an_object_is_shown_and_written_once(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(_EXISTING.replace("SECRETS", "secrets"))
    one = "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME, namespace: shop}\n"
    one += "stringData: {k: seen}\n"
    (tmp_path / "s.yaml").write_text(one.replace("NAME", "a") + "---\n" + one.replace("NAME", "b"))
    done = chartkit(tmp_path, "preview", "s.yaml", "-p", "p.yaml")
    assert (done.out.count("+++ b/Secret/shop/a"), done.out.count("+++ b/Secret/shop/b")) == (1, 1)
    assert "seen" not in done.out
    assert "# 2 mutated, 0 generated, 0 problems" in done.out
    arguments = ("preview", "s.yaml", "-p", "p.yaml", "-o", "manifests=out")
    assert "--show-secrets" in chartkit(tmp_path, *arguments).err
    done = chartkit(tmp_path, *arguments, "--show-secrets")
    assert "k: seen" in done.out
    assert "k: seen" in (tmp_path / "out/secret-shop-a.yaml").read_text()
    assert len(list((tmp_path / "out").iterdir())) == 2
    again = chartkit(tmp_path, *arguments, "--show-secrets")
    assert (again.code, "is not overwritten" in again.err) == (2, True)


def test_policies_that_change_nothing_are_said(tmp_path: Path) -> None:
    objects = CASES / "mutation" / "resources.yaml"
    done = chartkit(tmp_path, "preview", str(objects), "-p", "pss-baseline")
    assert (done.code, "none of these policies changes objects" in done.err) == (0, True)


def test_preview_json(tmp_path: Path) -> None:
    _, out = preview(tmp_path, "mutation", "-o", "json")
    (entry,) = json.loads(out)["previews"]
    assert entry["resource"] == "v1/Pod/default/free"
    (made,) = entry["made"]
    assert "labels" not in made["before"]["metadata"]
    assert made["after"]["metadata"]["labels"] == {"owner": "nobody"}


def test_cel_policies_mutate_one_after_the_other(tmp_path: Path) -> None:
    code, out = preview(tmp_path, "cel-mutating")
    assert code == 0
    assert "# by add-owner, pull-always\n--- a/Pod/default/free\n" in out
    assert out.endswith("# 2 mutated, 0 generated, 0 problems\n")


@pytest.mark.slow
def test_cel_policies_mutate_what_is_there_and_generate(tmp_path: Path) -> None:
    code, out = preview(tmp_path, "cel-targets", str(CASES / "cel-targets" / "targets.yaml"))
    assert code == 0
    assert "# by mark-others\n--- a/Secret/shop/there\n" in out
    context = str(CASES / "cel-generating" / "context.yaml")
    code, out = preview(tmp_path, "cel-generating", "--context-file", context)
    assert code == 0
    assert "# by new-namespace/new-namespace\n---\napiVersion: v1\nkind: ResourceQuota\n" in out
    assert out.endswith("# 0 mutated, 2 generated, 0 problems\n")


def test_an_object_that_no_api_server_takes_is_a_problem(tmp_path: Path) -> None:
    merge = "{spec: {terminationGracePeriodSeconds: '50'}}"
    rule = "{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, "
    (tmp_path / "policy.yaml").write_text(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: grace}\n"
        f"spec: {{rules: [{rule}mutate: {{patchStrategicMerge: {merge}}}}}]}}\n"
    )
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {containers: [{name: c, image: x}]}\n"
    )
    done = chartkit(tmp_path, "preview", "pod.yaml", "-p", "policy.yaml")
    assert done.code == 1
    assert "# error grace/r: an API server refuses the object: " in done.out
    assert "spec.terminationGracePeriodSeconds: is a string, must be an integer" in done.out
    told = chartkit(tmp_path, "scan", "pod.yaml", "-p", "policy.yaml")
    assert "nothing would come of it:\n  by grace/r for Pod/default/p: an API" in told.out


def test_an_expression_that_fails_has_advice_and_an_object_its_unknown_fields(
    tmp_path: Path,
) -> None:
    policy = tables(__file__)["policy"]
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"hostNetwok": 1}}
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    options = ("pod.json", "-p", "policy.json", "--kubernetes")
    done = chartkit(tmp_path, "preview", *options, "1.34")
    assert "#   → add(a, b) adds two numbers; sum() takes one list\n" in done.out
    assert "Pod: spec.hostNetwok is not a field of Kubernetes 1.34 (did you mean" in done.err
    assert "'x' is not a version of Kubernetes" in chartkit(tmp_path, "preview", *options, "x").err

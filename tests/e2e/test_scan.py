"""`chartkit scan` from the outside: everyday cases, every kind of input, every kind of mistake."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from chartkit.documents.reader import read_file
from tests.data import beside, from_table
from tests.e2e.command import PROGRAM, chartkit
from tests.shared import ROOT

_TEXTS = beside(__file__)
REQUIRE_LABELS = _TEXTS["require-labels"]
DEPLOYMENT = _TEXTS["deployment"]
POD = _TEXTS["pod"]

MESSAGE = (
    "validation error: label 'team' is required. rule autogen-check-team failed at path "
    "/spec/template/metadata/labels/team/"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one policy, a Deployment that breaks it and a Pod that keeps it."""
    (tmp_path / "policy.yaml").write_text(REQUIRE_LABELS)
    (tmp_path / "deployment.yaml").write_text(DEPLOYMENT)
    (tmp_path / "pod.yaml").write_text(POD)
    return tmp_path


@pytest.mark.slow
def test_a_deployment_is_refused_with_kyvernos_own_words(folder: Path) -> None:
    done = chartkit(folder, "scan", "deployment.yaml", "-p", "policy.yaml")
    assert done.code == 1
    assert done.out == (
        "Deployment/default/nginx  deployment.yaml:1\n"
        "  fail  require-labels/autogen-check-team (Enforce)\n"
        f"        {MESSAGE}\n"
        "        deployment.yaml:8:16  spec.template.metadata.labels.team\n"
        "\n"
        "pass: 0, fail: 1, warn: 0, error: 0, skip: 0\n"
    )
    assert done.err == ""


def test_a_pod_with_the_label_passes(folder: Path) -> None:
    done = chartkit(folder, "scan", "pod.yaml", "-p", "policy.yaml", "--detailed")
    assert done.code == 0
    assert "pass  require-labels/check-team" in done.out
    said = "policy.yaml:1: note policy-warning: 1 policy: ClusterPolicy (kyverno.io) is deprecated"
    assert done.out.splitlines()[-1].startswith(said)
    assert done.err == ""


def test_reports_go_where_they_are_wanted(folder: Path) -> None:
    outputs = ("-o", "json=out/r.json", "-o", "policyreport=out/r.yaml", "-o", "text")
    done = chartkit(folder, "scan", "deployment.yaml", "pod.yaml", "-p", "policy.yaml", *outputs)
    assert done.out.endswith("pass: 1, fail: 1, warn: 0, error: 0, skip: 0\n")
    rows = json.loads((folder / "out" / "r.json").read_text())["results"]
    assert [(row["resource"], row["result"]) for row in rows] == [
        ("apps/v1/Deployment/default/nginx", "fail"),
        ("v1/Pod/default/nginx", "pass"),
    ]
    [report] = [document.body for document in read_file(folder / "out" / "r.yaml")]
    assert report["summary"]["fail"] == 1
    assert report["results"][0]["message"] == MESSAGE


def test_standard_input_is_read(folder: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "scan", "-", "-p", "policy.yaml"],
        cwd=folder,
        input=f"{POD}---\n{DEPLOYMENT}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Deployment/default/nginx  <stdin>:10" in done.stdout


def test_folders_are_searched_and_what_is_no_object_is_passed_over(folder: Path) -> None:
    manifests = folder / "manifests" / "deep"
    manifests.mkdir(parents=True)
    (manifests / "a.yml").write_text(DEPLOYMENT)
    (manifests / "values.yaml").write_text("replicas: 3\n")
    (manifests / ".hidden").mkdir()
    (manifests / ".hidden" / "b.yaml").write_text("not: [yaml")
    policies = folder / "policies"
    (policies / ".chainsaw-test").mkdir(parents=True)
    (policies / "require.yaml").write_text(REQUIRE_LABELS)
    (policies / "kyverno-test.yaml").write_text("kind: Test\napiVersion: cli.kyverno.io/v1alpha1\n")
    (policies / "resource.yaml").write_text(POD)
    (policies / "chainsaw-test.yaml").write_text(_TEXTS["chainsaw"])
    (policies / "expected.yaml").write_text(REQUIRE_LABELS.replace("name: ", "name: other-", 1))
    done = chartkit(folder, "scan", "manifests", "-p", "policies", "-o", "json")
    assert json.loads(done.out)["summary"] == {
        "pass": 0,
        "fail": 1,
        "warn": 0,
        "error": 0,
        "skip": 0,
    }


def test_a_chart_is_rendered_with_its_values(folder: Path) -> None:
    chart = folder / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text("team: ''\n")
    labelled = POD.replace("team: backend", "team: '{{ .Values.team }}'")
    (chart / "templates" / "pod.yaml").write_text(labelled)
    (folder / "prd.yaml").write_text("team: shop\n")
    bare = chartkit(folder, "scan", "shop", "-p", "policy.yaml", "-n", "web")
    assert bare.code == 1
    assert "Pod/web/nginx" in bare.out
    assert chartkit(folder, "scan", "shop", "-p", "policy.yaml", "-f", "prd.yaml").code == 0


def test_a_profile_and_its_parameter(folder: Path) -> None:
    probed = POD.replace(
        "image: nginx}", "image: nginx, livenessProbe: {httpGet: {port: 80, host: 1.2.3.4}}}"
    )
    (folder / "pod.yaml").write_text(probed)
    old = chartkit(
        folder, "scan", "pod.yaml", "-p", "pss-baseline", "--param", "podSecurityVersion=v1.24"
    )
    new = chartkit(folder, "scan", "pod.yaml", "-p", "pss-baseline")
    assert (old.code, new.code) == (0, 1)
    assert "disallow-host-probes" in new.out


def test_failures_that_are_only_audited_can_be_warnings(folder: Path) -> None:
    (folder / "policy.yaml").write_text(REQUIRE_LABELS.replace("Enforce", "Audit"))
    done = chartkit(folder, "scan", "deployment.yaml", "-p", "policy.yaml", "--audit-warn")
    assert done.code == 0
    assert "warn  require-labels/autogen-check-team (Audit)" in done.out


def test_namespace_selectors_see_the_namespaces_among_the_objects(folder: Path) -> None:
    selecting = REQUIRE_LABELS.replace(
        "kinds: [Pod]", "kinds: [Pod]\n              namespaceSelector: {matchLabels: {tier: a}}"
    )
    (folder / "policy.yaml").write_text(selecting)
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {tier: a}}\n"
    placed = DEPLOYMENT.replace("  name: nginx\nspec", "  name: nginx\n  namespace: web\nspec")
    (folder / "all.yaml").write_text(f"{namespace}---\n{placed}")
    (folder / "alone.yaml").write_text(placed)
    assert chartkit(folder, "scan", "all.yaml", "-p", "policy.yaml").code == 1
    assert chartkit(folder, "scan", "alone.yaml", "-p", "policy.yaml").code == 0


def test_a_policy_that_kyverno_refuses_is_named_and_the_others_run(folder: Path) -> None:
    broken = REQUIRE_LABELS.replace("require-labels", "broken").replace("rules:", "rulez:")
    (folder / "policy.yaml").write_text(f"{REQUIRE_LABELS}---\n{broken}")
    done = chartkit(folder, "scan", "pod.yaml", "-p", "policy.yaml", "--detailed")
    assert done.code == 1
    assert "policy.yaml:26:3" in done.err
    assert "pass  require-labels/check-team" in done.out


@from_table("arguments", "line")
def test_mistakes_are_one_line(folder: Path, arguments: list[str], line: str) -> None:
    (folder / "empty").mkdir()
    (folder / "broken.yaml").write_text("a: [1\n")
    (folder / "values.yaml").write_text("replicas: 3\n")
    done = chartkit(folder, "scan", *arguments)
    assert (done.code, done.out) == (2, "")
    assert line in done.line


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read(folder: Path) -> None:
    (folder / "pod.yaml").chmod(0)
    done = chartkit(folder, "scan", "pod.yaml")
    assert done.code == 2
    assert "cannot be read" in done.line


CEL_POLICIES = _TEXTS["cel-policies"]
CEL_OBJECTS = _TEXTS["cel-objects"]


@pytest.fixture
def cel_folder(tmp_path: Path) -> Path:
    """A folder with CEL policies and objects that break them."""
    (tmp_path / "policies.yaml").write_text(CEL_POLICIES)
    (tmp_path / "objects.yaml").write_text(CEL_OBJECTS)
    (tmp_path / "plan.json").write_text('{"nodes": 5}')
    return tmp_path


@pytest.mark.slow
def test_cel_policies_see_namespaces_and_parameters_among_the_objects(cel_folder: Path) -> None:
    done = chartkit(cel_folder, "scan", "objects.yaml", "-p", "policies.yaml")
    assert done.code == 1
    assert (
        done.out
        == (beside(__file__)["cel_policies_see_namespaces_and_parameters_among_the_objects"])
    )
    assert done.err == "policies of evaluation mode JSON need --json: small-plan\n"


@pytest.mark.slow
def test_what_is_only_audited_by_cel_policies_can_be_a_warning(cel_folder: Path) -> None:
    done = chartkit(cel_folder, "scan", "objects.yaml", "-p", "policies.yaml", "--audit-warn")
    assert "pass: 0, fail: 1, warn: 2, error: 0, skip: 0\n" in done.out


@pytest.mark.slow
def test_reports_name_the_source_of_cel_results(cel_folder: Path) -> None:
    outputs = ("-o", "policyreport=r.yaml", "-o", "junit=r.xml", "-o", "markdown")
    done = chartkit(cel_folder, "scan", "objects.yaml", "-p", "policies.yaml", *outputs)
    [report] = [document.body for document in read_file(cel_folder / "r.yaml")]
    first, _, last = report["results"]
    assert (first["source"], first["policy"]) == ("KyvernoValidatingPolicy", "guarded-namespace")
    assert "rule" not in first
    assert first["properties"] == {"cel.validationIndex": "0"}
    assert first["severity"] == "low"
    assert (last["source"], last["rule"]) == ("ValidatingAdmissionPolicy", "limit")
    assert last["properties"] == {
        "binding": "limit-all",
        "field": "spec.containers",
        "location": "objects.yaml:22:8",
    }
    assert (
        'classname="guarded-namespace" name="guarded-namespace"'
        in (cel_folder / "r.xml").read_text()
    )
    assert "| fail | Pod/web/nginx | guarded-namespace | not guarded: web |" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("field", ["kind", "apiVersion", "metadata", "spec"])
@pytest.mark.parametrize("value", ["null", "1", "[]", "[null]", "{}", '{"name": []}', "true"])
def test_plain_json_may_have_fields_of_kubernetes_with_any_value(
    cel_folder: Path, field: str, value: str
) -> None:
    (cel_folder / "plan.json").write_text(f'{{"nodes": 5, "{field}": {value}}}')
    done = chartkit(cel_folder, "scan", "--json", "plan.json", "-p", "policies.yaml")
    assert (done.code, done.err) == (1, "")
    assert "fail  small-plan (Enforce)" in done.out


@pytest.mark.slow
def test_plain_json_is_judged_by_policies_for_it(cel_folder: Path) -> None:
    done = chartkit(cel_folder, "scan", "--json", "plan.json", "-p", "policies.yaml")
    assert done.code == 1
    assert done.out == (
        "plan.json:1\n  fail  small-plan (Enforce)\n        too many nodes\n"
        "        plan.json:1:2  nodes\n\n"
        "pass: 0, fail: 1, warn: 0, error: 0, skip: 0\n"
    )
    assert done.err == ""
    told = chartkit(cel_folder, "scan", "--json", "plan.json", "-p", "policies.yaml", "-o", "json")
    [row] = json.loads(told.out)["results"]
    assert (row["resource"], row["location"]) == ("", "plan.json:1:2")
    done = chartkit(cel_folder, "scan", "--json", "plan.json")
    assert (done.code, done.line) == (
        2,
        "no policy is of evaluation mode JSON (name one with --policies)",
    )
    (cel_folder / "list.json").write_text("[1]")
    done = chartkit(cel_folder, "scan", "--json", "list.json", "-p", "policies.yaml")
    assert (done.code, done.line) == (2, "list.json:1: must be a mapping")
    done = chartkit(cel_folder, "scan", "--json", "plan.json", "-p", "policies.yaml", "--at", "now")
    assert done.code == 2


@pytest.mark.slow
def test_a_context_file_answers_what_policies_ask(tmp_path: Path) -> None:
    case = ROOT / "tests" / "cases" / "cel-context"
    arguments = ("scan", str(case / "resources.yaml"), "-p", str(case / "policy.yaml"))
    context = ("--context-file", str(case / "context.yaml"))
    done = chartkit(tmp_path, *arguments, *context)
    assert "the colour is red" in done.out
    assert "the colour is" not in chartkit(tmp_path, *arguments).out
    wrong = chartkit(tmp_path, *arguments, "--context-file", str(case / "resources.yaml"))
    assert (wrong.code, "is not a Context" in wrong.line) == (2, True)

"""`chartkit values lint FOLDER`: the files with values of Kyverno's charts are checked."""

from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import chartkit

_TEXTS = beside(__file__)

UMBRELLA = "name: platform\nversion: 1.0.0\ndependencies: [{name: kyverno, alias: engine}]\n"
RELEASE = _TEXTS["release"]
MORE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: kyverno}
data: {values.yaml: "admissionController: {replicaz: 1}"}
"""
APPLICATION = _TEXTS["application"]
FILES = {
    "umbrella/Chart.yaml": UMBRELLA,
    "umbrella/values.yaml": "shop: {a: 1}\nengine: {admissionController: {replicaz: 1}}\n",
    "umbrella/values-qa.yaml": "shop: {a: 1}\n",
    "umbrella/templates/a.yaml": "{{ x }}\n",
    "umbrella/charts/kyverno/values.yaml": "admissionController: {replicaz: 1}\n",
    "env/kyverno-prd.yaml": "backgroundController: {replicaz: 1}\n",
    "flux/release.yaml": RELEASE,
    "flux/more.yaml": MORE,
    "flux/patch.yaml": RELEASE.partition("spec:")[0] + "spec: {suspend: true}\n",
    "flux/shop.yaml": RELEASE.replace("kyverno", "shop"),
    "policies/Chart.yaml": "name: kyverno-policies\nversion: 1.0.0\napiVersion: v2\n",
    "policies/templates/a.yaml": '{{ fail "needs more" }}\n',
    "policies/values.yaml": "a: 1\n",
    "shop/Chart.yaml": "name: shop\nversion: 1.0.0\n",
    "shop/values.yaml": "replicaz: 1\n",
    ".hidden/values.yaml": "backgroundController: {replicaz: 1}\n",
    "shop/values-open.yaml": "replicas: [\n",
    "flux/application.yaml": APPLICATION,
    "open/values.yaml": "backgroundController: [\n",
    "ci.yaml": "on: push\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    for name, text in FILES.items():
        file = tmp_path / "deploy" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return tmp_path


@pytest.mark.slow
def test_values_of_kyverno_in_a_folder_are_checked(folder: Path) -> None:
    done = chartkit(folder, "values", "lint", "deploy")
    assert done.code == 2
    assert "deploy/open/values.yaml:2:1: error unread: is not YAML" in done.out
    assert "deploy/policies/templates/a.yaml:1:3: error unread: with deploy/policies" in done.out
    wrong = [line.partition(":")[0] for line in done.out.splitlines() if "replicaz" in line]
    assert sorted(wrong) == [
        "deploy/env/kyverno-prd.yaml", "deploy/flux/more.yaml", "deploy/umbrella/values.yaml",
    ]  # fmt: skip
    left = "deploy/ci.yaml, deploy/shop/values-open.yaml, deploy/shop/values.yaml, deploy/umbrella"
    assert f"note helm: 4 files without values of Kyverno's charts: {left}" in done.out


def test_a_folder_without_values_is_an_error(folder: Path) -> None:
    done = chartkit(folder, "values", "lint", "deploy/shop")
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith("deploy/shop: holds no values of Kyverno's charts")
    assert chartkit(folder, "values", "lint", "deploy", "--layer").code == 2


@pytest.mark.slow
def test_values_next_to_the_chart_of_policies_are_checked_with_it(project: Path) -> None:
    file = project / "charts/kyverno-policies/values_prd.yaml"
    file.write_text(f"{file.read_text('utf-8')}polices: {{}}\n", "utf-8")
    done = chartkit(project, "values", "lint", "charts")
    assert done.code == 1
    assert "unknown key 'polices'" in done.out


@pytest.mark.slow
def test_fixes_of_a_folder(folder: Path) -> None:
    file = folder / "deploy/env/kyverno-prd.yaml"
    file.write_text("policyExceptions: {enabled: true}\nadmissionController: {}\n", "utf-8")
    chartkit(folder, "values", "lint", "deploy/env", "deploy/open", "--fix")
    assert "features:\n" in file.read_text("utf-8")

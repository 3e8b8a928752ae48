import json
from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import chartkit
from tests.e2e.transcript import check_page

_TEXTS = beside(__file__)
_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, namespace: shop, labels: {LABEL: shop}}\n"


@pytest.mark.slow
def test_plan_page_is_true(tmp_path: Path, update: bool) -> None:
    (tmp_path / "gitops").mkdir()
    (tmp_path / "gitops" / "guardrails.yaml").write_text(_TEXTS["policies"])
    pods = [("web", "team"), ("api", "app"), ("job-1", "app")]
    texts = [_POD.replace("NAME", name).replace("LABEL", label) for name, label in pods]
    (tmp_path / "gitops" / "pods.yaml").write_text("---\n".join(texts))
    check_page("how-to/upgrade.md", tmp_path, update)


def test_plan_refuses_wrong_input(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "plan", "--from", "1.12", "--to", "1.19/1.35")
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith("'1.12' is not a pair of versions")
    assert chartkit(tmp_path, "plan", "--from", "1.12/1.31", "--to", "1.12/1.31").code == 0


def test_an_environment_is_a_start(tmp_path: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text(
        "environments:\n"
        '  old: {kyverno: "1.17.1", kubernetes: "1.32"}\n'
        '  new: {kyverno: "1.19.0", kubernetes: "1.34"}\n'
    )
    done = chartkit(tmp_path, "plan", "old", "-o", "json")
    steps = json.loads(done.out)["steps"]
    assert [(step["upgrade"], step.get("release"), step.get("chart")) for step in steps] == [
        ("kubernetes", None, None),
        ("kyverno", "1.18.2", "3.8.2"),
        ("kyverno", "1.19.1", "3.9.1"),
    ]
    done = chartkit(tmp_path, "plan", "new")
    assert done.out.splitlines()[0].startswith("Nothing to do from Kyverno 1.19 on Kubernetes 1.34")
    assert "Kyverno 1.19.0 → 1.19.1, Helm chart 3.9.1: fixes kyverno/kyverno#17594" in done.out
    for arguments in ((), ("old", "--from", "1.17/1.32"), ("--from", "1.17/1.32"), ("nowhere",)):
        assert chartkit(tmp_path, "plan", *arguments).code == 2


def test_a_matrix_of_ones_own(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/check-compat.md").read_text()
    (tmp_path / "known.yaml").write_text(page.split("```yaml\n")[1].split("```")[0])
    pair = ("--from", "1.19/1.35", "--to", "1.19/1.36")
    assert chartkit(tmp_path, "plan", *pair).code == 1
    assert chartkit(tmp_path, "plan", *pair, "--matrix", "known.yaml").code == 0
    checked = ("check-compat", "--kyverno", "1.19.1", "--matrix", "known.yaml")
    assert "answers from another tenant's entry" in chartkit(tmp_path, *checked).out

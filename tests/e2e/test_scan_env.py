"""`chartkit scan --env`: objects judged by the policies of a project's environment."""

import json
import shutil
from pathlib import Path

import pytest

from tests.data import beside, from_table
from tests.e2e.command import chartkit

ROOT = Path(__file__).parents[2]
POD = beside(__file__)["pod"]
PRIVILEGED = "disallow-privileged-containers"


def pod(name: str, namespace: str) -> str:
    return POD.replace("NAME", name).replace("SPACE", namespace)


@pytest.mark.slow
@pytest.mark.parametrize(("env", "action"), [("dev", "Enforce"), ("prd", "Enforce")])
def test_policies_have_the_form_and_actions_of_the_environment(
    tmp_path: Path, env: str, action: str
) -> None:
    (tmp_path / "pods.yaml").write_text(pod("a", "shop"))
    options = ("--env", env, "--project", str(ROOT), "-o", "json")
    done = chartkit(tmp_path, "scan", "pods.yaml", *options)
    assert done.code == 1
    results = json.loads(done.out)["results"]
    (found,) = [each for each in results if each["policy"] == PRIVILEGED]
    assert (found["result"], found["action"]) == ("fail", action)
    other = next(each for each in results if each["policy"] == "disallow-service-links")
    assert other["action"] == ("Enforce" if env == "dev" else "Audit")


@pytest.mark.slow
def test_objects_that_are_not_sent_and_excluded_ones_do_not_count(tmp_path: Path) -> None:
    text = "---\n".join(pod(name, "kube-system") for name in ("a", "b"))
    (tmp_path / "pods.yaml").write_text(text)
    options = ("--env", "prd", "--project", str(ROOT))
    done = chartkit(tmp_path, "scan", "pods.yaml", *options)
    assert done.code == 0, done.out
    assert "not sent to Kyverno in prd: " in done.err
    assert "Pod/kube-system/a, Pod/kube-system/b; " in done.err
    assert "violations do not count" in done.err
    (tmp_path / "pods.yaml").write_text(pod("a", "shop"))
    done = chartkit(
        tmp_path, "scan", "pods.yaml", *options, "--select", "restrict-automount-sa-token"
    )
    assert done.code == 1
    (tmp_path / "pods.yaml").write_text(pod("a", "kyverno"))
    done = chartkit(
        tmp_path, "scan", "pods.yaml", *options, "--select", "restrict-automount-sa-token"
    )
    assert done.code == 0


@pytest.mark.slow
def test_exceptions_of_the_environments_chart_count(tmp_path: Path) -> None:
    for name in ("charts", "chartkit.yaml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "pods.yaml").write_text(pod("a", "shop"))
    select = ("--env", "prd", "--select", PRIVILEGED)
    assert chartkit(tmp_path, "scan", "pods.yaml", *select).code == 1
    (tmp_path / "charts/kyverno-policies/templates/exception.yaml").write_text(
        "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\n"
        "metadata: {name: agent, namespace: kyverno}\n"
        f"spec: {{policyRefs: [{{name: {PRIVILEGED}, kind: ValidatingPolicy}}]}}\n"
    )
    done = chartkit(tmp_path, "scan", "pods.yaml", *select)
    assert done.code == 0, done.out


@pytest.mark.slow
@from_table("options", "message")
def test_mistakes_are_errors(tmp_path: Path, options: list[str], message: str) -> None:
    (tmp_path / "pods.yaml").write_text(pod("a", "shop"))
    done = chartkit(tmp_path, "scan", "pods.yaml", "--project", str(ROOT), *options)
    assert done.code == 2
    assert message in done.line


def test_charts_that_were_not_written_are_named(tmp_path: Path) -> None:
    shutil.copy(ROOT / "chartkit.yaml", tmp_path)
    (tmp_path / "pods.yaml").write_text(pod("a", "shop"))
    done = chartkit(tmp_path, "scan", "pods.yaml", "--env", "prd")
    assert done.code == 2
    assert "`chartkit render` writes the charts" in done.line

"""What people who write about running Kyverno do with it, each as a policy of our own."""

from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import chartkit

pytestmark = pytest.mark.slow

_TEXTS = beside(__file__)
POD = _TEXTS["pod"]
ADD_TEAM = _TEXTS["add-team"]
SIDECAR = _TEXTS["sidecar"]
DEPLOYMENT = _TEXTS["deployment"]
GRACE = _TEXTS["grace"]


def preview(folder: Path, policy: str, text: str) -> str:
    """The diff that `chartkit preview` shows of one object."""
    (folder / "policy.yaml").write_text(policy)
    (folder / "object.yaml").write_text(text)
    done = chartkit(folder, "preview", "object.yaml", "-p", "policy.yaml")
    assert done.code == 0
    warning = "policy-warning: graceful: spec.schemaValidation has no effect"
    assert all(warning in line for line in done.err.splitlines())
    return done.out


def test_a_label_is_added_where_it_is_missing(tmp_path: Path) -> None:
    assert "+    team: platform" in preview(tmp_path, ADD_TEAM, POD)
    labelled = POD.replace("{app: cart}", "{app: cart, team: shop}")
    assert "platform" not in preview(tmp_path, ADD_TEAM, labelled)


@pytest.mark.parametrize(("allowed", "status"), [("false", "pass"), ("true", "fail")])
def test_privilege_escalation(tmp_path: Path, allowed: str, status: str) -> None:
    context = f"securityContext: {{allowPrivilegeEscalation: {allowed}}}"
    (tmp_path / "pod.yaml").write_text(POD.replace('cart:1"}', f'cart:1", {context}}}'))
    (tmp_path / "policy.yaml").write_text(_TEXTS["no-escalation"])
    done = chartkit(tmp_path, "scan", "pod.yaml", "-p", "policy.yaml", "--detailed")
    assert f"{status}  no-escalation/no-escalation (Audit)" in done.out
    assert done.code == (1 if status == "fail" else 0)


def test_a_sidecar_goes_to_who_asks_for_it(tmp_path: Path) -> None:
    wanted = preview(tmp_path, SIDECAR, DEPLOYMENT.replace("WANTED", "yes please"))
    assert "image: reg.example.com/log-agent:2" in wanted
    assert "medium: Memory" in wanted
    assert "log-agent" not in preview(tmp_path, SIDECAR, DEPLOYMENT.replace("WANTED", "no"))


@pytest.mark.parametrize(("labels", "seconds"), [("", 30), (", sleepSeconds: '5'", 5)])
def test_a_pod_gets_time_to_stop(tmp_path: Path, labels: str, seconds: int) -> None:
    pod = POD.replace("{app: cart}", f"{{app: cart{labels}}}")
    shown = preview(tmp_path, GRACE.replace("OPEN", "{{").replace("CLOSE", "}}"), pod)
    assert f"+  terminationGracePeriodSeconds: {seconds + 15}" in shown
    assert f"sleep {seconds}" in shown


def test_the_same_policy_escaped_for_helm(tmp_path: Path) -> None:
    chart = tmp_path / "policies"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: policies\nversion: 0.1.0\n")
    # A raw Go string cannot hold the backticks of a JMESPath literal: to_number does without.
    escaped = GRACE.replace("`15`", "to_number('15')")
    escaped = escaped.replace("OPEN", "{{ `{{").replace("CLOSE", "}}` }}")
    (chart / "templates" / "graceful.yaml").write_text(escaped)
    (tmp_path / "object.yaml").write_text(POD)
    done = chartkit(tmp_path, "preview", "object.yaml", "-p", "policies")
    assert "+  terminationGracePeriodSeconds: 45" in done.out


def test_sum_of_two_numbers_is_an_error_that_names_it(tmp_path: Path) -> None:
    wrong = GRACE.replace("add(", "sum(").replace("OPEN", "{{").replace("CLOSE", "}}")
    (tmp_path / "policy.yaml").write_text(wrong)
    (tmp_path / "object.yaml").write_text(POD)
    done = chartkit(tmp_path, "scan", "object.yaml", "-p", "policy.yaml")
    assert done.code == 1
    assert "sum" in done.out + done.err

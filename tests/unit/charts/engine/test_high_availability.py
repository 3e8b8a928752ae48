"""Values of the engine's chart: availability, a project's own files, and policy-reporter's."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.charts.engine import high_availability
from chartkit.charts.engine.monitoring import chart_values, plan
from chartkit.charts.engine.values import own_values
from chartkit.charts.upstream.chart_files import read_chart
from chartkit.charts.upstream.values import environment_values
from chartkit.documents.reader import parse_yaml, read_file, read_text, resources
from chartkit.errors import InputError
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.model import Body, Resource
from chartkit.project.environment import Environment
from chartkit.project.project import parse_project, read_project
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside, from_table
from tests.errors import error_of
from tests.shared import shared
from tests.unit.charts.upstream.vendored_files import chart
from tests.unit.render.test_pipeline import PROFILE, rows

NAMES = {
    "admission-controller": "admission",
    "background-controller": "background",
    "cleanup-controller": "cleanup",
    "reports-controller": "reports",
}


def deployment(component: str, replicas: Any = ...) -> Resource:
    spec: Body = {"template": {"metadata": {"labels": {"app": component}}}}
    if replicas is not ...:
        spec["replicas"] = replicas
    labels = {kyverno_controllers.COMPONENT: component}
    metadata = {"name": component, "namespace": "kyverno", "labels": labels}
    return Resource({"kind": "Deployment", "metadata": metadata, "spec": spec})


def engine(**replicas: Any) -> list[Resource]:
    counts = {"admission": 3, "background": 2, "cleanup": 2, "reports": 2, **replicas}
    return [deployment(component, counts[short]) for component, short in NAMES.items()]


def budget(component: str, namespace: str = "kyverno", name: str = "pdb", **spec: Any) -> Resource:
    body = {"selector": {"matchLabels": {"app": component}}, **spec}
    metadata = {"name": name, "namespace": namespace}
    return Resource({"kind": "PodDisruptionBudget", "metadata": metadata, "spec": body})


def scaler(component: str, **spec: Any) -> Resource:
    body = {"scaleTargetRef": {"kind": "Deployment", "name": component}, **spec}
    metadata = {"name": "hpa", "namespace": "kyverno"}
    return Resource({"kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": body})


def ids(objects: list[Resource], required: bool) -> list[str]:
    return [
        each.rule_id
        for each in high_availability.judge(objects, required)
        if each.severity == "error"
    ]


def test_a_highly_available_engine_has_nothing_wrong() -> None:
    assert high_availability.judge(engine(), required=True) == []


@pytest.mark.parametrize("admission", [..., None, 1, 0])
def test_one_admission_replica_is_fine_unless_required(admission: Any) -> None:
    assert ids(engine(admission=admission), required=False) == []
    assert ids(engine(admission=admission), required=True) == [high_availability.RULE_REPLICAS]


@pytest.mark.parametrize("required", [True, False])
def test_two_admission_replicas_are_refused_everywhere(required: bool) -> None:
    assert ids(engine(admission=2), required) == [high_availability.RULE_TWO_ADMISSION]
    scaled = [*engine(admission=3), scaler("admission-controller", minReplicas=2)]
    assert ids(scaled, required) == [high_availability.RULE_TWO_ADMISSION]


def test_more_than_three_is_noted() -> None:
    found = high_availability.judge(engine(admission=5), required=True)
    assert [str(each.severity) for each in found] == ["note"]
    assert high_availability.judge(engine(admission=5), required=False) == []


@pytest.mark.parametrize("short", ["background", "cleanup", "reports"])
@pytest.mark.parametrize("count", [..., 1])
def test_the_others_need_two(short: str, count: Any) -> None:
    found = high_availability.judge(engine(**{short: count}), required=True)
    assert [each.rule_id for each in found] == [high_availability.RULE_REPLICAS]
    assert found[0].hint == f"set {short}Controller.replicas: 2"
    assert ids(engine(**{short: count}), required=False) == []


def test_an_autoscaler_decides_in_place_of_replicas() -> None:
    assert ids([*engine(admission=1), scaler("admission-controller", minReplicas=3)], True) == []
    absent = high_availability.judge([*engine(), scaler("admission-controller")], required=True)
    assert absent[0].message.startswith("admission-controller has at least 1 replica,")
    assert absent[0].hint == "set admissionController.autoscaling.minReplicas: 3"
    other = scaler("another", minReplicas=1)
    assert ids([*engine(), other], required=True) == []


@pytest.mark.parametrize("replicas", ["3", 2.5, -1, True])
def test_what_is_no_number_of_replicas_is_refused(replicas: Any) -> None:
    assert ids(engine(admission=replicas), required=False) == [high_availability.RULE_REPLICAS]


@from_table("spec", "blocks")
def test_budgets_that_block_every_drain(spec: Body, blocks: bool) -> None:
    found = ids([*engine(), budget("admission-controller", **spec)], required=True)
    assert found == ([high_availability.RULE_BUDGET] if blocks else [])


def test_a_budget_of_one_replica_blocks_where_no_availability_is_required() -> None:
    objects = [*engine(reports=1), budget("reports-controller", minAvailable=1)]
    assert ids(objects, required=False) == [high_availability.RULE_BUDGET]


def test_two_budgets_for_one_pod_block_its_eviction() -> None:
    budgets = [budget("admission-controller", name=n, maxUnavailable=1) for n in ("one", "two")]
    found = high_availability.judge([*engine(), *budgets], required=False)
    assert "two disruption budgets (one, two)" in found[0].message


def test_a_budget_of_other_pods_says_nothing() -> None:
    others = [budget("other", minAvailable=9), budget("admission-controller", "x", minAvailable=9)]
    assert ids([*engine(), *others], required=True) == []
    expression = {"key": "app", "operator": "NotIn", "values": ["admission-controller"]}
    spec = {"selector": {"matchExpressions": [expression]}, "minAvailable": "100%"}
    metadata = {"name": "x", "namespace": "kyverno"}
    negative = Resource({"kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    assert ids([*engine(), negative], required=True) == [high_availability.RULE_BUDGET] * 3


def test_an_engine_without_admission_is_refused() -> None:
    assert ids(engine()[1:], required=False) == [high_availability.RULE_NO_ADMISSION]


@pytest.mark.parametrize(
    ("name", "available"), [("ha", True), ("ha-service-monitors", True), ("default", False)]
)
def test_upstreams_own_renders(name: str, available: bool) -> None:
    file = shared(f"reference/kyverno-chart-3.9.0/{name}.rendered.yaml")
    objects = resources(read_file(file))
    assert (not ids(objects, required=True)) is available
    assert ids(objects, required=False) == []


TEXT = beside(__file__)["text"]


def project(folder: Path, one: str, two: str) -> Path:
    (folder / "small.yaml").write_text(PROFILE)
    (folder / "chartkit.yaml").write_text(TEXT)
    (folder / "one.yaml").write_text(one)
    (folder / "two.yaml").write_text(two)
    return folder


@pytest.mark.slow
def test_files_are_merged_over_what_chartkit_sets(tmp_path: Path) -> None:
    first = "admissionController: {replicas: 5, priorityClassName: a}\n"
    one = f"{first}reportsController: {{replicas: 1}}\n"
    found = read_project(project(tmp_path, one, "admissionController: {replicas: 4}\n"))
    done = render_project(found, RenderOptions(tuple(found.environments.values())))
    # The one replica of the reports controller fails the environment, at its line.
    assert done.failed
    (row,) = [each for each in rows(done, "availability") if each.outcome == "fail"]
    assert str(row.location) == f"{tmp_path}/one.yaml:2:21"
    (tmp_path / "one.yaml").write_text(first)
    done = render_project(found, RenderOptions(tuple(found.environments.values())))
    values = yaml.safe_load((tmp_path / "charts/kyverno/values_prd.yaml").read_text())
    admission = values["admissionController"]
    assert (admission["replicas"], admission["priorityClassName"]) == (4, "a")
    assert values["reportsController"] == {"replicas": 2}


@pytest.mark.slow
def test_a_mistake_is_at_its_line(tmp_path: Path) -> None:
    two = "features:\n  policyExceptions: {enable: true}\nadmisionController: {}\n"
    found = read_project(project(tmp_path, "{}\n", two))
    done = render_project(found, RenderOptions(tuple(found.environments.values())))
    failed = [each for each in rows(done, "values") if each.outcome == "fail"]
    assert {(str(each.location), each.hint) for each in failed} == {
        (f"{tmp_path}/two.yaml:2:22", "did you mean 'enabled'?"),
        (f"{tmp_path}/two.yaml:3:1", "did you mean 'admissionController'?"),
    }


@from_table("text", "message")
def test_a_file_that_holds_no_values_is_refused(
    tmp_path: Path, text: str | None, message: str
) -> None:
    folder = project(tmp_path, "{}\n", text or "")
    if text is None:
        (folder / "two.yaml").unlink()
    assert message in str(error_of(InputError, own_values, read_project(folder).environment("prd")))


def environment(said: str) -> Environment:
    text = f'environments: {{prd: {{kyverno: "1.19", kubernetes: "1.34", {said}}}}}'
    (document,) = read_text(text, "chartkit.yaml")
    return parse_project(document, Path("chartkit.yaml")).environment("prd")


def values(said: str) -> Body:
    env = environment(said)
    assert env.policy_reporter
    return chart_values(env.policy_reporter, env.monitoring)


def test_the_plugin_has_the_key_of_the_charts_version() -> None:
    assert values('policyReporter: {version: "3.9.1"}') == {
        "ui": {"enabled": True},
        "plugin": {"kyverno": {"enabled": True}},
    }
    assert values("policyReporter: {version: v2.24.2, plugin: false, ui: false}") == {
        "ui": {"enabled": False},
        "kyvernoPlugin": {"enabled": False},
        "global": {"plugins": {"kyverno": False}},
    }


def test_the_way_to_the_ui() -> None:
    ingress = "{host: reports.example.test, className: nginx, annotations: {a: b}, tlsSecret: s}"
    found = values(f'policyReporter: {{version: "3.9.1", ingress: {ingress}}}')["ui"]["ingress"]
    assert found == {
        "enabled": True,
        "className": "nginx",
        "annotations": {"a": "b"},
        "hosts": [{"host": "reports.example.test", "paths": [{"path": "/", "pathType": "Prefix"}]}],
        "tls": [{"secretName": "s", "hosts": ["reports.example.test"]}],
    }
    bare = values('policyReporter: {version: "3.9.1", ingress: {host: a.test}}')["ui"]["ingress"]
    assert set(bare) == {"enabled", "hosts"}


@pytest.mark.parametrize("mode", ["prometheus-operator", "nodeport", "loadbalancer"])
def test_its_metrics_go_where_the_engines_go(mode: str) -> None:
    labels = ", labels: {team: a}" if mode == "prometheus-operator" else ""
    found = values(f'monitoring: {{mode: {mode}{labels}}}, policyReporter: {{version: "3.9.1"}}')
    assert found["metrics"] == {"enabled": True}
    monitors = {"enabled": True, "serviceMonitor": {"labels": {"team": "a"}}}
    assert found.get("monitoring") == (monitors if labels else None)


def test_each_environment_that_wants_it_has_a_file() -> None:
    env = environment('policyReporter: {version: "3.9.1"}')
    assert env.policy_reporter
    found = plan({"prd": (env.policy_reporter, None)})
    assert (found.name, found.files, list(found.values)) == (
        "policy-reporter",
        {},
        ["values_prd.yaml"],
    )
    assert parse_yaml(found.values["values_prd.yaml"])["ui"] == {"enabled": True}


def test_a_vendored_chart_gets_the_same() -> None:
    files = chart("policy-reporter", "2.24.2", "2.20.2")
    found = read_chart(files, "chart")
    env = environment("policyReporter: {version: v2.24.2, ui: false}")
    assert env.policy_reporter
    said = environment_values(found, env, Path())
    assert said.values == chart_values(env.policy_reporter, None)
    with pytest.raises(InputError, match=r"policy-reporter is 2\.24\.2, not 3\.9"):
        environment_values(found, environment('policyReporter: {version: "3.9.1"}'), Path())


@pytest.mark.parametrize("version", ["2.24.2", "3.9.1"])
def test_the_ui_has_a_node_port(version: str) -> None:
    found = values(f'policyReporter: {{version: "{version}", service: NodePort}}')
    assert found["ui"] == {"enabled": True, "service": {"type": "NodePort"}}


@from_table("text", "message")
def test_policy_reporter_refusals(text: str, message: str) -> None:
    error = error_of(InputError, environment, text)
    shown = str(error)
    assert message in shown
    assert shown.startswith("chartkit.yaml:1:")

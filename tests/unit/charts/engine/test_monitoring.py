"""How Prometheus comes to the metrics: the values of each mode, the alert rules, the dashboard."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.engine.monitoring import ALERTS_FILE, API, DASHBOARD_FILE, alert_groups
from chartkit.charts.new_project import project_files
from chartkit.charts.plan import ChartPlan
from chartkit.charts.upstream.chart_files import read_chart
from chartkit.charts.upstream.values import Said, environment_values
from chartkit.documents.reader import parse_yaml, read_text
from chartkit.errors import InputError
from chartkit.helm.render import render_chart
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Resource
from chartkit.project.monitoring import Mode, Monitoring
from chartkit.project.project import parse_project
from chartkit.values.lint import ChartValues, Stage, lint
from tests.data import from_table
from tests.engine_chart import KUBE_VERSION, objects
from tests.errors import error_of
from tests.metrics import METRICS, mistakes, names
from tests.unit.charts.upstream.vendored_files import chart

CONTROLLERS = ("admission", "background", "cleanup", "reports")
MODES = [(mode, eks) for mode in Mode for eks in (False, True)]
PROMTOOL = shutil.which("promtool")


def environment(text: str, more: str = "") -> Monitoring | None:
    project = f'environments: {{prd: {{kyverno: "1.19", {more or "kubernetes: "}"1.34", {text}}}}}'
    (document,) = read_text(project, "chartkit.yaml")
    return parse_project(document, Path("chartkit.yaml")).environment("prd").monitoring


def refusal(text: str) -> str:
    return str(error_of(InputError, environment, text))


@cache
def plan(mode: Mode, eks: bool) -> ChartPlan:
    """The chart as a new project of that mode has it."""
    text = project_files(["pss-baseline"], Version(1, 34), eks, mode)["chartkit.yaml"]
    (document,) = read_text(text, "chartkit.yaml")
    env = parse_project(document, Path("chartkit.yaml")).environment("dev")
    assert env.monitoring
    assert env.monitoring.mode is mode
    assert env.apis == ({API: True} if mode is Mode.OPERATOR else {})
    return engine_chart.plan({"dev": False}, ">=1.33-0 <1.36-0", {"dev": env.monitoring})


@cache
def rendered(mode: Mode, eks: bool) -> tuple[Resource, ...]:
    values = parse_yaml(plan(mode, eks).values["values_dev.yaml"])
    found = render_chart(
        plan(mode, eks),
        [values],
        release="kyverno",
        namespace="kyverno",
        kube_version=KUBE_VERSION,
        api_versions=[API],
    )
    return tuple(found.resources)


def found(mode: Mode, kind: str, eks: bool = False) -> dict[str, Body]:
    return {each.name: each.body for each in rendered(mode, eks) if each.kind == kind}


@pytest.mark.parametrize(("mode", "eks"), MODES)
def test_lint_finds_nothing(mode: Mode, eks: bool) -> None:
    texts = plan(mode, eks).values
    (defaults,) = read_text(texts["values.yaml"], "values.yaml")
    (values,) = read_text(texts["values_dev.yaml"], "values_dev.yaml")
    schema = json.loads(plan(mode, eks).files["values.schema.json"])
    apis = {API: mode is Mode.OPERATOR}
    subject = ChartValues(defaults, (values,), schema, apis, rendered(mode, eks))
    assert [str(each) for each in lint(subject, Stage.VALUES, Stage.RENDERED)] == []


def test_the_operator_gets_a_monitor_of_each_controller() -> None:
    monitors = found(Mode.OPERATOR, "ServiceMonitor")
    assert set(monitors) == {f"kyverno-{each}-controller" for each in CONTROLLERS}
    (rule,) = found(Mode.OPERATOR, "PrometheusRule").values()
    for body in (*monitors.values(), rule):
        assert body["metadata"]["labels"]["release"] == "kube-prometheus-stack"
    assert rule["spec"]["groups"] == alert_groups()
    assert "kyverno-grafana" in found(Mode.OPERATOR, "ConfigMap")
    assert not found(Mode.OPERATOR, "NetworkPolicy")


def metrics_services(mode: Mode, eks: bool = False) -> dict[str, Body]:
    services = found(mode, "Service", eks)
    metrics = {name: body for name, body in services.items() if name.endswith("-metrics")}
    assert len(metrics) == len(CONTROLLERS)
    return metrics


def test_each_controller_has_a_node_port_of_its_own() -> None:
    services = metrics_services(Mode.NODE_PORT).values()
    ports = [body["spec"]["ports"][0]["nodePort"] for body in services]
    assert sorted(ports) == [30060, 30061, 30062, 30063]
    assert {body["spec"]["type"] for body in services} == {"NodePort"}
    assert not [each.kind for each in rendered(Mode.NODE_PORT, False) if each.api_version == API]


@pytest.mark.parametrize(("eks", "names_it"), [(False, 4), (True, 3)])
def test_load_balancers_are_internal(eks: bool, names_it: int) -> None:
    for body in metrics_services(Mode.LOAD_BALANCER, eks).values():
        annotations = body["metadata"]["annotations"]
        assert body["spec"]["type"] == "LoadBalancer"
        assert annotations["service.beta.kubernetes.io/aws-load-balancer-scheme"] == "internal"
        assert len(annotations) == names_it


@pytest.mark.parametrize("mode", [Mode.NODE_PORT, Mode.LOAD_BALANCER])
def test_network_policies_leave_the_webhooks_to_the_api_server(mode: Mode) -> None:
    policies = found(mode, "NetworkPolicy")
    assert set(policies) == {f"kyverno-{each}-controller" for each in CONTROLLERS}
    for controller in CONTROLLERS:
        rules = policies[f"kyverno-{controller}-controller"]["spec"]["ingress"]
        restricted = [rule for rule in rules if "from" in rule]
        (metrics,) = restricted
        assert [port["port"] for port in metrics["ports"]] == [8000]
        assert metrics["from"][0] == {"ipBlock": {"cidr": "10.0.0.0/8"}}
        open_to_all = [
            port["port"] for rule in rules if "from" not in rule for port in rule["ports"]
        ]
        assert open_to_all == ([9443] if controller in ("admission", "cleanup") else [])


def test_a_policy_for_the_metrics_goes_beside_one_for_the_rest() -> None:
    peer = [{"podSelector": {"matchLabels": {"app": "prometheus"}}}]
    others = [{"ipBlock": {"cidr": "10.0.0.0/8"}}]
    policy = {"enabled": True, "ingressFrom": others, "metricsFrom": peer}
    values = {
        "admissionController": {"networkPolicy": policy, "metering": {"port": 8001}},
        "reportsController": {"networkPolicy": policy},
        "cleanupController": {"networkPolicy": policy, "metricsService": {"create": False}},
    }
    shown = objects(values)

    def rules(controller: str) -> list[tuple[list[Body], list[int]]]:
        body = shown["NetworkPolicy", f"kyverno-{controller}-controller"]
        return [
            (rule["from"], [port["port"] for port in rule["ports"]])
            for rule in body["spec"]["ingress"]
        ]

    assert rules("admission") == [(others, [9443]), (peer, [8001])]
    assert rules("reports") == [(peer, [8000])]
    assert rules("cleanup") == [(others, [9443])]


def test_what_an_environment_says() -> None:
    assert environment("highAvailability: true") is None
    said = environment("monitoring: {mode: nodeport, nodePort: 31000, from: [192.0.2.0/24]}")
    assert said
    assert (said.node_port, said.sources) == (31000, ("192.0.2.0/24",))
    said = environment("monitoring: {mode: prometheus-operator, labels: {team: a}}")
    assert said
    assert said.labels == {"team": "a"}
    said = environment("monitoring: {mode: loadbalancer, annotations: {a: b}}")
    assert said
    assert said.annotations == {"a": "b"}


def upstream(text: str, defaults: str) -> Said:
    files = {**chart(), "values.yaml": defaults.encode()}
    project = f'environments: {{prd: {{kyverno: "1.19", kubernetes: "1.34", {text}}}}}'
    (document,) = read_text(project, "chartkit.yaml")
    env = parse_project(document, Path("chartkit.yaml")).environment("prd")
    return environment_values(read_chart(files, "chart"), env, Path())


_UPSTREAM = "".join(f"{each}Controller: {{replicas: 1}}\n" for each in CONTROLLERS)


def test_upstreams_chart_shuts_nobody_out_of_the_webhooks() -> None:
    said = upstream("highAvailability: true, monitoring: {mode: nodeport}", _UPSTREAM)
    policies = {key: body.get("networkPolicy") for key, body in said.values.items()}
    assert [key for key, body in policies.items() if body] == [
        "backgroundController",
        "reportsController",
    ]
    assert "metricsFrom" not in str(said.values)
    assert said.values["cleanupController"] == {
        "replicas": 2,
        "metricsService": {"type": "NodePort", "nodePort": 30062},
    }
    assert said.left == ()


def test_a_chart_without_rules_says_so() -> None:
    said = upstream("monitoring: {mode: prometheus-operator}", _UPSTREAM + "grafana: {}\n")
    assert set(said.values) == {f"{each}Controller" for each in CONTROLLERS} | {"grafana"}
    assert [each.message for each in said.left] == [
        "upstream's chart has no key prometheusRule in this version: "
        "what chartkit.yaml says here has no effect"
    ]


@from_table("text", "message")
def test_monitoring_refusals(text: str, message: str) -> None:
    shown = refusal(text)
    assert message in shown
    assert shown.startswith("chartkit.yaml:1:")


def rules() -> Iterator[Body]:
    for group in alert_groups():
        yield from group["rules"]


def test_rules_ask_for_what_is_exported() -> None:
    assert [each for rule in rules() for each in mistakes(rule["expr"])] == []
    assert list(mistakes('rate(kyverno_nothing{a="b"}[5m])')) == ["kyverno_nothing"]
    assert list(mistakes('sum by (b) (kyverno_info{a="b"})')) == ["kyverno_info{a}", "by (b)"]


def test_rules_cover_latency_errors_controllers_and_absence() -> None:
    asked = set().union(*(names(rule["expr"]) for rule in rules()))
    assert {
        "kyverno_admission_review_duration_seconds_bucket",
        "kyverno_admission_requests_total",
        "kyverno_policy_results_total",
        "kyverno_validating_policy_results_total",
        "kyverno_controller_drop_total",
        "kyverno_controller_requeue_total",
        "kyverno_info",
        "up",
    } <= asked
    alerts = [rule["alert"] for rule in rules()]
    assert len(set(alerts)) == len(alerts)
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert set(rule["annotations"]) == {"summary", "description"}


def test_thresholds_of_latency_stay_below_the_timeout() -> None:
    thresholds = [
        float(rule["expr"].rpartition("> ")[2])
        for rule in rules()
        if "histogram_quantile" in rule["expr"]
    ]
    assert len(thresholds) == 2
    assert all(0 < each < 10 for each in thresholds)


def test_messages_name_labels_that_the_alert_has() -> None:
    for rule in rules():
        shown = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
        by = re.search(r"by \(([^)]*)\)", rule["expr"])
        assert shown <= ({*by[1].split(", ")} if by else {"job", "instance"})


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not here: Prometheus' own checks")
@pytest.mark.parametrize("command", [["check", "rules"], ["test", "rules"]])
def test_promtool_agrees(command: list[str], tmp_path: Path) -> None:
    text = plan(Mode.OPERATOR, False).files[ALERTS_FILE]
    (tmp_path / "kyverno-alerts.yaml").write_text(text, "utf-8")
    tests = METRICS.parent / "kyverno_alerts.yaml"
    shutil.copy(tests, tmp_path / "tests.yaml")
    file = "tests.yaml" if command[0] == "test" else "kyverno-alerts.yaml"
    assert PROMTOOL
    done = subprocess.run(
        [PROMTOOL, *command, file],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_has_series_that_make_it_fire() -> None:
    text = (METRICS.parent / "kyverno_alerts.yaml").read_text("utf-8")
    cases = [case for test in parse_yaml(text)["tests"] for case in test["alert_rule_test"]]
    alerts = {rule["alert"] for rule in rules()}
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == alerts
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == alerts


def dashboard() -> Body:
    body: Body = json.loads(plan(Mode.OPERATOR, False).files[DASHBOARD_FILE])
    return body


def test_the_dashboard_imports_without_questions() -> None:
    body = dashboard()
    assert (body["id"], body["schemaVersion"] >= 36) == (None, True)
    assert 0 < len(body["uid"]) <= 40
    assert "__inputs" not in body
    panels = body["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    variables = {each["name"]: each for each in body["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    assert variables["cluster"]["current"]["value"] == "$__all"
    asked = set(re.findall(r"\$\{?(\w+)", json.dumps(body)))
    assert {each for each in asked if not each.startswith("__")} <= variables.keys()
    for panel in panels:
        if panel["type"] == "row":
            assert panel["panels"] == []
            continue
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert len({each["refId"] for each in panel["targets"]}) == len(panel["targets"])
        assert all(each["datasource"] == panel["datasource"] for each in panel["targets"])


def test_the_dashboard_asks_for_what_is_exported() -> None:
    targets = [target for panel in dashboard()["panels"] for target in panel.get("targets", ())]
    assert [each for target in targets for each in mistakes(target["expr"])] == []
    for target in targets:
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        by = re.search(r"by \(([^)]*)\)", target["expr"])
        assert shown <= ({*by[1].split(", ")} if by else set())


def test_rules_of_each_pod_are_counted_once() -> None:
    """Every pod of two controllers exports every rule: a sum would grow with the replicas."""
    targets = [target for panel in dashboard()["panels"] for target in panel.get("targets", ())]
    counted = [each["expr"] for each in targets if "kyverno_policy_rule_info" in each["expr"]]
    assert counted
    assert all(re.match(r"count\(max by \(", each) for each in counted)

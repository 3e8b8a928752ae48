"""Values for policy-reporter's chart, by its version."""

from pathlib import Path

import pytest

from chartkit.charts.engine.monitoring import chart_values, plan
from chartkit.charts.upstream.chart_files import read_chart
from chartkit.charts.upstream.values import environment_values
from chartkit.documents.reader import parse_yaml, read_text
from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.project.environment import Environment
from chartkit.project.project import parse_project
from tests.unit.charts.upstream.vendored_files import chart


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


_REFUSED = [
    ('policyReporter: {version: "3.9.1", ui: false, service: NodePort}', "of a UI that is off"),
    ('policyReporter: {version: "3.9.1", service: Nodeport}', "NodePort"),
    ('policyReporter: {version: "1.12.6"}', "2.x and 3.x are"),
    ('policyReporter: {version: "4.0.0"}', "2.x and 3.x are"),
    ("policyReporter: {version: newest}", "'newest' is not a version"),
    ("policyReporter: {ui: true}", "version"),
    ('policyReporter: {version: "3.9.1", ui: false, ingress: {host: a.test}}', "leads to a UI"),
    ('policyReporter: {version: "3.9.1", ingress: {}}', "host"),
    ('policyReporter: {version: "3.9.1", password: secret}', "password"),
]


@pytest.mark.parametrize(("text", "message"), _REFUSED)
def test_policy_reporter_refusals(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        environment(text)
    shown = str(caught.value)
    assert message in shown
    assert shown.startswith("chartkit.yaml:1:")

"""Lint of values: each rule with its examples, fixes, schemas and unknown keys."""

from pathlib import Path
from typing import Any

import pytest

from chartkit.cli import main
from chartkit.documents.reader import Document, Source, empty_document, read_file, read_text
from chartkit.errors import InputError
from chartkit.model import Body, Location, Resource, Severity
from chartkit.registration import declarations, modules
from chartkit.values.lint import ChartValues, Stage, lint, rules
from chartkit.values.lint.files import check_files, defaults, fix_values
from chartkit.values.lint.rule import Rule, no_moves
from chartkit.values.lint.rules import RULES
from tests.data import beside, from_table, tables
from tests.errors import error_of

_TABLES = tables(__file__)

SCHEMA: Body = _TABLES["schema"]
DEFAULTS = beside(__file__)["defaults"]


def document(text: str, file: str) -> Document:
    documents = read_text(text, file)
    return documents[0] if documents else empty_document(Source(file, text))


def subject(overlay: str = "", resources: Any = (), **apis: bool) -> ChartValues:
    return ChartValues(
        document(DEFAULTS, "values.yaml"),
        (document(overlay, "values_dev.yaml"),),
        SCHEMA,
        {name.replace("_", ".").replace("..", "/"): there for name, there in apis.items()},
        resources,
    )


def values_findings(overlay: str, **apis: bool) -> list[str]:
    return [str(each) for each in lint(subject(overlay, **apis), Stage.VALUES)]


def service(name: str, *ports: Body, kind: str = "NodePort") -> Resource:
    spec = {"type": kind, "ports": list(ports)}
    location = Location(f"templates/{name}.yaml", 3)
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
    return Resource(body, location)


def rendered_findings(*resources: Resource, overlay: str = "", **apis: bool) -> list[str]:
    return [str(each) for each in lint(subject(overlay, resources, **apis), Stage.RENDERED)]


def test_good_values_have_no_findings() -> None:
    assert values_findings("reportsController: {replicas: 3}\n") == []
    assert values_findings("") == []


def test_ck001_unknown_key_with_a_suggestion() -> None:
    assert values_findings("reportsController: {replicas: 3}\nreportController: {}\n") == [
        "values_dev.yaml:2:1: error CK001: unknown key 'reportController' "
        "(did you mean 'reportsController'?)"
    ]


def test_ck001_a_value_of_the_wrong_type() -> None:
    assert values_findings("reportsController:\n  replicas: many\n") == [
        "values_dev.yaml:2:3: error CK001: 'reportsController.replicas' must be a whole number "
        'or null, not "many"'
    ]


def test_ck001_what_an_overlay_leaves_out_is_not_missing() -> None:
    assert values_findings("backgroundController: {replicas: 1}\n") == []


def test_ck002_null_deletes_a_default() -> None:
    assert values_findings("reportsController:\n  replicas: null\n") == [
        "values_dev.yaml:2:3: warning CK002: null deletes 'reportsController.replicas', and Helm "
        "renders as if it were not there (the chart's default is 2: remove the line to have it)"
    ]
    missing, found = values_findings("reportsController: null\n")
    assert "has no 'reportsController'" in missing
    assert "the chart's default is a mapping" in found


def test_ck001_what_fits_alone_and_not_with_the_defaults() -> None:
    rule_out = {"if": {"required": ["most"]}, "then": {"properties": {"least": {"type": "null"}}}}
    schema: Body = {"type": "object", "properties": {"budget": rule_out}}
    defaults = document("budget:\n  least: 1\n", "values.yaml")
    overlay = document("other: 1\nbudget:\n  most: 0\n", "values_dev.yaml")
    found = lint(ChartValues(defaults, (overlay,), schema, {}), Stage.VALUES)
    assert [str(each) for each in found] == [
        "values_dev.yaml:2:1: error CK001: 'budget.least' must be null, not 1 "
        "(set it to null: a key beside it takes its place)"
    ]
    mended = document("budget:\n  least: null\n  most: 0\n", "values_dev.yaml")
    found = lint(ChartValues(defaults, (mended,), schema, {}), Stage.VALUES)
    assert [each.rule_id for each in found] == ["CK002"]


def test_ck002_null_over_nothing_is_fine() -> None:
    assert values_findings("backgroundController: {replicas: null}\n") == []


@pytest.mark.parametrize(
    ("resource", "number"),
    [
        (service("metrics", {"port": 8000, "nodePort": 8000}), 8000),
        (service("metrics", {"port": 8000, "nodePort": 32768}, kind="LoadBalancer"), 32768),
        (service("metrics", {"port": 1, "nodePort": 30000}, {"port": 2, "nodePort": 29999}), 29999),
    ],
)
def test_ck003_node_port_outside_the_range(resource: Resource, number: int) -> None:
    (found,) = rendered_findings(resource)
    assert found.startswith("templates/metrics.yaml:3: error CK003: ")
    assert f"node port {number} of Service metrics is outside 30000–32767" in found


def test_ck003_stands_where_the_values_name_the_port() -> None:
    overlay = "reportsController:\n  metricsService:\n    nodePort: 80\n"
    (found,) = rendered_findings(service("m", {"port": 1, "nodePort": 80}), overlay=overlay)
    assert found.startswith("values_dev.yaml:3:5: error CK003: ")


def test_ck003_ports_that_kubernetes_takes() -> None:
    good = service("a", {"port": 1, "nodePort": 30000}, {"port": 2, "nodePort": 32767}, {"port": 3})
    assert rendered_findings(good) == []
    assert rendered_findings(service("a", {"port": 1, "nodePort": 80}, kind="ClusterIP")) == []


def test_ck004_two_services_on_one_node_port() -> None:
    overlay = (
        "backgroundController:\n  metricsService:\n    nodePort: 30001\n"
        "reportsController:\n  metricsService:\n    nodePort: 30001\n"
    )
    one, two = (service(n, {"port": 8000, "nodePort": 30001}) for n in ("one", "two"))
    (found,) = rendered_findings(one, two, overlay=overlay)
    assert "error CK004: node port 30001 of Service two is taken by one" in found
    assert found.startswith("values_dev.yaml:")


def test_ck004_one_number_for_two_protocols_is_fine() -> None:
    udp = {"port": 8000, "nodePort": 30001, "protocol": "UDP"}
    one, two = service("one", {"port": 8000, "nodePort": 30001}), service("two", udp)
    assert rendered_findings(one, two) == []


MONITOR = "reportsController:\n  serviceMonitor:\n    enabled: true\n"


def test_ck005_service_monitor_without_its_definition() -> None:
    (found,) = values_findings(MONITOR, monitoring_coreos_com__v1=False)
    assert found.startswith(
        "values_dev.yaml:3:5: error CK005: 'reportsController.serviceMonitor.enabled' is true"
    )


def test_ck005_says_nothing_where_it_is_there_or_not_known() -> None:
    assert values_findings(MONITOR, monitoring_coreos_com__v1=True) == []
    assert values_findings(MONITOR) == []
    off = MONITOR.replace("true", "false")
    assert values_findings(off, monitoring_coreos_com__v1=False) == []


def test_ck005_warns_where_nothing_is_said_of_the_definition() -> None:
    body = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor"}
    monitor = Resource({**body, "metadata": {"name": "m"}}, Location("templates/m.yaml", 2))
    values = document(MONITOR, "values_dev.yaml")
    defaults = document("{}", "values.yaml")
    (found,) = lint(ChartValues(defaults, (values,), None, {}, (monitor,)), Stage.RENDERED)
    assert (found.rule_id, found.severity) == ("CK005", Severity.WARNING)
    assert found.message.startswith("ServiceMonitor m: nothing says whether the cluster has ")
    assert str(found.location) == "values_dev.yaml:3:5"
    assert "monitoring.coreos.com/v1: true" in (found.hint or "")
    (empty,) = lint(ChartValues(defaults, (values,), None, {}), Stage.RENDERED)
    assert "'reportsController.serviceMonitor.enabled' is true and renders nothing" in empty.message
    said = {"monitoring.coreos.com/v1": True}
    assert lint(ChartValues(defaults, (values,), None, said, (monitor,)), Stage.RENDERED) == []


def test_ck005_any_object_of_an_api_that_is_not_there() -> None:
    body = {"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "i"}}
    issuer = Resource(body, Location("templates/i.yaml", 2))
    subject_apis = {"cert-manager.io/v1": False}
    looked_at = ChartValues(
        document("{}", "values.yaml"), (), None, subject_apis, (issuer, service("s"))
    )
    (found,) = lint(looked_at, Stage.RENDERED)
    assert found.rule_id == "CK005"
    assert found.message == "Issuer i needs cert-manager.io/v1, which is not there"
    assert lint(looked_at, Stage.VALUES) == []


@from_table("text", "expected", "ids")
def test_fixes(text: str, expected: str | None, ids: list[str]) -> None:
    fixed, done = fix_values(text, "x.yaml", defaults(None))
    assert done == ids
    if expected is None:
        assert fixed == text
        return
    assert body(fixed) == body(expected)
    for comment in ("# top", "# why", "# last"):
        assert (comment in fixed) == (comment in text)
    assert fix_values(fixed, "x.yaml", defaults(None)) == (fixed, [])


def test_json_stays_json() -> None:
    text = '{"policyExceptions": {"enabled": true},\n "x": 1}\n'
    fixed, _ = fix_values(text, "x.json", defaults(None))
    assert fixed == '{"x": 1,\n "features": {"policyExceptions": {"enabled": true}}}\n'


def test_what_cannot_be_edited() -> None:
    webhooks = "config:\n  webhooks:\n  - a: 1\n"
    with pytest.raises(
        InputError, match=r"^x.yaml:1:1: cannot be edited without .*'y' is not a string"
    ):
        fix_values(f"y: 1\n{webhooks}", "x.yaml", {})
    moved = "policyExceptions: &x {enabled: true}\na: *x\n"
    with pytest.raises(InputError, match="cannot be edited without a change to other lines: "):
        fix_values(moved, "x.yaml", {"features": {"policyExceptions": {}}})
    assert fix_values("a: 2001-13-45\n", "x.yaml", {}) == ("a: 2001-13-45\n", [])
    with pytest.raises(InputError, match=r"x.yaml:2:1: the key 'a' stands here a second time"):
        fix_values("a: 1\na: 2\n", "x.yaml", {})


def body(text: str) -> Body:
    found: Body = read_text(text, "x")[0].body
    return found


SERVICE = beside(__file__)["service"]


def _ids(folder: Path, rule: Rule, values: str) -> set[str]:
    file = folder / "mine.yaml"
    file.write_text(values)
    chart = None
    if example_chart := rule.texts.get("exampleChart"):
        chart = folder / "chart"
        chart.mkdir()
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 1.0.0\n")
        (chart / "values.yaml").write_text(example_chart)
        (chart / "templates").mkdir()
        (chart / "templates" / "service.yaml").write_text(SERVICE)
    return {each.rule_id for each in check_files([file], chart, False)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_reports_its_problematic_example(tmp_path: Path, rule: Rule) -> None:
    assert rule.id in _ids(tmp_path, rule, rule.texts["problematic"])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_accepts_its_correct_example(tmp_path: Path, rule: Rule) -> None:
    assert _ids(tmp_path, rule, rule.texts["correct"]) == set()


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.moves is not no_moves], ids=lambda rule: rule.id
)
def test_a_rule_fixes_its_problematic_example(tmp_path: Path, rule: Rule) -> None:
    text, fixed = fix_values(rule.texts["problematic"], "mine.yaml", defaults(None))
    assert fixed == [rule.id]
    assert rule.id not in _ids(tmp_path, rule, text)


def test_each_rule_is_declared_once_with_its_words() -> None:
    found = (declarations(Rule, vars(module)) for module in modules(rules.__name__))
    declared = sorted(rule.id for of_module in found for rule in of_module)
    (words,) = read_file(Path(rules.__file__).parents[1] / "rules.yaml")
    assert declared == sorted(words.body) == [rule.id for rule in RULES]
    assert len(set(declared)) == len(RULES)


@from_table("schema")
def test_a_schema_that_is_none(
    schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    Path("values.yaml").write_text("a: x\n")
    Path("v.yaml").write_text("a: y\n")
    Path("values.schema.json").write_text(schema)
    assert error_of(SystemExit, main, ["values", "lint", "--chart", ".", "v.yaml"]).code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


UNKNOWN_DEFAULTS = beside(__file__)["unknown-defaults"]


def findings(overlay: str) -> list[str]:
    (defaults,), (values,) = (
        read_text(UNKNOWN_DEFAULTS, "values.yaml"),
        read_text(overlay, "mine.yaml"),
    )
    return [str(each) for each in lint(ChartValues(defaults, (values,), None, {}), Stage.VALUES)]


@from_table("overlay", "name", "place", "hint")
def test_unknown(overlay: str, name: str, place: str, hint: str) -> None:
    (found,) = findings(overlay)
    assert found.startswith(f"mine.yaml:{place}: ")
    assert f"no key '{name}'" in found
    assert hint in found


@from_table("overlay")
def test_known(overlay: str) -> None:
    assert not [each for each in findings(overlay) if "no key" in each]

"""The engine chart: what it consists of, what its values do, and which it refuses."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chartkit.charts.engine import chart as engine_chart
from chartkit.documents.reader import parse_yaml, read_text
from chartkit.errors import ChartkitError
from chartkit.helm.render import RenderedChart, dry_run, lint_chart, render_chart
from chartkit.kyverno.matrix import CLUSTERS_ANNOTATION
from chartkit.kyverno.releases import current
from chartkit.kyverno.versions import Version
from chartkit.model import Body
from chartkit.schemas.json_schema import violations
from tests.data import from_table, tables
from tests.engine_chart import CRD, KUBE_VERSION, objects, plan, render
from tests.shared import ROOT

CONTROLLERS = ("admission", "background", "cleanup", "reports")
_STORED_LIMIT = 200_000


def _deployment(values: Body, controller: str) -> Body:
    return objects(values)["Deployment", f"kyverno-{controller}-controller"]


def _container(values: Body, controller: str) -> Body:
    container: Body = _deployment(values, controller)["spec"]["template"]["spec"]["containers"][-1]
    return container


def test_the_chart_names_its_versions() -> None:
    metadata = parse_yaml(plan().files["Chart.yaml"])
    assert metadata["appVersion"] == current().app_version
    assert metadata["kubeVersion"] == ">=1.33-0"
    assert metadata["annotations"][CLUSTERS_ANNOTATION] == ">=1.33-0 <1.36-0"


def test_a_highly_available_environment_has_replicas() -> None:
    values = parse_yaml(plan().values["values_prd.yaml"])
    replicas = {name: body["replicas"] for name, body in values.items()}
    assert replicas == {
        "admissionController": 3,
        "backgroundController": 2,
        "cleanupController": 2,
        "reportsController": 2,
    }
    found = objects(values)
    for controller in CONTROLLERS:
        assert ("PodDisruptionBudget", f"kyverno-{controller}-controller") in found


def test_the_values_of_every_environment_say_something() -> None:
    # `helm upgrade -f FILE` keeps the values of the release before where FILE has none.
    values = parse_yaml(plan().values["values_dev.yaml"])
    assert values == {f"{name}Controller": {"replicas": 1} for name in CONTROLLERS}
    committed = [*(ROOT / "charts").glob("*/values_*.yaml")]
    assert len(committed) == 6
    assert all(parse_yaml(file.read_text()) for file in committed)


@pytest.mark.parametrize(
    ("kubernetes", "sleeps"), [(Version(1, 29), False), (Version(1, 30), True)]
)
def test_a_highly_available_admission_controller_waits_before_it_stops(
    kubernetes: Version, sleeps: bool
) -> None:
    known = {"prd"} if kubernetes >= engine_chart.SLEEP_SINCE else set()
    made = engine_chart.plan({"dev": False, "prd": True}, ">=1.29-0", sleeps=known)
    assert "lifecycle" not in made.values["values_dev.yaml"]
    values = parse_yaml(made.values["values_prd.yaml"])
    container = _container(values, "admission")
    expected = {"preStop": {"sleep": {"seconds": 10}}} if sleeps else None
    assert container.get("lifecycle") == expected
    # The kubelet ends the Pod later than that.
    spec = _deployment(values, "admission")["spec"]["template"]["spec"]
    assert spec.get("terminationGracePeriodSeconds", 30) > 10


@pytest.mark.parametrize("environment", ["values.yaml", "values_dev.yaml", "values_prd.yaml"])
def test_helm_lint_finds_nothing(environment: str) -> None:
    values = parse_yaml(plan().values[environment]) or {}
    found = lint_chart(plan(), [values], kube_version=KUBE_VERSION)
    assert [str(each) for each in found if "icon is recommended" not in each.message] == []


def test_the_notes_say_who_makes_certificates() -> None:
    kyverno = dry_run(plan(), [{}], release="kyverno", kube_version=KUBE_VERSION).notes
    assert kyverno.count("made and renewed by Kyverno") == 2
    assert "Not highly available: 1 pod" in kyverno
    values = {
        "admissionController": {"createSelfSignedCert": True, "replicas": 3},
        "cleanupController": {"certManager": {"enabled": True}},
    }
    helm = dry_run(plan(), [values], release="kyverno", kube_version=KUBE_VERSION).notes
    assert "made by Helm (createSelfSignedCert is true). Nobody renews them" in helm
    assert "made and renewed by cert-manager" in helm
    assert "Not highly available" not in helm


def _in_cluster(version: str, values: Body | None = None) -> RenderedChart:
    apis = ["apiregistration.k8s.io/v1"]
    given = [values or {}]
    return render_chart(plan(), given, namespace="kyverno", kube_version=version, api_versions=apis)


@pytest.mark.parametrize("version", ["v1.36.0", "v1.36.2-eks-ad4801", "v1.40.1"])
def test_a_newer_cluster_is_refused_where_there_is_one(version: str) -> None:
    kyverno = re.escape(current().app_version)
    said = rf"Kubernetes {version} is not supported by Kyverno {kyverno} \(>=1\.33-0 <1\.36-0\)"
    with pytest.raises(ChartkitError, match=f"{said}.*allowUnsupportedKubernetes: true") as caught:
        _in_cluster(version)
    assert "Kubernetes" in caught.value.message
    assert _in_cluster("v1.34.1-eks-ad4801").resources


def test_who_installs_in_a_newer_cluster_is_reminded() -> None:
    values = {"global": {"allowUnsupportedKubernetes": True}}
    apis = ["apiregistration.k8s.io/v1"]
    notes = dry_run(plan(), [values], kube_version="v1.36.0", api_versions=apis).notes
    assert "Kubernetes v1.36.0 is not supported by Kyverno" in notes
    assert "allowUnsupportedKubernetes is true" in notes


def test_offline_any_newer_version_renders() -> None:
    for version in (None, "v1.36.0", "v1.36.2-eks-ad4801", "v1.99.0"):
        dry_run(plan(), [{}], release="kyverno", kube_version=version)
    with pytest.raises(ChartkitError, match=r"1\.32"):
        dry_run(plan(), [{}], release="kyverno", kube_version="v1.32.0")


_TWO = (
    {"admissionController": {"replicas": 2}},
    {"admissionController": {"autoscaling": {"enabled": True, "minReplicas": 2}}},
    {"admissionController": {"replicas": 3, "autoscaling": {"enabled": True, "minReplicas": 2}}},
)


@pytest.mark.parametrize("values", _TWO)
def test_two_admission_replicas_are_refused_with_the_reason(values: Body) -> None:
    said = "admission-controller has 2 replicas, which is refused everywhere: no majority is left"
    out = "set 3, or 1 where it need not be highly available"
    with pytest.raises(ChartkitError, match=f"{said}.*{out}"):
        render_chart(plan(), [values], kube_version=KUBE_VERSION)
    if "autoscaling" in values["admissionController"]:
        return
    document = read_text(json.dumps(values))[0]
    found = violations(document, json.loads(plan().files["values.schema.json"]))
    assert len([each for each in found if said in each.message and out in each.message]) == 1


@from_table("values")
def test_other_numbers_of_replicas_are_not_refused(values: Body) -> None:
    assert render_chart(plan(), [values], kube_version=KUBE_VERSION).resources


def test_clients_may_ask_enough_for_many_cluster_policies() -> None:
    limits = ["--clientRateLimitBurst=1000", "--clientRateLimitQPS=500"]
    assert [each for each in _container({}, "admission")["args"] if "RateLimit" in each] == limits
    own = {"container": {"extraArgs": {"clientRateLimitQPS": 50, "clientRateLimitBurst": 0}}}
    found = _container({"admissionController": own}, "admission")["args"]
    assert [each for each in found if "RateLimit" in each] == ["--clientRateLimitQPS=50"]


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_one_description_serves_all_four(controller: str) -> None:
    settings: Body = tables(__file__)["settings"]
    values = {f"{controller}Controller": settings}
    template = _deployment(values, controller)["spec"]["template"]
    spec = template["spec"]
    assert template["metadata"]["labels"]["team"] == "kyverno"
    assert spec["priorityClassName"] == "high"
    assert spec["tolerations"] == settings["tolerations"]
    assert spec["topologySpreadConstraints"] == settings["topologySpreadConstraints"]
    assert "affinity" not in spec
    container = _container(values, controller)
    metering = f"--metricsTLSSecretName=kyverno-{controller}-controller.kyverno.metering"
    for argument in ("--metricsPort=9000", "--tracingPort=4317", "--profilePort=6060"):
        assert argument in container["args"]
    assert any(argument.startswith(metering) for argument in container["args"])
    assert {"name": "v", "mountPath": "/v"} in container["volumeMounts"]
    assert {"name": "v", "emptyDir": {}} in spec["volumes"]


def test_a_null_takes_an_optional_default_away() -> None:
    assert "livenessProbe" in _container({}, "admission")
    values = {"admissionController": {"livenessProbe": None}}
    assert "livenessProbe" not in _container(values, "admission")


def test_a_controllers_features_go_before_the_charts() -> None:
    values = {
        "features": {"logging": {"verbosity": 4}, "policyExceptions": {"enabled": True}},
        "reportsController": {"featuresOverride": {"logging": {"verbosity": 6}}},
    }
    assert "--v=6" in _container(values, "reports")["args"]
    assert "--v=4" in _container(values, "background")["args"]
    assert "--enablePolicyException=true" in _container(values, "reports")["args"]


def test_metrics_are_scraped_with_tls() -> None:
    values = tables(__file__)["values"]
    found = objects(values)
    endpoints = [
        found["ServiceMonitor", f"kyverno-{controller}-controller"]["spec"]["endpoints"][0]
        for controller in ("background", "reports")
    ]
    assert [(each["scheme"], each["tlsConfig"]) for each in endpoints] == [
        ("https", {}),
        ("https", {"insecureSkipVerify": True}),
    ]


def test_large_numbers_are_written_out() -> None:
    values = {
        "features": {"globalContext": {"maxApiCallResponseLength": 20_000_000}},
        "admissionController": {"container": {"extraArgs": {"clientRateLimitQPS": 1_000_000}}},
        "config": {"updateRequestThreshold": 5_000_000},
    }
    found = _container(values, "admission")["args"]
    assert "--maxAPICallResponseLength=20000000" in found
    assert "--clientRateLimitQPS=1000000" in found
    data = objects(values)["ConfigMap", "kyverno"]["data"]
    assert data["updateRequestThreshold"] == "5000000"


def test_resource_filters_are_excluded_and_added() -> None:
    values = tables(__file__)["resource_filters_are_excluded_and_added"]
    before = objects()["ConfigMap", "kyverno"]["data"]["resourceFilters"]
    after = objects(values)["ConfigMap", "kyverno"]["data"]["resourceFilters"]
    assert "[Event,*,*]" in before
    assert "[*/*,kube-system,*]" in before
    assert set(before.split()) - set(after.split()) == {"[Event,*,*]", "[*/*,kube-system,*]"}
    assert set(after.split()) - set(before.split()) == {"[Pod,*,kyverno-job]", "[*/*,build,*]"}


def test_certificates_of_helm_are_for_the_service() -> None:
    values = {"cleanupController": {"createSelfSignedCert": True}}
    name = "kyverno-cleanup-controller.kyverno.svc.kyverno-tls"
    found = objects(values)
    for part in ("ca", "pair"):
        data = found["Secret", f"{name}-{part}"]["data"]
        assert base64.b64decode(data["tls.crt"]).startswith(b"-----BEGIN CERTIFICATE-----")
    assert found["Secret", f"{name}-pair"]["metadata"]["annotations"] == {
        "self-signed-cert": "true"
    }


def test_certificates_of_cert_manager() -> None:
    values = {"admissionController": {"certManager": {"enabled": True, "algorithm": "Ed25519"}}}
    found = objects(values)
    certificate = found["Certificate", "kyverno-admission-controller-tls"]["spec"]
    assert certificate["secretName"] == "kyverno-svc.kyverno.svc.kyverno-tls-pair"
    assert certificate["privateKey"] == {"algorithm": "Ed25519"}
    assert certificate["issuerRef"]["name"] == "kyverno-ca-issuer"
    assert ("ClusterIssuer", "kyverno-selfsigned-issuer") in found


def test_definitions_are_chosen_by_values() -> None:
    def definitions(values: Body) -> set[str]:
        return {name for kind, name in objects(values) if kind == CRD}

    assert len(definitions({})) == 22
    assert definitions({"crds": {"install": False}}) == set()
    some = {"crds": {"groups": {"policies": {"validatingpolicies": False}}}}
    assert definitions({}) - definitions(some) == {"validatingpolicies.policies.kyverno.io"}
    opened = {"openreports": {"enabled": True, "installCrds": True}}
    assert definitions(opened) - definitions({}) == {
        "clusterreports.openreports.io",
        "reports.openreports.io",
    }
    served = {"crds": {"reportsServer": {"enabled": True}}}
    gone = {name.partition(".")[2] for name in definitions({}) - definitions(served)}
    assert gone == {"reports.kyverno.io", "wgpolicyk8s.io"}


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    values = {"grafana": {"enabled": True, "grafanaDashboard": {"create": True}}}
    found = objects(values)
    data = found["ConfigMap", "kyverno-grafana"]["data"]["kyverno-dashboard.json"]
    panels = json.loads(data)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [tuple(panel["gridPos"].values()) for panel in panels]
    assert len(set(places)) == len(places)
    assert all(left + width <= 24 for left, _, width, _ in places)
    reference = found["GrafanaDashboard", "kyverno-grafana-kyverno-dashboard.json"]["spec"]
    assert reference["configMapRef"]["name"] == "kyverno-grafana"


@from_table("text", "key", "problem", named_by="text")
def test_wrong_values_are_refused_with_their_place(
    text: str, key: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(f"# mine\n{text}\n", "utf-8")
    with pytest.raises(ChartkitError, match=problem) as caught:
        render_chart(plan(), [file], kube_version=KUBE_VERSION)
    assert f"'{key}'" in str(caught.value) or key.rsplit(".", 1)[0] in str(caught.value)
    assert str(caught.value).startswith(f"{file}:2:")


def test_the_namespace_kube_system_is_refused() -> None:
    with pytest.raises(ChartkitError, match="kube-system"):
        render_chart(plan(), [{}], namespace="kube-system", kube_version=KUBE_VERSION)


def test_every_key_of_the_schema_is_described() -> None:
    schema = json.loads(plan().files["values.schema.json"])
    missing = list(_undescribed(schema, parse_yaml(plan().values["values.yaml"]), schema, ""))
    assert missing == []


def _undescribed(schema: Body, values: Body, root: Body, path: str) -> Iterator[str]:
    """The keys of the default values whose schema has no description, Kubernetes' own left out."""
    for name, value in values.items():
        part = schema.get("properties", {}).get(name)
        if part is None:
            continue
        if not part.get("description"):
            yield f"{path}{name}"
        target = root["definitions"][part["$ref"].rsplit("/")[-1]] if "$ref" in part else part
        if isinstance(value, dict) and _is_section(target):
            yield from _undescribed(target, value, root, f"{path}{name}.")


def _is_section(schema: Body) -> bool:
    fields: dict[str, Any] = schema.get("properties", {})
    return any(field.get("description") for field in fields.values())


def test_the_page_of_values_is_up_to_date(request: pytest.FixtureRequest) -> None:
    page = ROOT / "docs" / "reference" / "values.md"
    if request.config.getoption("--update-golden"):
        page.write_text(engine_chart.values_page(), "utf-8")
    assert page.read_text("utf-8") == engine_chart.values_page()


def test_what_helm_stores_of_a_release_is_small() -> None:
    chart = plan()
    files = {**chart.files, **chart.values}
    schema, values = files.pop("values.schema.json"), files.pop("values.yaml")
    metadata = files.pop("Chart.yaml")
    release = {
        "name": "kyverno",
        "chart": {
            "metadata": parse_yaml(metadata),
            "templates": [_encoded(name, text) for name, text in files.items()],
            "schema": base64.b64encode(schema.encode()).decode(),
            "values": parse_yaml(values),
        },
        "manifest": "\n".join(render().texts.values()),
    }
    stored = base64.b64encode(gzip.compress(json.dumps(release).encode(), 9))
    assert len(stored) < _STORED_LIMIT


def _encoded(name: str, text: str) -> Body:
    return {"name": name, "data": base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize("name", ["kyverno", "own-name"])
def test_the_cleanup_controller_stops_before_the_others(name: str) -> None:
    """The admission controller deletes all webhook configurations when it stops; a cleanup
    controller that still runs would write its own anew."""
    found = objects({"fullnameOverride": name, "namespaceOverride": "policies"})
    first, then = _stopped(found, f"{name}-stop-cleanup"), _stopped(found, f"{name}-scale-to-zero")
    assert first == ["kyverno-cleanup-controller"]
    assert then == [f"kyverno-{each}-controller" for each in CONTROLLERS]
    jobs = [f"{name}-{each}" for each in ("stop-cleanup", "scale-to-zero", "rm-webhooks")]
    hooks = [found["Job", job]["metadata"]["annotations"] for job in jobs]
    assert {hook["helm.sh/hook"] for hook in hooks} == {"pre-delete"}
    weights = [int(hook["helm.sh/hook-weight"]) for hook in hooks]
    assert weights == sorted(set(weights))


def _stopped(found: dict[tuple[str, str], Body], job: str) -> list[str]:
    """Names of the Deployments that a job scales to zero."""
    pod = found["Job", job]["spec"]["template"]["spec"]
    flags = dict(each.removeprefix("--").split("=", 1) for each in pod["containers"][0]["args"][1:])
    labels = dict(each.split("=") for each in flags["label"].split(",")).items()
    metadata = [body["metadata"] for (kind, _), body in found.items() if kind == "Deployment"]
    assert {each["namespace"] for each in metadata} == {flags["namespace"]}
    return sorted(each["name"] for each in metadata if labels <= each["labels"].items())


def test_a_cleanup_controller_that_is_off_is_not_stopped() -> None:
    off = {"cleanupController": {"enabled": False}}
    assert ("Job", "kyverno-stop-cleanup") not in objects(off)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_controllers_own_rules_are_bound_and_not_added_up(controller: str) -> None:
    """What the aggregator adds up it writes once more while Helm deletes the parts."""
    more = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    own = [{"apiGroups": [""], "resources": ["pods"]}] if controller == "reports" else more
    found = objects({f"{controller}Controller": {"rbac": {"clusterRole": {"extraResources": own}}}})
    name = f"kyverno:{controller}-controller"
    selectors = found["ClusterRole", name]["aggregationRule"]["clusterRoleSelectors"]
    for role in (f"{name}:core", f"{name}:additional"):
        labels = found["ClusterRole", role]["metadata"]["labels"]
        assert not any(each["matchLabels"].items() <= labels.items() for each in selectors)
        binding = found["ClusterRoleBinding", role]
        assert binding["roleRef"]["name"] == role
        assert binding["subjects"] == found["ClusterRoleBinding", name]["subjects"]


def test_no_role_permits_what_it_does_not_name() -> None:
    """The library's policy against wildcards would refuse it, and with it the upgrade."""
    roles = [body for (kind, _), body in objects({}).items() if kind in ("Role", "ClusterRole")]
    rules = [rule for role in roles for rule in role.get("rules") or []]
    assert not [rule for rule in rules if "*" in [*rule.get("resources", []), *rule["verbs"]]]


@pytest.mark.parametrize("resources", [None, ["things.example.com", "parts.sub.example.com"]])
def test_the_migration_may_write_what_it_migrates_and_no_more(resources: list[str] | None) -> None:
    found = objects({"crds": {"migration": {"resources": resources}}} if resources else {})
    rules = found["ClusterRole", "kyverno:migrate-resources"]["rules"]
    job = found["Job", "kyverno-migrate-resources"]["spec"]["template"]["spec"]["containers"][0]
    migrated = job["args"][2::2]
    assert migrated
    assert migrated == (resources or migrated)
    own = [rule for rule in rules if rule["apiGroups"] != ["apiextensions.k8s.io"]]
    assert migrated == [f"{rule['resources'][0]}.{rule['apiGroups'][0]}" for rule in own]
    assert {tuple(rule["verbs"]) for rule in own} == {("get", "list", "update")}
    definitions = [rule for rule in rules if rule not in own]
    assert all(rule["resourceNames"] == migrated for rule in definitions)


def test_a_migration_of_nothing_may_do_nothing() -> None:
    found = objects({"crds": {"migration": {"resources": []}}})
    assert not found["ClusterRole", "kyverno:migrate-resources"].get("rules")


def test_hooks_that_succeed_leave_nothing() -> None:
    """Helm does not remove what a hook made when it uninstalls the release; `helm test` keeps
    its Pods for their logs."""
    annotations = [body["metadata"].get("annotations") or {} for body in objects({}).values()]
    hooks = [each for each in annotations if each.get("helm.sh/hook", "test") != "test"]
    assert hooks
    for hook in hooks:
        assert "hook-succeeded" in hook["helm.sh/hook-delete-policy"].split(","), hook

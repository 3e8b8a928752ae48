"""Five values files as people had them: what they meant is what the chart makes of the new ones."""

import json
import re

import pytest

from chartkit.kyverno.releases import current
from chartkit.model import Body
from chartkit.output.yaml_tree import write_tree
from chartkit.output.yaml_tree_reader import read_tree
from tests.addons.migrate.values.values import (
    CONTROLLERS,
    OLD,
    VERSIONS,
    asked,
    config,
    container,
    deployment,
    document,
    migrated,
    old,
    outcomes,
    pod,
    refused,
    rendered,
)
from tests.data import tables

GONE_WITH_THEIR_KEYS = {
    "2.0": {"# Policies of the standard are refused at once."},
    "2.3": {"# Three pods in three zones."},
}


@pytest.mark.parametrize("version", VERSIONS)
def test_old_files_accepted(version: str) -> None:
    assert refused(old(version).text) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_again_changes_nothing(version: str) -> None:
    text = old(version).text
    tree = read_tree(document(text), lambda _: 0)
    assert write_tree(tree) == text
    again = migrated(text)
    assert (again.text, again.steps) == (text, ())


@pytest.mark.parametrize("version", VERSIONS)
def test_comments_stay(version: str) -> None:
    before = re.findall(r"(?:^|\s)(#.*)", (OLD / f"{version}.yaml").read_text("utf-8"))
    after = re.findall(r"(?:^|\s)(#.*)", old(version).text)
    assert set(before) - set(after) == GONE_WITH_THEIR_KEYS.get(version, set())
    assert len(after) == len(set(after))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_key_is_spoken_of(version: str) -> None:
    migration = old(version)
    keys = {
        key
        for step in migration.steps
        for key in (step.key.partition(".")[0].partition("[")[0], *step.targets)
    }
    body = document((OLD / f"{version}.yaml").read_text("utf-8")).body
    unchanged = {key for key in body if key in document(migration.text).body}
    assert set(body) - keys <= unchanged
    assert all(step.why.endswith(".") for step in migration.steps)


def test_old_files_recognised() -> None:
    spans = {version: str(old(version).span) for version in VERSIONS}
    assert spans == {
        "2.0": "2.0",
        "2.3": "2.2 to 2.3",
        "2.4": "2.4 to 2.7",
        "2.6": "2.6 to 2.7",
        "2.7": "2.7",
    }


def test_old_files_what_is_asked() -> None:
    assert {version: asked(old(version)) for version in VERSIONS} == {
        "2.0": set(),
        "2.3": {"networkPolicy.namespaceLabels"},
        "2.4": {"createSelfSignedCert", "webhooksCleanup.image"},
        "2.6": {"image", "testImage.registry", "testImage.repository", "testImage.tag"},
        "2.7": {"extraArgs[--mirror]"},
    }


# 2.0


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_two_zero_pods(controller: str) -> None:
    spec = pod("2.0", controller)["spec"]
    assert spec["nodeSelector"]["pool"] == "platform"
    assert spec["tolerations"] == [
        {"key": "platform", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert spec["imagePullSecrets"] == [{"name": "mirror-login"}]
    (term,) = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    labels = term["labelSelector"]["matchLabels"].items()
    assert term["topologyKey"] == "topology.kubernetes.io/zone"
    assert labels <= pod("2.0", controller)["metadata"]["labels"].items()
    main = container("2.0", controller)
    assert main["image"].startswith("registry.shop.example/kyverno/")
    assert main["image"].endswith(f":{current().app_version}")
    assert main["imagePullPolicy"] == "Always"
    assert {"name": "HTTPS_PROXY", "value": "http://proxy.shop.example:3128"} in main["env"]
    assert "--v=4" in main["args"]


def test_two_zero() -> None:
    assert deployment("2.0", "admission")["replicas"] == 1
    main = container("2.0", "admission")
    assert main["resources"] == {
        "limits": {"memory": "1Gi"},
        "requests": {"cpu": "250m", "memory": "300Mi"},
    }
    assert "--webhookTimeout=12" in main["args"]
    assert "--backgroundScanInterval=6h" in container("2.0", "reports")["args"]
    (init,) = pod("2.0", "admission")["spec"]["initContainers"]
    assert init["image"] == f"registry.shop.example/kyverno/kyvernopre:{current().app_version}"
    data = config("2.0", "kyverno")
    assert data["generateSuccessEvents"] == "true"
    assert set(data["excludeGroups"].split(",")) == {"system:nodes", "system:masters"}
    filters = set(data["resourceFilters"].split())
    assert filters >= {
        "[*/*,istio-system,*]",
        "[Lease,shop,leader-*]",
        "[Lease/?*,shop,leader-*]",
        "[*/*,kube-system,*]",
        "[Event,*,*]",
    }
    expressions = json.loads(data["webhooks"])["namespaceSelector"]["matchExpressions"]
    assert {"key": "environment", "operator": "In", "values": ["prod"]} in expressions


def test_two_zero_roles_and_monitoring() -> None:
    rule = rendered("2.0")["ClusterRole", "kyverno:background-controller:additional"].body["rules"]
    assert {"certificates"} == {name for each in rule for name in each["resources"]}
    assert {"create", "update", "delete"} <= {verb for each in rule for verb in each["verbs"]}
    monitors = [each for (kind, _), each in rendered("2.0").items() if kind == "ServiceMonitor"]
    assert len(monitors) == len(CONTROLLERS)
    assert {each.body["metadata"]["labels"]["release"] for each in monitors} == {"prometheus"}
    assert len([kind for kind, _ in rendered("2.0") if kind == "NetworkPolicy"]) == len(CONTROLLERS)


# 2.3


def test_two_three() -> None:
    assert deployment("2.3", "admission")["replicas"] == 3
    found = rendered("2.3")
    assert (
        found["PodDisruptionBudget", "kyverno-admission-controller"].body["spec"]["minAvailable"]
        == 2
    )
    account = found["ServiceAccount", "kyverno-images"].body["metadata"]
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/kyverno"}
    assert role.items() <= account["annotations"].items()
    reports = found["ServiceAccount", "kyverno-reports-controller"].body["metadata"]
    assert role.items() <= reports["annotations"].items()
    assert not [kind for kind, _ in found if kind == "CustomResourceDefinition"]
    assert ("ConfigMap", "kyverno-of-the-team") not in found
    assert {"name": "INIT_CONFIG", "value": "kyverno-of-the-team"} in container("2.3", "admission")[
        "env"
    ]


def test_two_three_metrics_and_pods() -> None:
    namespaces = json.loads(config("2.3", "kyverno-metrics")["namespaces"])
    assert namespaces["exclude"] == ["kube-system", "istio-system"]
    service = rendered("2.3")["Service", "kyverno-svc-metrics"].body
    assert (service["spec"]["type"], service["spec"]["ports"][0]["nodePort"]) == ("NodePort", 30080)
    others = [
        rendered("2.3")["Service", f"kyverno-{each}-controller-metrics"].body
        for each in CONTROLLERS[1:]
    ]
    assert {each["spec"]["type"] for each in others} == {"ClusterIP"}
    assert {each["metadata"]["annotations"]["prometheus.io/scrape"] for each in others} == {"true"}
    for controller in CONTROLLERS:
        assert deployment("2.3", controller)["strategy"]["rollingUpdate"] == {
            "maxSurge": 2,
            "maxUnavailable": 1,
        }
        affinity = pod("2.3", controller)["spec"]["affinity"]["podAntiAffinity"]
        (term,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
        assert term["podAffinityTerm"]["topologyKey"] == "topology.kubernetes.io/zone"


# 2.4


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_two_four_pods(controller: str) -> None:
    template = pod("2.4", controller)
    spec = template["spec"]
    labels = template["metadata"]["labels"]
    assert (labels["sidecar"], labels["team"]) == ("no", "platform")
    assert template["metadata"]["annotations"]["sidecar.istio.io/inject"] == "false"
    assert spec["securityContext"] == {"fsGroup": 2000}
    assert spec["priorityClassName"] == "system-cluster-critical"
    assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert spec.get("hostNetwork", False) is (controller == "admission")
    (spread,) = spec["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"].items() <= labels.items()
    assert container("2.4", controller)["securityContext"]["runAsNonRoot"] is True


def test_two_four() -> None:
    found = rendered("2.4")
    assert found["Deployment", "kyverno-admission-controller"].namespace == "policy-system"
    limits = {"--clientRateLimitQPS=50", "--clientRateLimitBurst=100"}
    assert {*limits, "--webhookTimeout=15", "--imagePullSecrets=signatures"} <= set(
        container("2.4", "admission")["args"]
    )
    assert {*limits, "--genWorkers=20"} <= set(container("2.4", "background")["args"])
    assert limits <= set(container("2.4", "reports")["args"])
    assert not limits & set(container("2.4", "cleanup")["args"])
    for controller in ("admission", "reports"):
        mounts = container("2.4", controller)["volumeMounts"]
        assert "/sigstore" in [mount["mountPath"] for mount in mounts]
    service = found["Service", "guard-svc"].body
    assert service["metadata"]["annotations"] == {"shop.example/owner": "platform"}
    assert [name for kind, name in found if kind == "Secret" and "tls-pair" in name]
    assert [name for kind, name in found if kind == "Job"]


def test_two_four_config() -> None:
    data = config("2.4", "guard")
    assert data["resourceFilters"].split() == [
        "[*/*,policy-system,*]",
        *("[Event,*,*]", "[Event/?*,*,*]"),
        *("[Node,*,*]", "[Node/?*,*,*]"),
        *("[Pod,build-*,*]", "[Pod/?*,build-*,*]"),
    ]
    webhooks = json.loads(data["webhooks"])
    assert webhooks["objectSelector"]["matchExpressions"][0]["operator"] == "DoesNotExist"
    # Policies saw kube-system, and see it still.
    values = [
        value
        for each in webhooks["namespaceSelector"]["matchExpressions"]
        for value in each["values"]
    ]
    assert values == ["policy-system"]


# 2.6


def test_two_six() -> None:
    assert deployment("2.6", "admission")["replicas"] == 3
    found = rendered("2.6")
    budget = found["PodDisruptionBudget", "kyverno-admission-controller"].body["spec"]
    assert budget["maxUnavailable"] == 1
    assert "minAvailable" not in budget
    spec = pod("2.6", "admission")["spec"]
    assert spec["containers"][0]["name"] == "log-shipper"
    main = container("2.6", "admission")
    assert main["image"] == f"registry.shop.example/security/kyverno:{current().app_version}"
    assert main["resources"]["limits"] == {"memory": "2Gi"}
    assert spec["initContainers"][0]["image"] == (
        f"registry.shop.example/security/kyvernopre:{current().app_version}"
    )
    assert "--loggingFormat=json" in spec["initContainers"][0]["args"]
    assert {"--backgroundScan=true", "--backgroundScanWorkers=4"} <= set(
        container("2.6", "reports")["args"]
    )


@pytest.mark.parametrize("controller", ["admission", "background", "reports"])
def test_two_six_telemetry(controller: str) -> None:
    assert {
        "--loggingFormat=json",
        "--maxQueuedEvents=2000",
        "--enableTracing",
        "--tracingAddress=tempo.monitoring.svc",
        "--tracingPort=4317",
        "--otelConfig=grpc",
        "--otelCollector=otel.monitoring.svc",
    } <= set(container("2.6", controller)["args"])
    monitor = rendered("2.6")["ServiceMonitor", f"kyverno-{controller}-controller"]
    assert monitor.namespace == "monitoring"
    (endpoint,) = monitor.body["spec"]["endpoints"]
    assert (endpoint["interval"], endpoint["scheme"]) == ("60s", "https")
    policy = rendered("2.6")["NetworkPolicy", f"kyverno-{controller}-controller"].body["spec"]
    assert policy["ingress"][0]["from"] == [{"ipBlock": {"cidr": "10.0.0.0/8"}}]


def test_two_six_config() -> None:
    found = rendered("2.6")
    data = config("2.6", "kyverno")
    owner = found["ConfigMap", "kyverno"].body["metadata"]["annotations"]["shop.example/owner"]
    assert owner == "platform"
    assert data["excludeUsernames"].split(",") == [
        "!system:kube-scheduler",
        "system:serviceaccount:argocd:argocd-application-controller",
    ]
    filters = data["resourceFilters"].split()
    assert "[*/*,kube-system,*]" not in filters
    assert "[*/*,kyverno,*]" not in filters
    assert "[*/*,kube-public,*]" in filters
    assert json.loads(data["webhooks"]) == tables(__file__)["two_six_config"]
    assert ("ConfigMap", "kyverno-metrics") not in found
    assert found["ConfigMap", "kyverno-grafana"].namespace == "monitoring"
    assert found["Service", "kyverno-svc-metrics"].body["spec"]["type"] == "LoadBalancer"
    definitions = [each for (kind, _), each in found.items() if kind == "CustomResourceDefinition"]
    assert definitions
    for each in definitions:
        annotations: Body = each.body["metadata"]["annotations"]
        assert annotations["argocd.argoproj.io/sync-options"] == "Replace=true"


# 2.7


def test_two_seven() -> None:
    assert deployment("2.7", "admission")["replicas"] == 3
    assert deployment("2.7", "cleanup")["replicas"] == 2
    args = set(container("2.7", "admission")["args"])
    assert {
        "--loggingFormat=json",
        "--v=6",
        "--enablePolicyException=true",
        "--exceptionNamespace=exceptions",
        "--protectManagedResources=true",
        "--disableMetrics=false",
        "--allowInsecureRegistry=true",
        "--imagePullSecrets=registry-login",
    } <= args
    assert "--backgroundScanInterval=2h" in container("2.7", "reports")["args"]
    assert container("2.7", "admission")["startupProbe"]["failureThreshold"] == 40
    (init,) = pod("2.7", "admission")["spec"]["initContainers"]
    assert {"name": "LOG", "value": "debug"} in init["env"]


@pytest.mark.parametrize("controller", ["admission", "background", "reports"])
def test_two_seven_pods(controller: str) -> None:
    spec = pod("2.7", controller)["spec"]
    assert spec["serviceAccountName"] == "kyverno"
    assert {"name": "AWS_REGION", "value": "eu-central-1"} in container("2.7", controller)["env"]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == ["platform"]
    assert ("ServiceAccount", f"kyverno-{controller}-controller") not in rendered("2.7")
    assert ("ClusterRole", f"kyverno:{controller}-controller") not in rendered("2.7")


def test_two_seven_cleanup() -> None:
    spec = pod("2.7", "cleanup")["spec"]
    main = container("2.7", "cleanup")
    assert spec["serviceAccountName"] == "kyverno-cleanup-controller"
    assert main["image"] == f"reg.kyverno.io/kyverno/cleanup-controller:{current().app_version}"
    assert main["resources"]["limits"] == {"memory": "256Mi"}
    assert {
        "--loggingFormat=json",
        "--clientRateLimitQPS=30",
        "--enableTracing",
        "--tracingAddress=tempo.monitoring.svc",
    } <= set(main["args"])
    rules = rendered("2.7")["ClusterRole", "kyverno:cleanup-controller:additional"].body["rules"]
    assert rules == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "delete"]}]
    assert outcomes(old("2.7"))["webhooksCleanup.image"] == "removed"

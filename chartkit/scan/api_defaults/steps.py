"""Defaults of single kinds that a table of values cannot express; `kinds.yaml` names them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final

from chartkit.engine.scalars.image_reference import parse_image
from chartkit.go.quantity import Quantity
from chartkit.model import Body, Json
from chartkit.scan.api_defaults.shape import at, copied, is_zero

RBAC: Final = "rbac.authorization.k8s.io"
_CPU: Final[Body] = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
_METRICS_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/metrics"
_PERIOD: Final = 15
_PERCENT: Final = {"type": "Percent", "value": 100, "periodSeconds": _PERIOD}
_PODS: Final = {"type": "Pods", "value": 4, "periodSeconds": _PERIOD}
_RULES: Final[dict[str, dict[str, Any]]] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [_PODS, _PERCENT],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [_PERCENT]},
}
_AFFINITY_SECONDS: Final = 10800
_WITH_ADDRESS: Final = ("ClusterIP", "NodePort", "LoadBalancer")
_LATEST: Final = "latest"
_OVERCOMMITTED: Final = frozenset(("cpu", "memory"))
_HUGE_PAGES: Final = "hugepages-"


def labels_of_template(body: Body) -> None:
    """Give a Job or a ReplicationController without labels the labels of its template."""
    metadata = body.setdefault("metadata", {})
    for template in at(body, "spec.template.metadata"):
        labels = template.get("labels")
        if labels and isinstance(metadata, dict) and not metadata.get("labels"):
            metadata["labels"] = copied(labels)


def selector_of_template(spec: Body) -> None:
    for metadata in at(spec, "template.metadata"):
        if metadata.get("labels") and not spec.get("selector"):
            spec["selector"] = copied(metadata["labels"])


def rolling(name: str, defaults: Mapping[str, Json]) -> Callable[[Body], None]:
    def step(spec: Body) -> None:
        strategy = spec.setdefault(name, {})
        if not isinstance(strategy, dict):
            return
        if is_zero(strategy.get("type")):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            update = strategy.setdefault("rollingUpdate", {})
            if isinstance(update, dict):
                update.update({**defaults, **update})

    return step


def rolling_sets(spec: Body) -> None:
    """Default a StatefulSet's strategy, whose other fields depend on its type."""
    strategy = spec.setdefault("updateStrategy", {})
    if not isinstance(strategy, dict):
        return
    if is_zero(strategy.get("type")):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    update = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and isinstance(update, dict):
        update.setdefault("partition", 0)


def first_generation(body: Body) -> None:
    """Set the generation of a DaemonSet's template, an annotation since apps/v1."""
    metadata = body.setdefault("metadata", {})
    annotations = metadata.setdefault("annotations", {}) if isinstance(metadata, dict) else None
    if isinstance(annotations, dict):
        annotations["deprecated.daemonset.template.generation"] = "1"


def job_step(spec: Body) -> None:
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
    replaces = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", replaces)


def policy_types(spec: Body) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def data_of_texts(secret: Body) -> None:
    texts = secret.get("stringData")
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        return
    data = secret.get("data", {})
    if isinstance(data, dict):
        del secret["stringData"]
        as_bytes = {key: text.encode("utf-8", "surrogatepass") for key, text in texts.items()}
        encoded = {key: b64encode(raw).decode() for key, raw in as_bytes.items()}
        if data or encoded:
            secret["data"] = {**data, **encoded}


def name_label(namespace: Body) -> None:
    metadata = namespace.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if isinstance(metadata, dict) and name and isinstance(name, str):
        labels = metadata.setdefault("labels", {})
        if isinstance(labels, dict):
            labels["kubernetes.io/metadata.name"] = name


def protected_by(finalizer: str) -> Callable[[Body], None]:
    """Apply the admission plugin StorageObjectInUseProtection."""

    def step(body: Body) -> None:
        metadata = body.setdefault("metadata", {})
        finalizers = metadata.setdefault("finalizers", []) if isinstance(metadata, dict) else None
        if isinstance(finalizers, list) and finalizer not in finalizers:
            finalizers.append(finalizer)

    return step


def data_source(spec: Body) -> None:
    """Copy a claim's source between its old and its new field."""
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    for source in (old, new):
        if isinstance(source, dict):
            source.setdefault("apiGroup", None)
    if old is not None and new is None:
        spec["dataSourceRef"] = copied(old)
    elif old is None and isinstance(new, dict) and not new.get("namespace"):
        spec["dataSource"] = copied(new)


def limits_step(item: Body) -> None:
    """Default a LimitRange of containers: its maximum is the default, which is the default
    request."""
    if item.get("type") != "Container":
        return
    for target, sources in (("default", ("max",)), ("defaultRequest", ("default", "min"))):
        filled = item.setdefault(target, {})
        for source in sources:
            values = item.get(source)
            if isinstance(filled, dict) and isinstance(values, dict):
                filled.update({**values, **filled})
    for target in ("default", "defaultRequest"):
        if item[target] == {}:
            del item[target]


def subject_step(subject: Body) -> None:
    if is_zero(subject.get("apiGroup")):
        subject.pop("apiGroup", None)
        if subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = RBAC


def fill_behavior(spec: Body) -> None:
    """Fill in metrics, and the rules of both directions if one is given."""
    if not spec.get("metrics"):
        spec["metrics"] = [copied(_CPU)]
    behavior = spec.get("behavior")
    if not isinstance(behavior, dict):
        return
    for direction, defaults in _RULES.items():
        rules = behavior.setdefault(direction, {})
        if isinstance(rules, dict):
            rules.update({**copied(defaults), **rules})


def fill_target(scaler: Body) -> None:
    """Fill in an object of autoscaling/v1, which keeps other metrics in an annotation."""
    if any(_METRICS_ANNOTATION in texts for texts in at(scaler, "metadata.annotations")):
        return
    for spec in at(scaler, "spec"):
        spec.setdefault("targetCPUUtilizationPercentage", 80)


def affinity(spec: Body) -> None:
    if is_zero(spec.get("sessionAffinity")):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP" and not any(
        "timeoutSeconds" in config for config in at(spec, "sessionAffinityConfig.clientIP")
    ):
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def of_type(spec: Body) -> None:
    if spec.get("selector") == {}:
        del spec["selector"]
    if is_zero(spec.get("type")):
        spec["type"] = "ClusterIP"
    kind = spec["type"]
    is_external = kind in ("NodePort", "LoadBalancer") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    if is_external and is_zero(spec.get("externalTrafficPolicy")):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in _WITH_ADDRESS:
        spec.setdefault("internalTrafficPolicy", "Cluster")
        address, addresses = spec.get("clusterIP"), spec.get("clusterIPs")
        if address and isinstance(address, str) and not addresses:
            spec["clusterIPs"] = [address]
        elif is_zero(address) and isinstance(addresses, list) and addresses:
            spec["clusterIP"] = addresses[0]
        is_dual = spec.get("clusterIP") == "None" and not spec.get("selector")
        spec.setdefault("ipFamilyPolicy", "RequireDualStack" if is_dual else "SingleStack")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def target_port(port: Body) -> None:
    if is_zero(port.get("targetPort")) and "port" in port:
        port["targetPort"] = port["port"]


def pull_policy(image: Json) -> str:
    """Return `Always` for the tag latest, which is also that of an image without tag and digest."""
    if not isinstance(image, str):
        return "IfNotPresent"
    try:
        reference = parse_image(image)
    except ValueError:
        return "IfNotPresent"
    tag = reference.tag or ("" if reference.digest else _LATEST)
    return "Always" if tag == _LATEST else "IfNotPresent"


def container_policy(container: Body) -> None:
    if is_zero(container.get("imagePullPolicy")):
        container["imagePullPolicy"] = pull_policy(container.get("image"))


def image_volume_policy(image: Body) -> None:
    if is_zero(image.get("pullPolicy")):
        image["pullPolicy"] = pull_policy(image.get("reference"))


def source_of_volume(volume: Body) -> None:
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}


def account(spec: Body) -> None:
    """Copy the service account between the two fields for its name."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name and isinstance(name, str):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


Amounts = dict[str, Quantity]


def fill_pod_resources(pod: Body) -> None:
    """Fill in the requests of a Pod that has limits, and its limits of huge pages. Nothing changes
    if a quantity is invalid."""
    for spec in at(pod, "spec"):
        for resources in at(spec, "resources"):
            try:
                _fill(spec, resources)
            except ValueError:
                continue


def _fill(spec: Body, resources: Body) -> None:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not isinstance(limits, dict) or not isinstance(requests, dict):
        return
    pages = {
        key: str(amount)
        for key, amount in _together(spec, "limits").items()
        if key.startswith(_HUGE_PAGES) and key not in requests
    }
    if limits or requests:
        limits = {**pages, **limits}
    if limits:
        of_containers = {
            key: str(amount)
            for key, amount in _together(spec, "requests").items()
            if key in _OVERCOMMITTED
        }
        of_limits = {
            key: amount
            for key, amount in limits.items()
            if key in _OVERCOMMITTED or key.startswith(_HUGE_PAGES)
        }
        resources["limits"] = limits
        if together := {**of_limits, **of_containers, **requests}:
            resources["requests"] = together


def _together(spec: Body, name: str) -> Amounts:
    """The resources that containers need at once: their sum, or an init container's."""
    total: Amounts = {}
    for container in at(spec, "containers[]"):
        _add(total, _amounts(container, name))
    beside: Amounts = {}
    first: Amounts = {}
    for container in at(spec, "initContainers[]"):
        own = dict(_amounts(container, name))
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(beside, own)
            own = beside
        else:
            _add(own, beside)
        _largest(first, own)
    _largest(total, first)
    return total


def _amounts(container: Body, name: str) -> Mapping[str, Quantity]:
    parsed: list[tuple[str, Quantity]] = []
    for amounts in at(container, f"resources.{name}"):
        for key, amount in amounts.items():
            parsed.append((key, Quantity.parse(str(amount))))
    return dict(parsed)


def _add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    for key, amount in more.items():
        total[key] = total[key] + amount if key in total else amount


def _largest(total: Amounts, other: Mapping[str, Quantity]) -> None:
    for key, amount in other.items():
        if key not in total or total[key] < amount:
            total[key] = amount

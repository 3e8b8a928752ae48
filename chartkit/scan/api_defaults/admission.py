"""Defaults of a Pod that its templates do not get.

They depend on all containers together, or come from admission plugins that are on by default.
"""

from __future__ import annotations

from typing import Final

from chartkit.model import Body, Json, Resource, text_of
from chartkit.scan.api_defaults.shape import at, copied, is_zero

_CONTAINER_LISTS: Final = ("initContainers", "containers")
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST: Final = "localhost/"
_PROFILES: Final = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_CRITICAL: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The classes that every API server has."""
_BOTH_KEYS: Final = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
_TERMS: Final = {
    **{
        f"affinity.{affinity}.{path}": _BOTH_KEYS
        for affinity in ("podAffinity", "podAntiAffinity")
        for path in (
            "requiredDuringSchedulingIgnoredDuringExecution[]",
            "preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm",
        )
    },
    "topologySpreadConstraints[]": _BOTH_KEYS[:1],
}
_PREFIX: Final = "kube-api-access-"
_NAME: Final = f"{_PREFIX}xxxxx"
"""Placeholder for the five letters that a server generates."""
_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_NAMESPACE: Final = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
_SOURCE: Final[Body] = {
    "defaultMode": 0o644,
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [{"fieldRef": _NAMESPACE, "path": "namespace"}]}},
    ],
}


def requests_of_limits(pod: Body) -> None:
    for name in _CONTAINER_LISTS:
        for container in at(pod, f"spec.{name}[]"):
            resources = container.get("resources")
            limits = resources.get("limits") if isinstance(resources, dict) else None
            if not isinstance(limits, dict) or not isinstance(resources, dict):
                continue
            requests = resources.setdefault("requests", {})
            if isinstance(requests, dict):
                requests.update({**limits, **requests})


def ports_of_host(pod: Body) -> None:
    for spec in at(pod, "spec"):
        if spec.get("hostNetwork") is not True:
            continue
        for name in _CONTAINER_LISTS:
            for port in at(spec, f"{name}[].ports[]"):
                if is_zero(port.get("hostPort")) and "containerPort" in port:
                    port["hostPort"] = port["containerPort"]


def service_links(pod: Body) -> None:
    for spec in at(pod, "spec"):
        spec.setdefault("enableServiceLinks", True)


def priority(pod: Body) -> None:
    """Apply the admission plugin Priority, which knows no classes of the cluster's own."""
    for spec in at(pod, "spec"):
        name = spec.get("priorityClassName")
        if is_zero(name) or (isinstance(name, str) and name in _CRITICAL):
            spec.setdefault("priority", _CRITICAL.get(name or "", 0))
            spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


def service_account(pod: Body) -> None:
    if "kubernetes.io/config.mirror" in _texts(pod, "annotations"):
        return
    for spec in at(pod, "spec"):
        if is_zero(spec.get("serviceAccountName")) and is_zero(spec.get("serviceAccount")):
            spec["serviceAccountName"] = "default"


def tolerations(pod: Body) -> None:
    """Apply the admission plugin DefaultTolerationSeconds."""
    for spec in at(pod, "spec"):
        tolerations = spec.get("tolerations", [])
        if not isinstance(tolerations, list):
            continue
        given = [toleration for toleration in tolerations if isinstance(toleration, dict)]
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
            if not any(_tolerates(own, key) for own in given)
        ]
        if added:
            spec["tolerations"] = [*copied(tolerations), *added]


def _tolerates(toleration: Body, key: str) -> bool:
    return (toleration.get("key") or key) == key and toleration.get("effect") in (
        None,
        "",
        "NoExecute",
    )


def _texts(pod: Body, name: str) -> Body:
    """Return the labels or annotations of a Pod."""
    metadata = pod.get("metadata")
    texts = metadata.get(name) if isinstance(metadata, dict) else None
    return texts if isinstance(texts, dict) else {}


def decisive_metadata(pod: Body) -> tuple[Body, Body]:
    """Return the labels and annotations of a Pod on which defaults of its specification depend."""
    has_terms = any(
        path.partition(".")[0].removesuffix("[]") in spec
        for spec in at(pod, "spec")
        for path in _TERMS
    )
    return _texts(pod, "labels") if has_terms else {}, _texts(pod, "annotations")


def apparmor(pod: Body) -> None:
    """Set fields from legacy annotations, unless the Pod has a field of its own."""
    annotations = _texts(pod, "annotations")
    for spec in at(pod, "spec"):
        if any(system.get("name") == "windows" for system in at(spec, "os")):
            continue
        own = [settings.get("appArmorProfile") for settings in at(spec, "securityContext")]
        for name in _CONTAINER_LISTS:
            for container in at(spec, f"{name}[]"):
                annotation = annotations.get(f"{_APPARMOR}{container.get('name')}")
                if not isinstance(annotation, str):
                    profile: Body | None = None
                elif annotation in _PROFILES:
                    profile = {"type": _PROFILES[annotation]}
                else:
                    profile_name = annotation.removeprefix(_LOCALHOST)
                    if annotation.startswith(_LOCALHOST) and profile_name.strip():
                        profile = {"type": "Localhost", "localhostProfile": profile_name}
                    else:
                        profile = None
                if profile is None or profile in own:
                    continue
                context = container.setdefault("securityContext", {})
                if isinstance(context, dict):
                    context.setdefault("appArmorProfile", profile)


def label_keys(pod: Body) -> None:
    """Add the labels that a term names by their keys to its selector."""
    labels = _texts(pod, "labels")
    for spec in at(pod, "spec"):
        for path, fields in _TERMS.items():
            for term in at(spec, path):
                for name, operator in fields:
                    _join(term, name, operator, labels)


def _join(term: Body, name: str, operator: str, labels: Body) -> None:
    keys, selector = term.get(name), term.get("labelSelector")
    if not isinstance(keys, list) or not isinstance(selector, dict):
        return
    for key in keys:
        if not isinstance(key, str) or key not in labels:
            continue
        expression = {"key": key, "operator": operator, "values": [labels[key]]}
        expressions = selector.setdefault("matchExpressions", [])
        if isinstance(expressions, list) and expression not in expressions:
            expressions.append(expression)


Accounts = dict[tuple[str, str], Body]
"""The known service accounts, by namespace and name."""


def mount_token(pod: Resource, accounts: Accounts) -> None:
    """Add to a Pod's body what the admission plugin ServiceAccount takes from its account, such as
    the volume with its token, which both may disable; an unknown account has no fields."""
    if "kubernetes.io/config.mirror" in _texts(pod.body, "annotations"):
        return
    for spec in at(pod.body, "spec"):
        name = spec.get("serviceAccountName")
        key = (pod.namespace or "default", text_of(name))
        account = accounts.get(key, {})
        secrets = account.get("imagePullSecrets")
        if isinstance(secrets, list) and secrets:
            spec.setdefault("imagePullSecrets", copied(secrets))
        wants_token = True
        for value in (
            spec.get("automountServiceAccountToken"),
            account.get("automountServiceAccountToken"),
        ):
            if value is not None:
                wants_token = value is True
                break
        if wants_token:
            volumes = spec.get("volumes", [])
            if isinstance(volumes, list):
                names = [volume.get("name") for volume in volumes if isinstance(volume, dict)]
                own = next(
                    (name for name in names if isinstance(name, str) and name.startswith(_PREFIX)),
                    None,
                )
                mount = {"name": own or _NAME, "readOnly": True, "mountPath": _PATH}
                mounted = [
                    _mounted(container, mount)
                    for path in ("initContainers[]", "containers[]")
                    for container in at(spec, path)
                ]
                if own is None and any(mounted):
                    spec["volumes"] = [*volumes, {"name": _NAME, "projected": _SOURCE}]


def _mounted(container: Body, mount: Body) -> bool:
    mounts: Json = container.get("volumeMounts", [])
    if not isinstance(mounts, list) or any(
        isinstance(other, dict) and other.get("mountPath") == _PATH for other in mounts
    ):
        return False
    container["volumeMounts"] = [*mounts, dict(mount)]
    return True

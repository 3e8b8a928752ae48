"""Examples are objects that an API server takes, as far as that can be told without one.

Ephemeral containers stand in an example's Pod: they come through the subresource
`pods/ephemeralcontainers`, whose object is the whole Pod.

What a policy refuses although no API server of today takes it stands in `_DEFENCES`, with the
reason, and has a comment where it is.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chartkit.bundled import library_dir
from chartkit.documents.reader import parse_yaml, read_file, resources
from chartkit.go.quantity import Quantity
from chartkit.model import Body, mapping_at

_FILES = sorted(
    file for file in library_dir().rglob("*.yaml") if file.name in ("good.yaml", "bad.yaml")
)
_TEMPLATES = {
    "Pod": (),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Job": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
}
_PROBING = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_LEVELS = ("privileged", "baseline", "restricted")
_LEVEL_LABELS = tuple(f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "audit", "warn"))
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SHAPES = {
    ("autoscaling/v1", "HorizontalPodAutoscaler"): ("maxReplicas", "scaleTargetRef"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): ("maxReplicas", "scaleTargetRef"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): ("matchConstraints",),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"): ("priorityLevelConfiguration",),
}
"""What versions that are served want below spec."""


_UNMASKED = "procMount Unmasked without hostUsers: false"
_DEFENCES = {
    "baseline/disallow-proc-mount": (
        {_UNMASKED},
        "where the API server takes Unmasked, the policy allows it from v1.35 of the standards on",
    ),
    "baseline/disallow-host-process": (
        {"hostProcess of some containers alone"},
        "shows that init and ephemeral containers are looked at, whatever the others say",
    ),
    "restricted/disallow-proc-mount-strict": (
        {_UNMASKED},
        "shows that the policy refuses Unmasked with a user namespace and without one",
    ),
    "eks-best-practices/restrict-host-path": (
        {"a hostPath with '..'"},
        "its message forbids '..', which a chart may have before an API server is asked",
    ),
}
"""Policies' bad.yaml that have what no API server takes: which faults, and why it stays."""


def _faults(body: Body) -> Iterator[str]:
    kind = body["kind"]
    spec = mapping_at(body, "spec")
    missing = [key for key in _SHAPES.get((body["apiVersion"], kind), ()) if key not in spec]
    yield from (f"spec.{key} is missing" for key in missing)
    served = body["apiVersion"] == "networking.k8s.io/v1" and kind == "Ingress"
    if served and not ("defaultBackend" in spec or "rules" in spec):
        yield "neither defaultBackend nor rules"
    classes = body["apiVersion"] == "storage.k8s.io/v1" and kind == "StorageClass"
    if classes and not body.get("provisioner"):
        yield "no provisioner"
    yield from _about_access(body)
    if kind in _TEMPLATES:
        pod = mapping_at(body, *_TEMPLATES[kind])
        for rule in _POD_RULES:
            yield from rule(pod)


def _about_access(body: Body) -> Iterator[str]:
    """Yield what is wrong of roles, namespaces and policies of an API server."""
    aggregation = body.get("aggregationRule")
    if body["kind"] == "ClusterRole" and aggregation is not None:
        if not aggregation.get("clusterRoleSelectors"):
            yield "an aggregationRule without clusterRoleSelectors"
    elif body["kind"] == "Namespace":
        for key, level in mapping_at(body, "metadata", "labels").items():
            if key in _LEVEL_LABELS and level not in _LEVELS:
                yield f"{key} is not a level of Pod Security"
    elif body["kind"] == "MutatingAdmissionPolicy":
        for each in mapping_at(body, "spec").get("mutations") or ():
            text = mapping_at(each, "jsonPatch").get("expression")
            if text is not None and "JSONPatch{" not in text:
                yield "a JSON patch that makes no JSONPatch"


def _containers(pod: Body) -> list[Body]:
    """All containers of a Pod, the ephemeral ones included."""
    spec = mapping_at(pod, "spec")
    keys = ("initContainers", "containers", "ephemeralContainers")
    return [each for key in keys for each in spec.get(key) or ()]


def _contexts(pod: Body) -> list[Body]:
    """The security contexts of the Pod and of each container."""
    holders = [mapping_at(pod, "spec"), *_containers(pod)]
    return [mapping_at(each, "securityContext") for each in holders]


def _mirrored(pod: Body) -> Iterator[str]:
    annotations = mapping_at(pod, "metadata", "annotations")
    if "kubernetes.io/config.mirror" in annotations and not pod["spec"].get("nodeName"):
        yield "a mirror Pod without nodeName"


def _windows(pod: Body) -> Iterator[str]:
    spec = mapping_at(pod, "spec")
    whole, *own = (mapping_at(each, "windowsOptions").get("hostProcess") for each in _contexts(pod))
    processes = [whole if each is None else each for each in own]
    if any(processes) and spec.get("hostNetwork") is not True:
        yield "hostProcess without hostNetwork"
    if any(processes) and not all(processes):
        yield "hostProcess of some containers alone"
    if mapping_at(spec, "os").get("name") == "windows":
        yield from ("capabilities on Windows" for each in _contexts(pod) if "capabilities" in each)


def _proc_mounts(pod: Body) -> Iterator[str]:
    unmasked = any(each.get("procMount") == "Unmasked" for each in _contexts(pod))
    if unmasked and mapping_at(pod, "spec").get("hostUsers") is not False:
        yield _UNMASKED


def _profiles(pod: Body) -> Iterator[str]:
    for context in _contexts(pod):
        for key in ("seccompProfile", "appArmorProfile"):
            profile = context.get(key)
            if profile is None:
                continue
            if not profile.get("type"):
                yield f"{key} without type"
            if (profile.get("type") == "Localhost") is not bool(profile.get("localhostProfile")):
                yield f"{key}.localhostProfile goes with Localhost alone"


def _apparmor_annotations(pod: Body) -> Iterator[str]:
    names = {each.get("name") for each in _containers(pod)}
    for key, value in mapping_at(pod, "metadata", "annotations").items():
        if not key.startswith(_APPARMOR):
            continue
        if value not in ("", "runtime/default", "unconfined") and not value.startswith(
            "localhost/"
        ):
            yield f"no AppArmor profile is {value}"
        if key.removeprefix(_APPARMOR) not in names:
            yield f"{key}: no such container"


def _handlers(pod: Body) -> Iterator[str]:
    for container in _containers(pod):
        hooks = mapping_at(container, "lifecycle")
        handlers = {key: container.get(key) for key in _PROBING[:-1]}
        handlers |= {key: hooks.get(key) for key in ("preStop", "postStart")}
        for key, handler in handlers.items():
            if handler is not None and sum(each in handler for each in _HANDLERS) != 1:
                yield f"{key} without one handler"
    for each in mapping_at(pod, "spec").get("initContainers") or ():
        if each.get("restartPolicy") != "Always" and any(each.get(key) for key in _PROBING):
            yield "an init container that ends has probes"


def _volumes(pod: Body) -> Iterator[str]:
    volumes = mapping_at(pod, "spec").get("volumes") or ()
    for path in (each["hostPath"].get("path") for each in volumes if each.get("hostPath")):
        if not path:
            yield "a hostPath without a path"
        elif ".." in path.split("/"):
            yield "a hostPath with '..'"
    names = {each.get("name") for each in volumes}
    for container in _containers(pod):
        for mount in container.get("volumeMounts") or ():
            if mount.get("name") not in names:
                yield f"no volume {mount.get('name')} to mount"


def _amounts(pod: Body) -> Iterator[str]:
    for container in _containers(pod):
        requests, limits = (mapping_at(container, "resources", each) for each in _AMOUNTS)
        for name in requests.keys() & limits.keys():
            if Quantity.parse(str(limits[name])) < Quantity.parse(str(requests[name])):
                yield f"a request of {name} beyond its limit"


_AMOUNTS = ("requests", "limits")
_POD_RULES: tuple[Callable[[Body], Iterator[str]], ...] = (
    _mirrored,
    _windows,
    _proc_mounts,
    _profiles,
    _apparmor_annotations,
    _handlers,
    _volumes,
    _amounts,
)


@pytest.mark.parametrize("file", _FILES, ids=lambda file: "/".join(file.parts[-4:-1]))
def test_an_api_server_would_take_it(file: Path) -> None:
    expected: set[str] = set()
    if file.name == "bad.yaml":
        expected, _ = _DEFENCES.get("/".join(file.parts[-3:-1]), (expected, ""))
    found = [
        (f"{resource.location}", fault)
        for resource in resources(read_file(file))
        for fault in _faults(resource.body)
    ]
    assert [each for each in found if each[1] not in expected] == []
    assert expected <= {fault for _, fault in found}, "a defence that has no example any more"


_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: "
_IMPOSSIBLE = (
    (_POD + "{containers: [{name: a, securityContext: {procMount: Unmasked}}]}", _UNMASKED),
    (
        _POD + "{ephemeralContainers: [{name: a, securityContext: {procMount: Unmasked}}]}",
        _UNMASKED,
    ),
    (
        _POD + "{hostNetwork: true, containers: [{name: a}, "
        "{name: b, securityContext: {windowsOptions: {hostProcess: true}}}]}",
        "hostProcess of some containers alone",
    ),
    (
        _POD + "{securityContext: {seccompProfile: {localhostProfile: a.json}}}",
        "seccompProfile without type",
    ),
    (_POD + "{securityContext: {appArmorProfile: {}}}", "appArmorProfile without type"),
    (
        _POD.replace("name: p", f"annotations: {{{_APPARMOR}a: runtime/default/x}}")
        + "{containers: [{name: a}]}",
        "no AppArmor profile is runtime/default/x",
    ),
    (_POD + "{containers: [{livenessProbe: {}}]}", "livenessProbe without one handler"),
    (_POD + "{containers: [{lifecycle: {preStop: {}}}]}", "preStop without one handler"),
    (_POD + "{volumes: [{name: a, hostPath: {path: ''}}]}", "a hostPath without a path"),
    (_POD + "{volumes: [{name: a, hostPath: {path: /a/..}}]}", "a hostPath with '..'"),
    (_POD + "{containers: [{volumeMounts: [{name: a, mountPath: /a}]}]}", "no volume a to mount"),
    (
        _POD + "{containers: [{resources: {requests: {memory: 64Mi}, limits: {memory: '0'}}}]}",
        "a request of memory beyond its limit",
    ),
    (
        "{apiVersion: v1, kind: Namespace, metadata: "
        "{labels: {pod-security.kubernetes.io/enforce: Restricted}}}",
        "pod-security.kubernetes.io/enforce is not a level of Pod Security",
    ),
    (
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: "
        "{clusterRoleSelectors: []}}",
        "an aggregationRule without clusterRoleSelectors",
    ),
    (
        "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, "
        "spec: {mutations: [{jsonPatch: {expression: '[]'}}]}}",
        "a JSON patch that makes no JSONPatch",
    ),
)


@pytest.mark.parametrize(("text", "fault"), _IMPOSSIBLE, ids=[each for _, each in _IMPOSSIBLE])
def test_an_object_that_cannot_happen_is_found(text: str, fault: str) -> None:
    assert fault in _faults(parse_yaml(text))

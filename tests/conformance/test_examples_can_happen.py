"""Examples are objects that an API server takes, as far as that can be told without one.

Ephemeral containers stand in an example's Pod: they come through the subresource
`pods/ephemeralcontainers`, whose object is the whole Pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chartkit.bundled import library_dir
from chartkit.documents import read_file, resources
from chartkit.model import Body, mapping_at

_FILES = sorted(
    file for file in library_dir().rglob("*.yaml") if file.name in ("good.yaml", "bad.yaml")
)
_TEMPLATES = {
    "Pod": (),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Job": ("spec", "template"),
    "Deployment": ("spec", "template"),
}
_PROBING = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_SHAPES = {
    ("autoscaling/v1", "HorizontalPodAutoscaler"): ("maxReplicas", "scaleTargetRef"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): ("maxReplicas", "scaleTargetRef"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): ("matchConstraints",),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"): ("priorityLevelConfiguration",),
}
"""What versions that are served want below spec."""


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
    if kind in _TEMPLATES:
        yield from _pod_faults(mapping_at(body, *_TEMPLATES[kind]))


def _pod_faults(pod: Body) -> Iterator[str]:
    spec = mapping_at(pod, "spec")
    annotations = mapping_at(pod, "metadata", "annotations")
    if "kubernetes.io/config.mirror" in annotations and not spec.get("nodeName"):
        yield "a mirror Pod without nodeName"
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    contexts = [mapping_at(spec, "securityContext")]
    contexts += [mapping_at(each, "securityContext") for each in containers]
    processes = any(mapping_at(each, "windowsOptions").get("hostProcess") for each in contexts)
    if processes and spec.get("hostNetwork") is not True:
        yield "hostProcess without hostNetwork"
    if mapping_at(spec, "os").get("name") == "windows":
        yield from ("capabilities on Windows" for each in contexts if "capabilities" in each)
    for each in spec.get("initContainers") or ():
        if each.get("restartPolicy") != "Always" and any(each.get(key) for key in _PROBING):
            yield "an init container that ends has probes"


@pytest.mark.parametrize("file", _FILES, ids=lambda file: "/".join(file.parts[-4:-1]))
def test_an_api_server_would_take_it(file: Path) -> None:
    found = [
        f"{resource.location}: {fault}"
        for resource in resources(read_file(file))
        for fault in _faults(resource.body)
    ]
    assert found == []

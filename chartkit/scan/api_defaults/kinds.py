"""The built-in kinds, each with its shape, and an object as an API server stores it.

The rules are those of Kubernetes 1.35: the versioned defaulting of each API group, what decoding
and encoding leave of an object, and the default admission plugins that ask for nothing in the
cluster but a Pod's service account. What a server makes up is not here: uid, times, generation,
status, addresses, ports of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.model import Body, Resource
from chartkit.scan.api_defaults.admission import POD, Accounts, accounts_among, mount_token
from chartkit.scan.api_defaults.kind_steps import (
    METRICS,
    RBAC,
    SERVICE,
    data_of_texts,
    data_source,
    fill_behavior,
    fill_target,
    first_generation,
    job_step,
    labels_of_template,
    limits_step,
    name_label,
    policy_types,
    protected_by,
    rolling,
    rolling_sets,
    selector_of_template,
    subject_step,
)
from chartkit.scan.api_defaults.pods import CLAIM_SPEC, TEMPLATE, VOLUME_SOURCES
from chartkit.scan.api_defaults.shape import Shape, fill, tidy


def all_as_stored(found: Sequence[Resource]) -> list[Resource]:
    """Return objects as an API server stores them; Pods take fields from the service accounts among
    the objects."""
    accounts = accounts_among(found)
    return [as_stored(resource, accounts) for resource in found]


def as_stored(resource: Resource, accounts: Accounts | None = None) -> Resource:
    """Return an object as an API server stores it; the same object if its kind is not built in.

    The given object is not changed. accounts: the known service accounts.
    """
    shape = _SHAPES.get((resource.api_version, resource.kind))
    if shape is None:
        return resource
    body: Body = tidy(resource.body)
    fill(shape, body)
    stored = Resource(body, resource.location)
    if shape is POD:
        mount_token(stored, accounts or {})
    return stored


_REPLICAS: Final = {"replicas": 1}
_OBJECT: Final[Body] = {"metadata": {}, "spec": {}}
_SELECTORS: Final[Body] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
}
_SCOPED = Shape(absent={"scope": "*"})
_WEBHOOK = {"failurePolicy": "Fail", "timeoutSeconds": 10, **_SELECTORS}
_WEBHOOK_PARTS = {"clientConfig.service": Shape(absent={"port": 443}), "rules[]": _SCOPED}
_MATCHED = Shape(
    absent=_SELECTORS, parts={"resourceRules[]": _SCOPED, "excludeResourceRules[]": _SCOPED}
)
_BINDING = Shape(
    parts={"roleRef": Shape(empty={"apiGroup": RBAC}), "subjects[]": Shape(steps=(subject_step,))}
)
_ROLE = Shape(absent={"rules": None})
_PERCENT = {"maxUnavailable": "25%", "maxSurge": "25%"}
_ONE_BY_ONE = {"maxUnavailable": 1, "maxSurge": 0}
_CLAIM = Shape(
    steps=(protected_by("kubernetes.io/pvc-protection"),),
    absent={"spec": {}},
    parts={"spec": replace(CLAIM_SPEC, steps=(data_source,))},
)
_CLAIM_TEMPLATE = Shape(
    absent={
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {},
        "spec": {},
        "status": {"phase": "Pending"},
    },
    parts={"spec": CLAIM_SPEC},
)
_JOB_PARTS: Final = {
    "template": TEMPLATE,
    "podFailurePolicy.rules[].onPodConditions[]": Shape(empty={"status": "True"}),
}
_JOB_SPEC = Shape(
    steps=(job_step,),
    absent={
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "template": {},
    },
    parts=_JOB_PARTS,
)


def _with_spec(spec: Shape, *steps: Callable[[Body], None]) -> Shape:
    return Shape(steps=steps, absent=_OBJECT, parts={"spec": spec})


_CORE: Final[Mapping[str, Shape]] = {
    "ConfigMap": Shape(),
    "Endpoints": Shape(parts={"subsets[].ports[]": Shape(empty={"protocol": "TCP"}, zero="name")}),
    "LimitRange": _with_spec(
        Shape(
            parts={
                "limits[]": Shape(
                    steps=(limits_step,),
                    resources=("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"),
                )
            }
        )
    ),
    "Namespace": _with_spec(Shape(absent={"finalizers": ["kubernetes"]}), name_label),
    "PersistentVolume": _with_spec(
        Shape(
            absent={"volumeMode": "Filesystem"},
            empty={"persistentVolumeReclaimPolicy": "Retain"},
            zero="storageClassName",
            resources=("capacity",),
            parts={**VOLUME_SOURCES, "csi": Shape(zero="readOnly fsType")},
        ),
        protected_by("kubernetes.io/pv-protection"),
    ),
    "PersistentVolumeClaim": _CLAIM,
    "Pod": POD,
    "PodTemplate": Shape(absent={"template": {}}, parts={"template": TEMPLATE}),
    "ReplicationController": _with_spec(
        Shape(steps=(selector_of_template,), absent=_REPLICAS, parts={"template": TEMPLATE}),
        labels_of_template,
    ),
    "ResourceQuota": _with_spec(Shape(resources=("hard",))),
    "Secret": Shape(steps=(data_of_texts,), empty={"type": "Opaque"}),
    "Service": SERVICE,
    "ServiceAccount": Shape(),
}
_APPS: Final[Mapping[str, Shape]] = {
    "DaemonSet": _with_spec(
        Shape(
            steps=(rolling("updateStrategy", _ONE_BY_ONE),),
            absent={"revisionHistoryLimit": 10, "template": {}},
            zero="minReadySeconds",
            parts={"template": TEMPLATE},
        ),
        first_generation,
    ),
    "Deployment": _with_spec(
        Shape(
            steps=(rolling("strategy", _PERCENT),),
            absent={
                **_REPLICAS,
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
                "template": {},
            },
            zero="minReadySeconds paused",
            parts={"template": TEMPLATE},
        )
    ),
    "ReplicaSet": _with_spec(
        Shape(
            absent={**_REPLICAS, "template": {}},
            zero="minReadySeconds",
            parts={"template": TEMPLATE},
        )
    ),
    "StatefulSet": _with_spec(
        Shape(
            steps=(rolling_sets,),
            absent={
                **_REPLICAS,
                "revisionHistoryLimit": 10,
                "persistentVolumeClaimRetentionPolicy": {},
                "serviceName": "",
                "template": {},
            },
            empty={"podManagementPolicy": "OrderedReady"},
            zero="minReadySeconds",
            parts={
                "template": TEMPLATE,
                "persistentVolumeClaimRetentionPolicy": Shape(
                    empty={"whenDeleted": "Retain", "whenScaled": "Retain"}
                ),
                "volumeClaimTemplates[]": _CLAIM_TEMPLATE,
            },
        )
    ),
}
_BATCH: Final[Mapping[str, Shape]] = {
    "Job": _with_spec(_JOB_SPEC, labels_of_template),
    "CronJob": _with_spec(
        Shape(
            absent={"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
            empty={"concurrencyPolicy": "Allow"},
            parts={
                "jobTemplate": Shape(absent={"metadata": {}, "spec": {}}),
                "jobTemplate.spec": Shape(absent={"template": {}}, parts=_JOB_PARTS),
            },
        )
    ),
}
_OTHERS: Final[Mapping[tuple[str, str], Shape]] = {
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): Shape(
        parts={
            "webhooks[]": Shape(
                absent={**_WEBHOOK, "reinvocationPolicy": "Never"}, parts=_WEBHOOK_PARTS
            )
        }
    ),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): Shape(
        parts={"webhooks[]": Shape(absent=_WEBHOOK, parts=_WEBHOOK_PARTS)}
    ),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): _with_spec(
        Shape(absent={"failurePolicy": "Fail"}, parts={"matchConstraints": _MATCHED})
    ),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): _with_spec(
        Shape(parts={"matchResources": _MATCHED})
    ),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _with_spec(
        Shape(absent={"minReplicas": 1}), fill_target
    ),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): _with_spec(
        Shape(steps=(fill_behavior,), absent={"minReplicas": 1}, parts=METRICS)
    ),
    ("apiregistration.k8s.io/v1", "APIService"): _with_spec(
        Shape(zero="insecureSkipTLSVerify", parts={"service": Shape(absent={"port": 443})})
    ),
    ("coordination.k8s.io/v1", "Lease"): _with_spec(Shape()),
    ("discovery.k8s.io/v1", "EndpointSlice"): Shape(
        parts={
            "endpoints[]": Shape(absent={"conditions": {}}),
            "ports[]": Shape(absent={"name": "", "protocol": "TCP"}),
        }
    ),
    ("networking.k8s.io/v1", "Ingress"): _with_spec(Shape(parts={"rules[]": Shape(zero="host")})),
    ("networking.k8s.io/v1", "IngressClass"): _with_spec(
        Shape(parts={"parameters": Shape(absent={"scope": "Cluster"})})
    ),
    ("networking.k8s.io/v1", "NetworkPolicy"): _with_spec(
        Shape(
            steps=(policy_types,),
            absent={"podSelector": {}},
            parts={
                "ingress[].ports[]": Shape(absent={"protocol": "TCP"}),
                "egress[].ports[]": Shape(absent={"protocol": "TCP"}),
            },
        )
    ),
    ("policy/v1", "PodDisruptionBudget"): _with_spec(Shape()),
    (f"{RBAC}/v1", "ClusterRole"): _ROLE,
    (f"{RBAC}/v1", "ClusterRoleBinding"): _BINDING,
    (f"{RBAC}/v1", "Role"): _ROLE,
    (f"{RBAC}/v1", "RoleBinding"): _BINDING,
    ("scheduling.k8s.io/v1", "PriorityClass"): Shape(
        absent={"preemptionPolicy": "PreemptLowerPriority", "value": 0},
        zero="globalDefault description",
    ),
    ("storage.k8s.io/v1", "CSIDriver"): _with_spec(
        Shape(
            absent={
                "attachRequired": True,
                "podInfoOnMount": False,
                "storageCapacity": False,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "volumeLifecycleModes": ["Persistent"],
                "requiresRepublish": False,
                "seLinuxMount": False,
            }
        )
    ),
    ("storage.k8s.io/v1", "StorageClass"): Shape(
        absent={"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
    ),
}
_SHAPES: Final[Mapping[tuple[str, str], Shape]] = {
    **{("v1", kind): shape for kind, shape in _CORE.items()},
    **{("apps/v1", kind): shape for kind, shape in _APPS.items()},
    **{("batch/v1", kind): shape for kind, shape in _BATCH.items()},
    **_OTHERS,
}

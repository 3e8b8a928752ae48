"""Pods: what the defaulting of core/v1 fills in, for Pods themselves and for templates of Pods."""

from __future__ import annotations

from typing import Final

from chartkit.engine.scalars.image_reference import parse_image
from chartkit.model import Body, Json
from chartkit.scan.api_defaults.shape import Shape, is_zero

_LATEST: Final = "latest"
_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600


def pull_policy(image: Json) -> str:
    """Return `Always` for the tag latest, which is also the tag of an image without tag and
    digest."""
    if not isinstance(image, str):
        return "IfNotPresent"
    try:
        found = parse_image(image)
    except ValueError:
        return "IfNotPresent"
    tag = found.tag or ("" if found.digest else _LATEST)
    return "Always" if tag == _LATEST else "IfNotPresent"


def _container_policy(container: Body) -> None:
    if is_zero(container.get("imagePullPolicy")):
        container["imagePullPolicy"] = pull_policy(container.get("image"))


def _image_volume_policy(image: Body) -> None:
    if is_zero(image.get("pullPolicy")):
        image["pullPolicy"] = pull_policy(image.get("reference"))


def _source_of_volume(volume: Body) -> None:
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}


def _account(spec: Body) -> None:
    """Copy the service account between the two fields for its name."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name and isinstance(name, str):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


_FIELD_REF = Shape(empty={"apiVersion": "v1"})
_RESOURCE_FIELD_REF = Shape(absent={"divisor": "0"}, amounts=("divisor",), zero="containerName")
_REQUIREMENTS = Shape(resources=("limits", "requests"))
CLAIM_SPEC = Shape(
    absent={"volumeMode": "Filesystem", "resources": {}},
    zero="volumeName",
    parts={"resources": _REQUIREMENTS},
)
_HTTP_GET = Shape(empty={"path": "/", "scheme": "HTTP"}, zero="host")
_PROBE = Shape(
    empty={"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    zero="initialDelaySeconds",
    parts={
        "httpGet": _HTTP_GET,
        "grpc": Shape(absent={"service": ""}),
        "tcpSocket": Shape(zero="host"),
    },
)
_CONTAINER = Shape(
    steps=(_container_policy,),
    absent={"resources": {}},
    empty={"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
    zero="image workingDir stdin stdinOnce tty",
    parts={
        "ports[]": Shape(empty={"protocol": "TCP"}, zero="name hostPort hostIP"),
        "env[]": Shape(zero="value"),
        "env[].valueFrom.fieldRef": _FIELD_REF,
        "env[].valueFrom.resourceFieldRef": _RESOURCE_FIELD_REF,
        "env[].valueFrom.fileKeyRef": Shape(absent={"optional": False}),
        "envFrom[]": Shape(zero="prefix"),
        "resources": _REQUIREMENTS,
        "volumeMounts[]": Shape(zero="readOnly subPath subPathExpr"),
        "livenessProbe": _PROBE,
        "readinessProbe": _PROBE,
        "startupProbe": _PROBE,
        "lifecycle.postStart.httpGet": _HTTP_GET,
        "lifecycle.preStop.httpGet": _HTTP_GET,
        "securityContext.seLinuxOptions": Shape(zero="user role type level"),
    },
)
_DOWNWARD: Final = {
    "items[].fieldRef": _FIELD_REF,
    "items[].resourceFieldRef": _RESOURCE_FIELD_REF,
}
VOLUME_SOURCES: Final = {
    "hostPath": Shape(absent={"type": ""}),
    "iscsi": Shape(empty={"iscsiInterface": "default"}, zero="readOnly fsType"),
    "rbd": Shape(
        empty={"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
        zero="readOnly fsType",
    ),
    "azureDisk": Shape(
        absent={"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}
    ),
    "scaleIO": Shape(
        absent={"secretRef": None},
        empty={"storageMode": "ThinProvisioned", "fsType": "xfs"},
        zero="readOnly",
    ),
    **{name: Shape(zero="readOnly") for name in ("azureFile", "glusterfs", "nfs")},
    "cephfs": Shape(zero="readOnly path"),
    "awsElasticBlockStore": Shape(zero="readOnly fsType partition"),
    "gcePersistentDisk": Shape(zero="readOnly fsType partition"),
}
"""Defaults that Pods and PersistentVolumes share."""

_VOLUME = Shape(
    steps=(_source_of_volume,),
    parts={
        **VOLUME_SOURCES,
        "secret": Shape(absent={"defaultMode": _MODE}, zero="secretName"),
        "configMap": Shape(absent={"defaultMode": _MODE}, zero="name"),
        "downwardAPI": Shape(absent={"defaultMode": _MODE}, parts=_DOWNWARD),
        "projected": Shape(
            absent={"defaultMode": _MODE, "sources": None},
            parts={
                "sources[].downwardAPI": Shape(parts=_DOWNWARD),
                "sources[].serviceAccountToken": Shape(
                    absent={"expirationSeconds": _TOKEN_SECONDS}, zero="audience"
                ),
            },
        ),
        "emptyDir": Shape(zero="medium", amounts=("sizeLimit",)),
        "persistentVolumeClaim": Shape(zero="readOnly"),
        "image": Shape(steps=(_image_volume_policy,)),
        "ephemeral.volumeClaimTemplate": Shape(absent={"metadata": {}}, parts={"spec": CLAIM_SPEC}),
    },
)
POD_SPEC = Shape(
    steps=(_account,),
    absent={"securityContext": {}, "terminationGracePeriodSeconds": 30},
    empty={
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
    },
    zero="hostNetwork hostPID hostIPC hostname subdomain nodeName priorityClassName"
    " serviceAccountName serviceAccount",
    resources=("overhead",),
    parts={
        "volumes[]": _VOLUME,
        "initContainers[]": _CONTAINER,
        "containers[]": _CONTAINER,
        "ephemeralContainers[]": _CONTAINER,
        "tolerations[]": Shape(zero="key operator value effect"),
        "resources": _REQUIREMENTS,
        "securityContext.seLinuxOptions": Shape(zero="user role type level"),
    },
)
TEMPLATE = Shape(absent={"metadata": {}, "spec": {}}, parts={"spec": POD_SPEC})

"""The types of Kubernetes' own kinds: the type at a path, and the least value of a type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from chartkit.addons.migrate.proof.leaves.paths import EACH, Path, Step
from chartkit.engine.kubernetes.field_faults import Field, fields_of, known_kinds, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import Json

LIST: Final = "[]"
MAP: Final = "{}"
ANY: Final = "dyn"
SCALARS: Final = frozenset(("string", "int", "double", "bool", "quantity", "int-or-string", ANY))
_SAMPLES: Final[dict[str, Json]] = {
    "string": "x",
    "int": 1,
    "double": 1,
    "bool": False,
    "quantity": "1",
    "int-or-string": 80,
    ANY: {},
}
_NAMED: Final[dict[str, Json]] = {
    "apiGroup": "rbac.authorization.k8s.io",
    "image": "registry.example/app:1.0",
    "mountPath": "/data",
    "operator": "In",
    "path": "/data",
    "pathType": "Prefix",
    "port": 80,
    "restartPolicy": "Never",
    "schedule": "0 3 * * *",
    "verbs": ["get"],
}
"""Values of required fields by their name."""

_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "apps.v1.DaemonSet": ("metadata", "spec"),
    "apps.v1.Deployment": ("metadata", "spec"),
    "apps.v1.ReplicaSet": ("metadata", "spec"),
    "apps.v1.ReplicaSetSpec": ("template",),
    "apps.v1.StatefulSet": ("metadata", "spec"),
    "batch.v1.CronJob": ("metadata", "spec"),
    "batch.v1.Job": ("metadata", "spec"),
    "batch.v1.JobTemplateSpec": ("spec",),
    "core.v1.ConfigMapEnvSource": ("name",),
    "core.v1.ConfigMapKeySelector": ("name",),
    "core.v1.ConfigMapProjection": ("name",),
    "core.v1.ConfigMapVolumeSource": ("name",),
    "core.v1.Container": ("image",),
    "core.v1.EphemeralContainer": ("image",),
    "core.v1.Pod": ("metadata", "spec"),
    "core.v1.PodTemplateSpec": ("spec",),
    "core.v1.ReplicationController": ("metadata", "spec"),
    "core.v1.ReplicationControllerSpec": ("template",),
    "core.v1.SecretEnvSource": ("name",),
    "core.v1.SecretKeySelector": ("name",),
    "core.v1.SecretProjection": ("name",),
    "core.v1.SecretVolumeSource": ("secretName",),
    "core.v1.Service": ("metadata", "spec"),
    "core.v1.ServiceSpec": ("ports",),
    "networking.v1.Ingress": ("metadata", "spec"),
    "networking.v1.NetworkPolicy": ("metadata", "spec"),
}
"""Fields that the validation of an API server requires and its types do not, by type."""


_POLICIES: Final = "Always OnFailure Never"
_PROFILES: Final = "RuntimeDefault Localhost Unconfined"
_ENUMS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    key: tuple(values.split())
    for key, values in {
        ("core.v1.AppArmorProfile", "type"): _PROFILES,
        ("core.v1.SeccompProfile", "type"): _PROFILES,
        ("core.v1.Container", "imagePullPolicy"): "Always IfNotPresent Never",
        ("core.v1.EphemeralContainer", "imagePullPolicy"): "Always IfNotPresent Never",
        ("core.v1.ContainerPort", "protocol"): "TCP UDP SCTP",
        ("core.v1.ServicePort", "protocol"): "TCP UDP SCTP",
        ("core.v1.PodSpec", "restartPolicy"): _POLICIES,
        ("core.v1.PodSpec", "dnsPolicy"): "ClusterFirst ClusterFirstWithHostNet Default None",
        ("core.v1.SecurityContext", "procMount"): "Default Unmasked",
        ("core.v1.ServiceSpec", "type"): "ClusterIP NodePort LoadBalancer ExternalName",
        ("core.v1.ServiceSpec", "externalTrafficPolicy"): "Cluster Local",
        ("batch.v1.CronJobSpec", "concurrencyPolicy"): "Allow Forbid Replace",
        ("networking.v1.HTTPIngressPath", "pathType"): "Exact Prefix ImplementationSpecific",
        ("rbac.v1.RoleRef", "kind"): "Role ClusterRole",
        ("rbac.v1.Subject", "kind"): "User Group ServiceAccount",
    }.items()
}
"""The values of fields that have a fixed set of them, by type and name."""


_TEXT: Final = Field("string", required=False)
_TEXTS: Final = Field(f"{LIST}string", required=False)
_TEXT_BY_KEY: Final = Field(f"{MAP}string", required=False)
_THINGS_BY_KEY: Final = Field(f"{MAP}{ANY}", required=False)
IMAGE_TYPE: Final = "registry.Image"
_OF_REGISTRIES: Final[Mapping[str, Mapping[str, Field]]] = {
    IMAGE_TYPE: {
        "manifest": Field("registry.Manifest", required=True),
        "config": Field("registry.ConfigFile", required=True),
    },
    "registry.Manifest": {
        "schemaVersion": Field("int", required=True),
        "mediaType": Field("string", required=True),
        "layers": Field("[]registry.Layer", required=True),
        "annotations": _TEXT_BY_KEY,
    },
    "registry.Layer": {
        **dict.fromkeys(("mediaType", "digest"), Field("string", required=True)),
        "size": Field("int", required=True),
    },
    "registry.ConfigFile": {
        **dict.fromkeys(("architecture", "os"), Field("string", required=True)),
        **dict.fromkeys(("author", "created"), _TEXT),
        "config": Field("registry.Config", required=True),
    },
    "registry.Config": {
        **dict.fromkeys(("User", "WorkingDir", "StopSignal"), _TEXT),
        **dict.fromkeys(("Cmd", "Entrypoint", "Env", "Shell"), _TEXTS),
        "Labels": _TEXT_BY_KEY,
        **dict.fromkeys(("Volumes", "ExposedPorts"), _THINGS_BY_KEY),
    },
}
"""The types of what a registry has of an image, as the OCI image specification names its fields."""


def fields(type_name: str) -> Mapping[str, Field]:
    """Return the fields of a type by their names."""
    return _OF_REGISTRIES.get(type_name) or fields_of(type_name)


def root_type(kind: GroupVersionKind) -> str:
    """Return the type of a kind; `dyn` for one that is not Kubernetes' own."""
    return type_of_kind(kind) or ANY


def normalized(root: str, path: Path) -> tuple[Path, str] | None:
    """Return a path as the type has it, and the type there; None for a field that it has not.

    Elements of what is no list are the value itself, and a field of a list is that of its
    elements: expressions make lists of lists and take them apart again.
    """
    done: list[str | Step] = []
    at = root
    for step in path:
        if isinstance(step, Step):
            if at == ANY or at.startswith(MAP):
                done.append(step)
            elif at.startswith(LIST):
                done.append(EACH)
            at = at[2:] if at.startswith((LIST, MAP)) else at
            continue
        while at.startswith(LIST):
            done.append(EACH)
            at = at.removeprefix(LIST)
        done.append(step)
        if at.startswith(MAP):
            at = at.removeprefix(MAP)
        elif at != ANY:
            field = fields(at).get(str(step))
            if field is None:
                return None
            at = field.type
    return tuple(done), at


@cache
def _roots() -> frozenset[str | None]:
    """Return the types of kinds: an API server writes their `spec` even where it is empty."""
    return frozenset(map(type_of_kind, known_kinds()))


@cache
def required(type_name: str) -> tuple[tuple[str, str], ...]:
    """Return the fields that an object of a type cannot do without, with their types."""
    known = fields(type_name)
    names = [name for name, one in known.items() if one.required]
    others = [*_REQUIRED.get(type_name, ()), *(["spec"] if type_name in _roots() else [])]
    names += [name for name in others if name in known and name not in names]
    return tuple((name, known[name].type) for name in names)


def least(type_name: str, name: str = "") -> Json:
    """Return the least value of a type; name: of the field that has it."""
    if name in _NAMED and not type_name.startswith(MAP):
        return _NAMED[name]
    if type_name.startswith(LIST):
        return [least(type_name.removeprefix(LIST), name)]
    if type_name.startswith(MAP):
        return {"x": least(type_name.removeprefix(MAP))}
    if type_name in SCALARS:
        return "app" if name == "name" else _SAMPLES[type_name]
    return {
        field: next(iter(allowed_values(type_name, field)), None) or least(kind, field)
        for field, kind in required(type_name)
    }


def allowed_values(type_name: str, field: str) -> tuple[str, ...]:
    """Return the only values that a field of a type may have; none where it may have any."""
    return _ENUMS.get((type_name, field), ())


def allowed_at(root: str, path: Path) -> tuple[str, ...]:
    """Return the only values that a place may have; none where it may have any."""
    above = normalized(root, path[:-1]) if path else None
    return allowed_values(above[1], str(path[-1])) if above is not None else ()

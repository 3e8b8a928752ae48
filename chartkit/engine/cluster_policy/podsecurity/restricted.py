"""The checks that the Pod Security Standard "restricted" adds.

Source of the rules: as in `baseline`.
"""

from __future__ import annotations

from typing import Final

from chartkit.engine.cluster_policy.podsecurity.baseline import Judge, added_capabilities, forbids
from chartkit.engine.cluster_policy.podsecurity.pod import (
    Container,
    FieldError,
    Pod,
    Violation,
    counted,
    setters,
    using,
)


def unless_windows(judge: Judge) -> Judge:
    """The check, which lets pods for Windows alone (from 1.25 on)."""
    return lambda pod: None if pod.is_windows else judge(pod)


def allow_privilege_escalation(pod: Pod) -> Violation | None:
    """Every container says that privileges do not grow."""
    errors = [
        error for container in pod.containers if (error := _escalation(container)) is not None
    ]
    if not errors:
        return None
    names = counted("container", (error.container or "" for error in errors))
    return Violation(
        "allowPrivilegeEscalation != false",
        f"{names} must set securityContext.allowPrivilegeEscalation=false",
        tuple(errors),
    )


def _escalation(container: Container) -> FieldError | None:
    field = "allowPrivilegeEscalation"
    if container.security is None:
        return container.missing(field)
    allowed = container.security.get(field)
    if allowed is None:
        return container.forbidden(field, "nil")
    return container.forbidden(field, True) if allowed else None


BINDING: Final = frozenset(("NET_BIND_SERVICE",))
_ADDED: Final = added_capabilities(BINDING)


def capabilities(pod: Pod) -> Violation | None:
    """Every container drops ALL capabilities and adds none but NET_BIND_SERVICE."""
    kept = [error for container in pod.containers if (error := _kept(container)) is not None]
    added = _ADDED(pod)
    details, errors = [], kept
    if kept:
        names = counted("container", (error.container or "" for error in kept))
        details.append(f'{names} must set securityContext.capabilities.drop=["ALL"]')
    if added is not None:
        details.append(added.detail)
        errors = [*kept, *(added.errors or ())]
    if not details:
        return None
    return Violation("unrestricted capabilities", "; ".join(details), tuple(errors))


def _kept(container: Container) -> FieldError | None:
    dropped = ((container.security or {}).get("capabilities") or {}).get("drop")
    if not dropped:
        return container.missing("capabilities.drop")
    if "ALL" in dropped:
        return None
    return container.forbidden("capabilities.drop", tuple(sorted(set(dropped))))


def run_as_non_root(pod: Pod) -> Violation | None:
    """Every container runs as a user other than root, by its own setting or the pod's."""
    errors = pod.setting(
        "runAsNonRoot", lambda security: False if security.get("runAsNonRoot") is False else None
    )
    silent = [
        container
        for container in pod.containers
        if (container.security or {}).get("runAsNonRoot") is None
    ]
    details = []
    if errors:
        details.append(f"{setters(errors)} must not set securityContext.runAsNonRoot=false")
    if silent and not pod.security.get("runAsNonRoot"):
        names = counted("container", (container.name for container in silent))
        details.append(f"pod or {names} must set securityContext.runAsNonRoot=true")
        errors += tuple(container.missing("runAsNonRoot") for container in silent)
    if not details:
        return None
    return Violation("runAsNonRoot != true", "\n".join(details), errors)


run_as_user: Final = forbids(
    "runAsUser=0",
    "runAsUser",
    lambda security: 0 if security.get("runAsUser") == 0 else None,
    "set runAsUser=0",
)


ALLOWED_VOLUMES: Final = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
    *("persistentVolumeClaim", "projected", "secret"),
)
OTHER_VOLUMES: Final = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi"),
    *("glusterfs", "rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile"),
    *("vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume"),
    *("scaleIO", "storageos"),
)
"""In the order in which they are looked for."""


def restricted_volumes(pod: Pod) -> Violation | None:
    """Every volume is of a type that a namespace's own user may mount."""
    names, kinds, errors = [], set(), []
    for index, volume in enumerate(pod.spec.get("volumes") or ()):
        if any(volume.get(kind) is not None for kind in ALLOWED_VOLUMES):
            kind: str | None = None
        else:
            kind = next((kind for kind in OTHER_VOLUMES if volume.get(kind) is not None), "unknown")
        if kind is not None:
            names.append(volume.get("name", ""))
            kinds.add(kind)
            errors.append(FieldError(f"spec.volumes[{index}].{kind}"))
    if not names:
        return None
    shown = f"{using('volume', names)} {counted('restricted volume type', sorted(kinds))}"
    return Violation("restricted volume types", shown, tuple(errors))

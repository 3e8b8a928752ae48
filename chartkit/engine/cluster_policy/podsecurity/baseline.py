"""The checks of the Pod Security Standard "baseline".

Source of the rules: Kubernetes' pod-security-admission, with the lists of field errors that
Kyverno's copy of it gives. A check takes a pod and says why it forbids it; None: it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from chartkit.engine.cluster_policy.podsecurity.pod import (
    FieldError,
    Pod,
    Violation,
    counted,
    plural,
    quoted,
    setters,
    using,
)
from chartkit.model import Body, Json

Judge = Callable[[Pod], Violation | None]

HOST_NAMESPACES: Final = ("hostNetwork", "hostPID", "hostIPC")


def host_namespaces(pod: Pod) -> Violation | None:
    """The host's network, PID and IPC namespaces are not shared."""
    used = [name for name in HOST_NAMESPACES if pod.spec.get(name)]
    if not used:
        return None
    return Violation(
        "host namespaces",
        ", ".join(f"{name}=true" for name in used),
        tuple(FieldError(f"spec.{name}", True) for name in used),
    )


def host_path_volumes(pod: Pod) -> Violation | None:
    """No volume is a hostPath."""
    names, errors = [], []
    for index, volume in enumerate(pod.spec.get("volumes") or ()):
        host_path = volume.get("hostPath")
        if host_path is not None:
            names.append(volume.get("name") or "")
            path = host_path.get("path") or ""
            errors.append(FieldError(f"spec.volumes[{index}].hostPath", path))
    if not names:
        return None
    return Violation("hostPath volumes", counted("volume", names), tuple(errors))


def host_ports(pod: Pod) -> Violation | None:
    """No container has a host port."""
    names, errors = [], []
    ports: set[str] = set()
    for container in pod.containers:
        field_errors = [
            FieldError(f"{container.path}.ports[{index}].hostPort", host_port, container.name)
            for index, port in enumerate(container.body.get("ports") or ())
            if (host_port := port.get("hostPort"))
        ]
        if field_errors:
            names.append(container.name)
            errors += field_errors
            ports.update(str(error.value) for error in field_errors)
    if not names:
        return None
    shown = f"{plural('hostPort', len(ports))} {', '.join(sorted(ports))}"
    return Violation("hostPort", f"{using('container', names)} {shown}", tuple(errors))


def host_probes(pod: Pod) -> Violation | None:
    """No probe and no lifecycle handler names a host."""
    names: set[str] = set()
    hosts: dict[str, str] = {}
    for container in pod.containers:
        if found := dict(_probed_hosts(container.body, container.path)):
            names.add(container.name)
            hosts |= found
    if not names:
        return None
    shown = counted("probe or lifecycle host", sorted(set(hosts.values())))
    detail = f"{using('container', sorted(names))} {shown}"
    return Violation("probe or lifecycle host", detail, places=tuple(hosts))


PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
HANDLERS: Final = ("postStart", "preStop")


def _probed_hosts(container: Body, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the value of each host."""
    lifecycle: Body = container.get("lifecycle") or {}
    actions: dict[str, Json] = {name: container.get(name) for name in PROBES}
    actions |= {f"lifecycle.{name}": lifecycle.get(name) for name in HANDLERS}
    for name, action in actions.items():
        for kind in ("httpGet", "tcpSocket"):
            host = ((action or {}).get(kind) or {}).get("host")
            if host:
                yield f"{path}.{name}.{kind}.host", host


def privileged(pod: Pod) -> Violation | None:
    """No container is privileged."""
    errors = pod.setting("privileged", lambda security: security.get("privileged") or None)
    if not errors:
        return None
    detail = f"{setters(errors)} must not set securityContext.privileged=true"
    return Violation("privileged", detail, errors)


def proc_mount(pod: Pod) -> Violation | None:
    """`/proc` is masked as it is by default."""

    def bad(security: Body) -> str | None:
        mount: str | None = security.get("procMount")
        return None if mount == "Default" else mount

    errors = pod.setting("procMount", bad)
    if not errors:
        return None
    mounts = quoted(sorted({str(error.value) for error in errors}))
    detail = f"{setters(errors)} must not set securityContext.procMount to {mounts}"
    return Violation("procMount", detail, errors)


DEFAULT_CAPABILITIES: Final = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)


def capabilities(pod: Pod) -> Violation | None:
    """No capability beyond those of a container runtime's default is added."""
    found = added_capabilities(pod, DEFAULT_CAPABILITIES)
    if found is None:
        return None
    detail, errors = found
    return Violation("non-default capabilities", detail, errors)


def added_capabilities(
    pod: Pod, allowed: frozenset[str]
) -> tuple[str, tuple[FieldError, ...]] | None:
    """Return the capabilities beyond the allowed ones: in words, and the fields; None for none."""

    def bad(security: Body) -> tuple[str, ...] | None:
        added = (security.get("capabilities") or {}).get("add") or ()
        return tuple(sorted(set(added) - allowed)) or None

    errors = pod.setting("capabilities.add", bad)
    if not errors:
        return None
    every = sorted({name for error in errors for name in error.values})
    detail = (
        f"{setters(errors)} must not include {quoted(every)} in securityContext.capabilities.add"
    )
    return detail, errors


def windows_host_process(pod: Pod) -> Violation | None:
    """Neither pod nor container is a Windows HostProcess."""
    errors = pod.setting(
        "windowsOptions.hostProcess",
        lambda security: (security.get("windowsOptions") or {}).get("hostProcess") or None,
    )
    if not errors:
        return None
    detail = f"{setters(errors)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail, errors)


def sysctls(allowed: frozenset[str]) -> Judge:
    """Only sysctls that are namespaced and safe are set."""

    def judge(pod: Pod) -> Violation | None:
        bad = [
            (index, name)
            for index, sysctl in enumerate(pod.security.get("sysctls") or ())
            if (name := sysctl.get("name", "")) not in allowed
        ]
        if not bad:
            return None
        return Violation(
            "forbidden sysctls",
            ", ".join(name for _, name in bad),
            tuple(
                FieldError(f"spec.securityContext.sysctls[{index}].name", name)
                for index, name in bad
            ),
        )

    return judge

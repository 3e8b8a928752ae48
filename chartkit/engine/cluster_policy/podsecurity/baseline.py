"""The checks of the Pod Security Standard "baseline".

Source of the rules: Kubernetes' pod-security-admission, with the lists of field errors that
Kyverno's copy of it gives. A check takes a pod and says why it forbids it; None: it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from chartkit.engine.cluster_policy.podsecurity.pod import (
    BadValue,
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


def forbids(reason: str, field: str, bad: Callable[[Body], BadValue | None], text: str) -> Judge:
    """Return the check that no `securityContext` has a bad value of a field.

    bad: the value, None for a good one; text: what pod and containers must not do, with `{}` for
    the bad values.
    """

    def judge(pod: Pod) -> Violation | None:
        errors = pod.setting(field, bad)
        if not errors:
            return None
        shown = quoted(sorted({name for error in errors for name in error.texts}))
        return Violation(reason, f"{setters(errors)} must not {text.format(shown)}", errors)

    return judge


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


privileged: Final = forbids(
    "privileged",
    "privileged",
    lambda security: security.get("privileged") or None,
    "set securityContext.privileged=true",
)

proc_mount: Final = forbids(
    "procMount",
    "procMount",
    lambda security: None if security.get("procMount") == "Default" else security.get("procMount"),
    "set securityContext.procMount to {}",
)


def added_capabilities(allowed: frozenset[str]) -> Judge:
    """No capability beyond the allowed ones is added."""

    def bad(security: Body) -> tuple[str, ...] | None:
        added = (security.get("capabilities") or {}).get("add") or ()
        return tuple(sorted(set(added) - allowed)) or None

    text = "include {} in securityContext.capabilities.add"
    return forbids("non-default capabilities", "capabilities.add", bad, text)


DEFAULT_CAPABILITIES: Final = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)


capabilities: Final = added_capabilities(DEFAULT_CAPABILITIES)

windows_host_process: Final = forbids(
    "hostProcess",
    "windowsOptions.hostProcess",
    lambda security: (security.get("windowsOptions") or {}).get("hostProcess") or None,
    "set securityContext.windowsOptions.hostProcess=true",
)


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

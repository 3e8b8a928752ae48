"""The checks of the Pod Security Standard "baseline", and of AppArmor, seccomp and SELinux
profiles.

Source of the rules: Kubernetes' pod-security-admission, with the lists of field errors that
Kyverno's copy of it gives. A check takes a pod and returns why it forbids the pod, or None.
"""

from __future__ import annotations

from collections.abc import Callable
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
from chartkit.go.fmt import go_json
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
        probed_hosts: list[tuple[str, str]] = []
        lifecycle: Body = container.body.get("lifecycle") or {}
        actions: dict[str, Json] = {name: container.body.get(name) for name in PROBES}
        actions |= {f"lifecycle.{name}": lifecycle.get(name) for name in HANDLERS}
        for name, action in actions.items():
            for kind in ("httpGet", "tcpSocket"):
                host = ((action or {}).get(kind) or {}).get("host")
                if host:
                    probed_hosts.append((f"{container.path}.{name}.{kind}.host", host))
        if probed := dict(probed_hosts):
            names.add(container.name)
            hosts |= probed
    if not names:
        return None
    shown = counted("probe or lifecycle host", sorted(set(hosts.values())))
    detail = f"{using('container', sorted(names))} {shown}"
    return Violation("probe or lifecycle host", detail, places=tuple(hosts))


PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
HANDLERS: Final = ("postStart", "preStop")


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


ALLOWED: Final = ("RuntimeDefault", "Localhost")

APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"


def app_armor(pod: Pod) -> Violation | None:
    """AppArmor is the runtime's default or a local profile, by field and by annotation."""
    errors = pod.setting("appArmorProfile.type", _bad_type("appArmorProfile"))
    annotations = [
        (key, value)
        for key, value in sorted(pod.annotations.items())
        if key.startswith(APPARMOR) and not _is_allowed(value, "", "runtime/default")
    ]
    if not (errors or annotations):
        return None
    types = sorted({str(error.value) for error in errors})
    shown = types + [f"{key}={go_json(value)}" for key, value in annotations]
    named = plural("annotation", len(annotations)) if annotations else ""
    return Violation(
        plural("forbidden AppArmor profile", len(shown)),
        f"{' and '.join(filter(None, (setters(errors), named)))} must not set AppArmor profile "
        f"type to {quoted(shown)}",
        (*errors, *(_annotation(key, value) for key, value in annotations)),
    )


def _is_allowed(value: str, *names: str) -> bool:
    return value in names or value.startswith("localhost/")


def _annotation(key: str, value: str) -> FieldError:
    return FieldError(f"metadata.annotations[{key}]", value)


def _bad_type(profile: str) -> Callable[[Body], str | None]:
    """Return the type of a profile that is not allowed."""

    def bad(security: Body) -> str | None:
        given = security.get(profile)
        if given is None or given.get("type") in ALLOWED:
            return None
        return given.get("type") or ""

    return bad


SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"


def seccomp_annotations(pod: Pod) -> Violation | None:
    """Seccomp profiles in the annotations of old are the runtime's default or local."""
    keys = [SECCOMP_POD, *(SECCOMP + container.name for container in pod.containers)]
    bad: dict[str, list[FieldError]] = {}
    for key in keys:
        value = pod.annotations.get(key)
        if value is not None and not _is_allowed(value, "runtime/default", "docker/default"):
            bad.setdefault(f"{key}={go_json(value)}", []).append(_annotation(key, value))
    if not bad:
        return None
    return Violation(
        "seccompProfile",
        f"forbidden {plural('annotation', len(bad))} {', '.join(sorted(bad))}",
        tuple(error for errors in bad.values() for error in errors),
    )


seccomp_if_set: Final = forbids(
    "seccompProfile",
    "seccompProfile.type",
    _bad_type("seccompProfile"),
    "set securityContext.seccompProfile.type to {}",
)


def seccomp_required(pod: Pod) -> Violation | None:
    """Every container has a seccomp profile, its own or the pod's, that is allowed."""
    bad = seccomp_if_set(pod)
    if bad is not None or pod.security.get("seccompProfile") is not None:
        return bad
    missing = [own for own in pod.containers if (own.security or {}).get("seccompProfile") is None]
    if not missing:
        return None
    names = counted("container", (container.name for container in missing))
    return Violation(
        "seccompProfile",
        f"pod or {names} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost"',
        tuple(container.missing("seccompProfile.type") for container in missing),
    )


def selinux(types: frozenset[str]) -> Judge:
    """SELinux types are container types, and neither user nor role is set."""

    def judge(pod: Pod) -> Violation | None:
        errors: list[FieldError] = []
        owners: list[FieldError] = []
        for path, container, security in pod.owners():
            faults: list[FieldError] = []
            options = security.get("seLinuxOptions")
            if options is not None:
                for field in ("type", "user", "role"):
                    value = options.get(field) or ""
                    if value not in types if field == "type" else value:
                        faults.append(
                            FieldError(f"{path}.seLinuxOptions.{field}", value, container)
                        )
            errors += faults
            owners += faults[:1]
        if not errors:
            return None
        detail = f"{setters(owners)} set forbidden securityContext.seLinuxOptions: "
        selinux_types = sorted(
            {str(error.value) for error in errors if error.path.endswith(".type")}
        )
        parts = [counted("type", selinux_types)] if selinux_types else []
        parts += [
            f"{field} may not be set"
            for field in ("user", "role")
            if any(error.path.endswith(f".{field}") for error in errors)
        ]
        return Violation("seLinuxOptions", detail + "; ".join(parts), tuple(errors))

    return judge

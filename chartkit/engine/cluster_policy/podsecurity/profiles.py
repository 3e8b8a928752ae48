"""The checks of the Pod Security Standards on AppArmor, seccomp and SELinux profiles.

Source of the rules: as in `baseline`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cluster_policy.podsecurity.baseline import Judge
from chartkit.engine.cluster_policy.podsecurity.pod import (
    FieldError,
    Pod,
    Violation,
    counted,
    plural,
    quoted,
)
from chartkit.go.fmt import go_json
from chartkit.model import Body

ALLOWED: Final = ("RuntimeDefault", "Localhost")

APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"


def app_armor(pod: Pod) -> Violation | None:
    """AppArmor is the runtime's default or a local profile, by field and by annotation."""
    setters, values, errors = _bad_types(pod, "appArmorProfile")
    annotations = [
        (key, value)
        for key, value in sorted(pod.annotations.items())
        if key.startswith(APPARMOR) and not _is_allowed(value, "", "runtime/default")
    ]
    shown = sorted(values)
    if annotations:
        shown += [f"{key}={go_json(value)}" for key, value in annotations]
        setters.append(plural("annotation", len(annotations)))
        errors += [_annotation(key, value) for key, value in annotations]
    if not setters:
        return None
    return Violation(
        plural("forbidden AppArmor profile", len(shown)),
        f"{' and '.join(setters)} must not set AppArmor profile type to {quoted(shown)}",
        tuple(errors),
    )


def _is_allowed(value: str, *names: str) -> bool:
    return value in names or value.startswith("localhost/")


def _annotation(key: str, value: str) -> FieldError:
    return FieldError(f"metadata.annotations[{key}]", value)


def _bad_types(pod: Pod, profile: str) -> tuple[list[str], set[str], list[FieldError]]:
    """Return the owners of profiles that are not allowed, the profiles, and the fields."""
    setters: list[str] = []
    values: set[str] = set()
    errors: list[FieldError] = []
    own = pod.security.get(profile)
    if own is not None and own.get("type") not in ALLOWED:
        setters.append("pod")
        values.add(own.get("type") or "")
        errors.append(FieldError(f"spec.securityContext.{profile}.type", own.get("type") or ""))
    names = []
    for container in pod.containers:
        given = (container.security or {}).get(profile)
        if given is not None and given.get("type") not in ALLOWED:
            names.append(container.name)
            values.add(given.get("type") or "")
            errors.append(container.forbidden(f"{profile}.type", given.get("type") or ""))
    if names:
        setters.append(counted("container", names))
    return setters, values, errors


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


def seccomp_if_set(pod: Pod) -> Violation | None:
    """A seccomp profile that is set is the runtime's default or local."""
    setters, values, errors = _bad_types(pod, "seccompProfile")
    return _seccomp_violation(setters, values, errors) if setters else None


def _seccomp_violation(setters: list[str], values: set[str], errors: list[FieldError]) -> Violation:
    return Violation(
        "seccompProfile",
        f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to "
        f"{quoted(sorted(values))}",
        tuple(errors),
    )


def seccomp_required(pod: Pod) -> Violation | None:
    """Every container has a seccomp profile, its own or the pod's, that is allowed."""
    setters, values, errors = _bad_types(pod, "seccompProfile")
    if setters:
        return _seccomp_violation(setters, values, errors)
    if pod.security.get("seccompProfile") is not None:
        return None
    missing = [one for one in pod.containers if (one.security or {}).get("seccompProfile") is None]
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
        setters, errors = [], []
        if own := list(_selinux_errors(pod.security, "spec.", None, types)):
            setters.append("pod")
            errors += own
        names = []
        for container in pod.containers:
            place = f"{container.path}."
            found = list(_selinux_errors(container.security or {}, place, container.name, types))
            if found:
                names.append(container.name)
                errors += found
        if names:
            setters.append(counted("container", names))
        if not setters:
            return None
        return Violation(
            "seLinuxOptions",
            f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: "
            f"{_selinux_values(errors)}",
            tuple(errors),
        )

    return judge


def _selinux_errors(
    security: Body, place: str, container: str | None, types: frozenset[str]
) -> Iterator[FieldError]:
    options = security.get("seLinuxOptions")
    if options is None:
        return
    for field in ("type", "user", "role"):
        value = options.get(field) or ""
        if value not in types if field == "type" else value:
            yield FieldError(f"{place}securityContext.seLinuxOptions.{field}", value, container)


def _selinux_values(errors: list[FieldError]) -> str:
    types = sorted({str(error.value) for error in errors if error.path.endswith(".type")})
    parts = [counted("type", types)] if types else []
    parts += [
        f"{field} may not be set"
        for field in ("user", "role")
        if any(error.path.endswith(f".{field}") for error in errors)
    ]
    return "; ".join(parts)

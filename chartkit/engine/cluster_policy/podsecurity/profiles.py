"""The checks of the Pod Security Standards on AppArmor, seccomp and SELinux profiles.

Source of the rules: as in `baseline`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from chartkit.engine.cluster_policy.podsecurity.baseline import Judge, forbids
from chartkit.engine.cluster_policy.podsecurity.pod import (
    FieldError,
    Pod,
    Violation,
    counted,
    plural,
    quoted,
    setters,
)
from chartkit.go.fmt import go_json
from chartkit.model import Body

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
        errors: list[FieldError] = []
        owners: list[FieldError] = []
        for path, container, security in pod.owners():
            found = list(_selinux_errors(security, path, container, types))
            errors += found
            owners += found[:1]
        if not errors:
            return None
        detail = f"{setters(owners)} set forbidden securityContext.seLinuxOptions: "
        return Violation("seLinuxOptions", detail + _selinux_values(errors), tuple(errors))

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
            yield FieldError(f"{place}.seLinuxOptions.{field}", value, container)


def _selinux_values(errors: list[FieldError]) -> str:
    types = sorted({str(error.value) for error in errors if error.path.endswith(".type")})
    parts = [counted("type", types)] if types else []
    parts += [
        f"{field} may not be set"
        for field in ("user", "role")
        if any(error.path.endswith(f".{field}") for error in errors)
    ]
    return "; ".join(parts)

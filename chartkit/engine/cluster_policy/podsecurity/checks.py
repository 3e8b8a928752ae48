"""The checks of each level and version, and their names.

Kyverno 1.19 has its own way to choose: a check that is younger than the asked version is run in
its first form, "restricted" does not replace checks of "baseline", and every level but "baseline"
(also "privileged") runs them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.cluster_policy.podsecurity import baseline, restricted
from chartkit.engine.cluster_policy.podsecurity.baseline import Judge
from chartkit.engine.cluster_policy.podsecurity.pod import FieldError, Pod, Violation
from chartkit.engine.cluster_policy.podsecurity.restricted import unless_windows
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body

_BASELINE: Final = "baseline"
_RESTRICTED: Final = "restricted"
_LATEST: Final = float("inf")
_VERSION: Final = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Check:
    """A check and its forms, each with the minor version of Kubernetes from which it holds."""

    id: str
    level: str
    forms: tuple[tuple[int, Judge], ...]

    def form(self, minor: float) -> tuple[int, Judge]:
        """The form for a version, and the minor version from which it holds."""
        return next((form for form in self.forms[::-1] if form[0] <= minor), self.forms[0])


_SYSCTLS: Final = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    )
)
_SYSCTLS_27: Final = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29: Final = _SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_32: Final = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
SYSCTLS: Final = {0: _SYSCTLS, 27: _SYSCTLS_27, 29: _SYSCTLS_29, 32: _SYSCTLS_32}
"""The sysctls that may be set, by the minor version from which they may."""

_SELINUX: Final = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))
SELINUX_TYPES: Final = {0: _SELINUX, 31: _SELINUX | {"container_engine_t"}}
"""The SELinux types that may be set, by the minor version from which they may."""

CHECKS: Final = (
    Check(
        "allowPrivilegeEscalation",
        _RESTRICTED,
        (
            (8, restricted.allow_privilege_escalation),
            (25, unless_windows(restricted.allow_privilege_escalation)),
        ),
    ),
    Check("appArmorProfile", _BASELINE, ((0, baseline.app_armor),)),
    Check("capabilities_baseline", _BASELINE, ((0, baseline.capabilities),)),
    Check(
        "capabilities_restricted",
        _RESTRICTED,
        ((22, restricted.capabilities), (25, unless_windows(restricted.capabilities))),
    ),
    Check("hostNamespaces", _BASELINE, ((0, baseline.host_namespaces),)),
    Check("hostPathVolumes", _BASELINE, ((0, baseline.host_path_volumes),)),
    Check("hostPorts", _BASELINE, ((0, baseline.host_ports),)),
    Check("hostProbesAndHostLifecycle", _BASELINE, ((34, baseline.host_probes),)),
    Check("privileged", _BASELINE, ((0, baseline.privileged),)),
    Check("procMount", _BASELINE, ((0, baseline.proc_mount),)),
    Check("restrictedVolumes", _RESTRICTED, ((0, restricted.restricted_volumes),)),
    Check("runAsNonRoot", _RESTRICTED, ((0, restricted.run_as_non_root),)),
    Check("runAsUser", _RESTRICTED, ((23, restricted.run_as_user),)),
    Check(
        "seLinuxOptions",
        _BASELINE,
        tuple((since, baseline.selinux(types)) for since, types in SELINUX_TYPES.items()),
    ),
    Check(
        "seccompProfile_baseline",
        _BASELINE,
        ((0, baseline.seccomp_annotations), (19, baseline.seccomp_if_set)),
    ),
    Check(
        "seccompProfile_restricted",
        _RESTRICTED,
        ((19, baseline.seccomp_required), (25, unless_windows(baseline.seccomp_required))),
    ),
    Check(
        "sysctls",
        _BASELINE,
        tuple((since, baseline.sysctls(names)) for since, names in SYSCTLS.items()),
    ),
    Check("windowsHostProcess", _BASELINE, ((0, baseline.windows_host_process),)),
)
"""In the order in which they are run and reported."""

CONTROLS: Final[dict[str, tuple[str, ...]]] = {
    "Capabilities": ("capabilities_baseline", "capabilities_restricted"),
    "Seccomp": ("seccompProfile_baseline", "seccompProfile_restricted"),
    "Privileged Containers": ("privileged",),
    "Host Ports": ("hostPorts",),
    "/proc Mount Type": ("procMount",),
    "HostProcess": ("windowsHostProcess",),
    "SELinux": ("seLinuxOptions",),
    "Host Namespaces": ("hostNamespaces",),
    "HostPath Volumes": ("hostPathVolumes",),
    "Sysctls": ("sysctls",),
    "AppArmor": ("appArmorProfile",),
    "Privilege Escalation": ("allowPrivilegeEscalation",),
    "Running as Non-root": ("runAsNonRoot",),
    "Running as Non-root user": ("runAsUser",),
    "Volume Types": ("restrictedVolumes",),
}
"""The checks of each control of the Pod Security Standards."""

CONTROL_OF: Final = {check: name for name, checks in CONTROLS.items() for check in checks}
"""The control that a check belongs to; a check that Kyverno has no control for is missing."""

Chosen = tuple[tuple[str, Judge], ...]
"""Checks by id, each in the form that was asked for."""


def choose(level: str, version: str) -> Chosen:
    """The checks of a level (`privileged`, `baseline`, `restricted`) at a version.

    version: `v1.x`, `latest` or empty, which is the latest. Raises ValueError for another.
    """
    return tuple((check.id, judge) for check, (_, judge) in _forms(level, version))


def versions_of_checks(level: str, version: str) -> dict[str, int]:
    """Return the ids of a level's checks at a version, each with the minor version from which its
    form holds. Raises ValueError as `choose` does."""
    return {check.id: since for check, (since, _) in _forms(level, version)}


def _forms(level: str, version: str) -> Iterator[tuple[Check, tuple[int, Judge]]]:
    if version in ("", "latest"):
        minor = _LATEST
    else:
        match = _VERSION.fullmatch(version)
        if match is None:
            raise ValueError('must be "latest" or "v1.x"')
        minor = int(match[1])
    for check in CHECKS:
        if level != _BASELINE or check.level == _BASELINE:
            yield check, check.form(minor)


def find(chosen: Iterable[tuple[str, Judge]], pod: Pod) -> list[Violation]:
    findings = []
    for check, judge in chosen:
        violation = judge(pod)
        if violation is not None:
            findings.append(replace(violation, check=check))
    return findings


Wildcards = tuple[Callable[[str], bool], ...]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A control that is lifted: for containers of some images, or (no images) for the pod.

    checks: the control's checks that the rule selects; field: the only field that is lifted, with
    `*` for indices; values: wildcards that all bad values must match.
    """

    checks: Chosen
    images: Wildcards
    field: str
    values: Wildcards

    def lift(self, findings: Sequence[Violation], pod: Pod) -> list[Violation]:
        """Return the remaining findings in a pod.

        The checks run again on the parts that the exclusion names; each field error there takes
        away the first of the same field (and container) here, and the last one takes its place.
        """
        seen = (
            pod.only_containers(lambda image: any(fits(image) for fits in self.images))
            if self.images
            else pod.without_containers()
        )
        errors = {finding.check: list(finding.errors or ()) for finding in findings}
        for finding in find(self.checks, seen):
            for lifted in finding.errors or ():
                if self.field and lifted.pattern != self.field:
                    lifts = False
                else:
                    lifts = not self.values or all(
                        any(fits(value) for fits in self.values) for value in lifted.values
                    )
                if lifts:
                    self._take(lifted, errors.get(finding.check) or [])
        return [
            replace(finding, errors=tuple(errors[finding.check])) if finding.errors else finding
            for finding in findings
            if not finding.errors or errors[finding.check]
        ]

    def _take(self, lifted: FieldError, errors: list[FieldError]) -> None:
        for index, error in enumerate(errors):
            if error.pattern != lifted.pattern:
                continue
            if self.images and error.container not in (None, lifted.container):
                continue
            errors[index] = errors[-1]
            errors.pop()
            return


def compile_exclusion(body: Body, chosen: Chosen) -> Exclusion:
    """The exclusion that a body of the API's schema describes, among a rule's checks."""
    ids = CONTROLS.get(body["controlName"], ())
    return Exclusion(
        checks=tuple((check, judge) for check, judge in chosen if check in ids),
        images=tuple(map(compile_wildcard, body.get("images") or ())),
        field=body.get("restrictedField") or "",
        values=tuple(map(compile_wildcard, body.get("values") or ())),
    )


def lift_all(
    exclusions: Sequence[Exclusion], findings: Sequence[Violation], pod: Pod
) -> list[Violation]:
    """Return the findings that remain after every exclusion."""
    left = list(findings)
    for exclusion in exclusions:
        left = exclusion.lift(left, pod)
    return left

"""The controls of the Pod Security Standards as formulas: a field and its allowed values each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from chartkit.addons.satisfy.formula import (
    Atom,
    Formula,
    Place,
    Some,
    Source,
    Unknown,
    all_of,
    any_of,
    every,
)
from chartkit.addons.satisfy.values import MISSING, Test, absent, one_of, present
from chartkit.addons.satisfy.wants.pattern import fresh
from chartkit.engine.cluster_policy.podsecurity.baseline import (
    ALLOWED,
    DEFAULT_CAPABILITIES,
    HANDLERS,
    HOST_NAMESPACES,
    PROBES,
)
from chartkit.engine.cluster_policy.podsecurity.checks import (
    CONTROLS,
    SELINUX_TYPES,
    SYSCTLS,
    versions_of_checks,
)
from chartkit.engine.cluster_policy.podsecurity.pod import CONTAINER_LISTS
from chartkit.engine.cluster_policy.podsecurity.restricted import (
    ALLOWED_VOLUMES,
    BINDING,
    OTHER_VOLUMES,
)
from chartkit.engine.kubernetes.kinds import POD_SPECS
from chartkit.model import Body, Json, list_of

_Control = Callable[["_Pod", int], Formula]
_NOT_ROOT: Final = Test("not 0", lambda value: value is None or value != 0, (MISSING, 1000))
_WINDOWS: Final = frozenset(
    ("allowPrivilegeEscalation", "capabilities_restricted", "seccompProfile_restricted")
)
"""Checks of which Pods for Windows are free."""


class _Pod:
    """A Pod's specification in an object, and the atoms of its fields."""

    def __init__(self, spec: Place, source: Source) -> None:
        self.spec, self.source = spec, source

    def atom(self, place: Place, test: Test) -> Atom:
        return Atom(place, test, self.source)

    def security(self, *steps: str) -> Place:
        return self.spec.child("securityContext", *steps)

    def containers(self, part: Callable[[Place], Formula]) -> Formula:
        return all_of(*(self.each(self.spec.child(name), part) for name in CONTAINER_LISTS))

    def each(self, listed: Place, part: Callable[[Place], Formula]) -> Formula:
        variable = fresh()
        return every(variable, listed, part(Place(variable)))

    def owners(self, part: Callable[[Place], Formula]) -> Formula:
        """Return a formula for the security contexts of the Pod and its containers."""
        inner = self.containers(lambda container: part(container.child("securityContext")))
        return all_of(part(self.security()), inner)


def _unset(*values: Json) -> Test:
    """Return the test of a field that is false, empty or not there."""
    probes = (*values, MISSING)
    return Test(
        "not set", lambda value: value is MISSING or not value, probes, is_closed=True, is_safe=True
    )


def _containers(test: Test, *steps: str) -> _Control:
    """Return the control of a field of each container's security context."""
    field = ("securityContext", *steps)
    return lambda pod, _since: pod.containers(
        lambda container: pod.atom(container.child(*field), test)
    )


def _owners(test: Test, *steps: str) -> _Control:
    """Return the control of a field of each security context, the Pod's own among them."""
    return lambda pod, _since: pod.owners(lambda security: pod.atom(security.child(*steps), test))


def _profile(name: str) -> _Control:
    def of_owner(pod: _Pod, security: Place) -> Formula:
        profile = security.child(name)
        kinds = pod.atom(profile.child("type"), one_of(ALLOWED, is_safe=True))
        return any_of(pod.atom(profile, absent()), kinds)

    return lambda pod, _since: pod.owners(lambda security: of_owner(pod, security))


_seccomp: Final = _profile("seccompProfile")


def _seccomp_required(pod: _Pod, since: int) -> Formula:
    def has(security: Place) -> Formula:
        kind = security.child("seccompProfile", "type")
        return pod.atom(kind, one_of(ALLOWED, is_safe=True))

    own = pod.containers(lambda container: has(container.child("securityContext")))
    return all_of(_seccomp(pod, since), any_of(has(pod.security()), own))


def _added(pod: _Pod, allowed: frozenset[str]) -> Formula:
    names = one_of(sorted(allowed), "a capability that may be added")

    def of_container(container: Place) -> Formula:
        listed = container.child("securityContext", "capabilities", "add")
        return pod.each(listed, lambda place: pod.atom(place, names))

    return pod.containers(of_container)


def _dropped(pod: _Pod, _since: int) -> Formula:
    def of_container(container: Place) -> Formula:
        variable = fresh()
        listed = container.child("securityContext", "capabilities", "drop")
        return Some(variable, listed, pod.atom(Place(variable), one_of(("ALL",), is_safe=True)))

    return all_of(pod.containers(of_container), _added(pod, BINDING))


def _host_namespaces(pod: _Pod, _since: int) -> Formula:
    return all_of(*(pod.atom(pod.spec.child(name), _unset(False)) for name in HOST_NAMESPACES))


def _host_paths(pod: _Pod, _since: int) -> Formula:
    volumes = pod.spec.child("volumes")
    return pod.each(volumes, lambda volume: pod.atom(volume.child("hostPath"), absent()))


def _host_ports(pod: _Pod, _since: int) -> Formula:
    def of_container(container: Place) -> Formula:
        ports = container.child("ports")
        return pod.each(ports, lambda port: pod.atom(port.child("hostPort"), _unset()))

    return pod.containers(of_container)


def _host_probes(pod: _Pod, _since: int) -> Formula:
    actions = [(name,) for name in PROBES] + [("lifecycle", name) for name in HANDLERS]

    def of_container(container: Place) -> Formula:
        return all_of(
            *(
                pod.atom(container.child(*action, kind, "host"), _unset())
                for action in actions
                for kind in ("httpGet", "tcpSocket")
            )
        )

    return pod.containers(of_container)


def _volumes(pod: _Pod, _since: int) -> Formula:
    there = replace(present(), probes=({},))
    kinds = ("emptyDir", *(kind for kind in ALLOWED_VOLUMES if kind != "emptyDir"))

    def of_volume(volume: Place) -> Formula:
        allowed = [pod.atom(volume.child(kind), there) for kind in kinds]
        others = (pod.atom(volume.child(kind), absent()) for kind in OTHER_VOLUMES)
        # An API server takes no volume of two types, so that the others are not there.
        return all_of(any_of(*allowed), *others)

    return pod.each(pod.spec.child("volumes"), of_volume)


def _non_root(pod: _Pod, since: int) -> Formula:
    yes = one_of((True,), "true", is_safe=True)
    not_false = Test("not false", lambda value: value is not False, (True, MISSING), is_safe=True)
    own = pod.atom(pod.security("runAsNonRoot"), yes)
    containers = _containers(yes, "runAsNonRoot")(pod, since)
    return all_of(_owners(not_false, "runAsNonRoot")(pod, since), any_of(own, containers))


def _selinux(pod: _Pod, since: int) -> Formula:
    types = one_of((MISSING, *sorted(SELINUX_TYPES[since])), is_safe=True)

    def of_owner(security: Place) -> Formula:
        options = security.child("seLinuxOptions")
        return all_of(
            pod.atom(options.child("type"), types),
            pod.atom(options.child("user"), _unset()),
            pod.atom(options.child("role"), _unset()),
        )

    return pod.owners(of_owner)


def _sysctls(pod: _Pod, since: int) -> Formula:
    names = one_of(sorted(SYSCTLS[since]))
    sysctls = pod.security("sysctls")
    return pod.each(sysctls, lambda sysctl: pod.atom(sysctl.child("name"), names))


_CONTROLS: Final[dict[str, _Control]] = {
    "allowPrivilegeEscalation": _containers(
        one_of((False,), "false", is_safe=True), "allowPrivilegeEscalation"
    ),
    "appArmorProfile": _profile("appArmorProfile"),
    "capabilities_baseline": lambda pod, _since: _added(pod, DEFAULT_CAPABILITIES),
    "capabilities_restricted": _dropped,
    "hostNamespaces": _host_namespaces,
    "hostPathVolumes": _host_paths,
    "hostPorts": _host_ports,
    "hostProbesAndHostLifecycle": _host_probes,
    "privileged": _containers(_unset(False), "privileged"),
    "procMount": _containers(one_of((MISSING, "Default"), is_safe=True), "procMount"),
    "restrictedVolumes": _volumes,
    "runAsNonRoot": _non_root,
    "runAsUser": _owners(_NOT_ROOT, "runAsUser"),
    "seLinuxOptions": _selinux,
    "seccompProfile_baseline": _seccomp,
    "seccompProfile_restricted": _seccomp_required,
    "sysctls": _sysctls,
    "windowsHostProcess": _owners(_unset(False), "windowsOptions", "hostProcess"),
}
"""By the check's id, as in the engine's `podsecurity/checks`."""


def pod_security_formula(body: Body, kind: str, source: Source) -> Formula:
    """Return the formula of a `podSecurity` rule for an object of a kind. A control with an
    exclusion says nothing here."""
    steps = POD_SPECS.get(kind, "spec").split(".")
    pod = _Pod(Place("", tuple(steps)), source)
    excluded = {
        check
        for entry in list_of(body.get("exclude"))
        for check in CONTROLS.get(str(entry.get("controlName")), ())
    }
    try:
        checks = versions_of_checks(body.get("level") or "", body.get("version") or "")
    except ValueError:
        return Unknown("podSecurity")
    parts: list[Formula] = []
    named = Test("windows", lambda value: value == "windows", ("windows",))
    windows = pod.atom(pod.spec.child("os", "name"), named)
    for check, since in checks.items():
        if check in excluded or check not in _CONTROLS:
            continue
        formula = _CONTROLS[check](pod, since)
        parts.append(any_of(formula, windows) if check in _WINDOWS else formula)
    return all_of(*parts)

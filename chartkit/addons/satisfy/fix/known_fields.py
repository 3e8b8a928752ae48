"""Fields that the Pod Security Standards leave one value, and fields that are never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from chartkit.addons.satisfy.changes import DELETE, Change, Repair
from chartkit.model import Json, Location, RuleResult, pointer_steps

_VALUES: Final[Mapping[tuple[str, str], Json]] = {
    ("securityContext", "allowPrivilegeEscalation"): False,
    ("securityContext", "privileged"): False,
    ("securityContext", "readOnlyRootFilesystem"): True,
    ("securityContext", "runAsNonRoot"): True,
    ("securityContext", "runAsUser"): DELETE,
    ("securityContext", "capabilities"): {"drop": ["ALL"]},
    ("securityContext", "seccompProfile"): {"type": "RuntimeDefault"},
    ("capabilities", "drop"): ["ALL"],
    ("seccompProfile", "type"): "RuntimeDefault",
    ("spec", "automountServiceAccountToken"): False,
    ("spec", "hostIPC"): False,
    ("spec", "hostNetwork"): False,
    ("spec", "hostPID"): False,
}
"""By the last two steps of a field (https://kubernetes.io/docs/concepts/security/pod-security-standards/)."""


_ADDED: Final = ("capabilities", "add")
_IDENTITY: Final = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_OS: Final = (("spec", "os"), ("spec", "os", "name"))
"""The last steps of the fields by which a Pod is one for Windows."""


def is_dodge(repair: Repair) -> bool:
    """Report whether changes make an object another one, which a rule may pass over."""
    paths = [pointer_steps(change.pointer) for change in repair]
    return any(path in _IDENTITY or path[-2:] in _OS or path[-3:] in _OS for path in paths)


def is_labelled(repair: Repair) -> bool:
    """Report whether changes are about labels or annotations. Where a rule takes something else as
    well, these may be a way around it, on which a person decides."""
    paths = [pointer_steps(change.pointer) for change in repair]
    return any("labels" in path or "annotations" in path for path in paths)


def hardened(result: RuleResult) -> Repair:
    """Return the changes of the fields that a failure names to the values of the standards; none
    where it names others only. The engine tells whether they help."""
    place = Location("")
    return tuple(
        Change(pointer, value, True, "", result.policy, result.rule, place)
        for pointer in result.fields
        if (value := _value(pointer_steps(pointer))) is not None
    )


def _value(path: Sequence[str]) -> Json:
    if path[-1:] == ("hostPort",) or path[-3:-1] == _ADDED:
        return DELETE
    return next((value for steps, value in _VALUES.items() if path[-2:] == steps), None)

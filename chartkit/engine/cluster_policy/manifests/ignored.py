"""The fields of an object that need not be as they were signed: those that a cluster fills in, as
in Kyverno 1.19 and k8s-manifest-sigstore, and those that a policy excludes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from chartkit.model import Body, Json

_METADATA: Final = (
    "namespace",
    "labels.app.kubernetes.io/instance",
    "managedFields.*",
    "resourceVersion",
    "selfLink",
    "finalizers",
    "creationTimestamp",
    "uid",
    "generation",
    *(
        f"annotations.{name}"
        for name in (
            "control-plane.alpha.kubernetes.io/leader",
            "kubectl.kubernetes.io/last-applied-configuration",
            "namespace",
            "deprecated.daemonset.template.generation",
            "deployment.kubernetes.io/revision",
        )
    ),
)
_SPEC: Final = (
    *(
        f"containers.*.{name}"
        for name in ("imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy")
    ),
    "dnsPolicy",
    "restartPolicy",
    "schedulerName",
    "terminationGracePeriodSeconds",
)
_POLICY: Final = (
    "metadata.annotations.pod-policies.kyverno.io/autogen-controllers",
    "spec.failurePolicy",
    "spec.background",
    "spec.validationFailureAction",
)
_ALWAYS: Final = (
    "status",
    *(f"metadata.{name}" for name in _METADATA),
    *(f"spec.{name}" for name in _SPEC),
)
_BY_KIND: Final[Mapping[str, Sequence[str]]] = {
    "Pod": (
        "spec.volumes.*.name",
        "spec.volumes.*.projected.*",
        "spec.volumes.*.configMap.defaultMode",
        "spec.containers.*.volumeMounts.*",
        "spec.tolerations.*",
        "spec.enableServiceLinks",
        "spec.preemptionPolicy",
        "spec.priority",
        "spec.serviceAccount",
    ),
    "Deployment": (
        "spec.progressDeadlineSeconds",
        "spec.revisionHistoryLimit",
        "spec.strategy.*",
        "spec.template.metadata.creationTimestamp",
        "spec.containers.*.ports.*.protocol",
        "spec.containers.*.resources",
        "spec.securityContext",
    ),
    "CustomResourceDefinition": ("spec.conversion.strategy", "spec.names.listKind"),
    "Service": (
        "spec.ports.*.nodePort",
        "spec.clusterIP",
        "spec.clusterIPs.0",
        "spec.sessionAffinity",
        "spec.type",
        "spec.ipFamilies.*",
        "spec.ipFamilyPolicy",
        "spec.internalTrafficPolicy",
    ),
    "ClusterPolicy": _POLICY,
    "Policy": _POLICY,
    "ServiceAccount": ("secrets.*.name", "imagePullSecrets.*.name"),
}
_SIGNING: Final = ("message", "signature", "certificate", "bundle", "resourceBundleRef")
_PARTS: Final = ("group", "version", "kind", "name", "namespace")


def ignored_fields(body: Body, domain: str, listed: Sequence[Body]) -> Sequence[str]:
    """The fields of an object that are not compared, as beginnings of paths with `*`.

    domain: of the annotations with the signature; listed: `ignoreFields` of the rule.
    """
    reference = _reference(body)
    fields = [f"metadata.annotations.{domain}/{name}" for name in _SIGNING]
    fields += [*_ALWAYS, *_BY_KIND.get(reference["kind"], ())]
    if reference["kind"] == "Route" and reference["group"] == "route.openshift.io":
        fields.append("spec.host")
    for one in listed:
        objects: list[Body] = one.get("objects") or [{}]
        if any(_fits(wanted, reference) for wanted in objects):
            fields += one.get("fields") or ()
    return fields


def _reference(body: Body) -> Mapping[str, str]:
    metadata = body.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    group, _, version = _text(body.get("apiVersion")).rpartition("/")
    return {
        "group": group,
        "version": version,
        "kind": _text(body.get("kind")),
        "name": _text(named.get("name")),
        "namespace": _text(named.get("namespace")),
    }


def _fits(wanted: Body, reference: Mapping[str, str]) -> bool:
    return all(matches(_text(wanted.get(part)), reference[part]) for part in _PARTS)


def matches(pattern: str, value: str) -> bool:
    """`*` at the end stands for any text, `-` for none, and commas part patterns."""
    pattern = pattern.strip()
    if pattern in ("", "*", value) or (pattern == "-" and not value):
        return True
    if pattern.endswith("*"):
        return value.startswith(pattern.rstrip("*"))
    return "," in pattern and any(matches(one, value) for one in pattern.split(","))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""

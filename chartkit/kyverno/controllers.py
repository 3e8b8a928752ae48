"""Kyverno's controllers: their Deployments among rendered objects, their flags and names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.go.strconv import BOOLS
from chartkit.model import Body, Json, Resource, list_of, mapping_at, mappings_at, text_of
from chartkit.schemas import crds

ADMISSION = "admission-controller"


COMPONENT = "app.kubernetes.io/component"


CONTROLLERS = {
    ADMISSION: "admissionController",
    "background-controller": "backgroundController",
    "cleanup-controller": "cleanupController",
    "reports-controller": "reportsController",
}
"""The engine's controllers by component label, and the key of each in the chart's values."""
_FLAG: Final = "allowHTTPInNamespacedPolicies"
_VARIABLE: Final = "FLAG_ENABLE_HTTP_IN_NAMESPACED_POLICIES"
CORE: Final = ""
"""The name of Kubernetes' first group."""
_KINDS: Final = Path(__file__).with_name("kinds.yaml")
_MISGUESSED: Final[Mapping[tuple[str, str], str]] = {
    ("gateway.networking.k8s.io", "Gateway"): "gateways",
    ("networking.istio.io", "Gateway"): "gateways",
}
"""Kinds of others that policies often speak of, and whose plurals are not what Kubernetes would
guess. Source: their definitions."""


@dataclass(frozen=True, slots=True)
class Controller:
    """One of the engine's Deployments and how many replicas it has at least. scaler: the autoscaler
    that decides the number, None where `replicas` does."""

    component: str
    deployment: Resource
    scaler: Resource | None
    replicas: Json

    @property
    def containers(self) -> list[Body]:
        """The containers of its Pods."""
        return mappings_at(self.deployment.body, "spec", "template", "spec", "containers")

    def flag(self, name: str, default: str, alone: str | None = None) -> str:
        """Return the value that the arguments give a flag; alone: of a flag without one, None where
        the next argument is the value."""
        given = (value for container in self.containers for value in _given(container, name, alone))
        return [default, *given][-1]

    @property
    def values_key(self) -> str:
        """The key that decides the number of replicas in the chart's values."""
        controller = CONTROLLERS[self.component]
        return f"{controller}.{'autoscaling.minReplicas' if self.scaler else 'replicas'}"


def controllers(resources: Sequence[Resource]) -> list[Controller]:
    """The engine's controllers among rendered objects; an absent number of replicas is 1."""
    managed = []
    deployments = (resource for resource in resources if resource.kind == "Deployment")
    for deployment in deployments:
        component = labels_of(deployment.body).get(COMPONENT)
        if isinstance(component, str) and component in CONTROLLERS:
            scaler: Resource | None = None
            for scaler_resource in resources:
                target = mapping_at(scaler_resource.body, "spec", "scaleTargetRef")
                if (
                    scaler_resource.kind == "HorizontalPodAutoscaler"
                    and target.get("kind") == "Deployment"
                    and target.get("name") == deployment.name
                    and scaler_resource.namespace == deployment.namespace
                ):
                    scaler = scaler_resource
                    break
            replicas = mapping_at(deployment.body, "spec").get("replicas")
            if scaler is not None:
                replicas = mapping_at(scaler.body, "spec").get("minReplicas")
            managed.append(
                Controller(component, deployment, scaler, 1 if replicas is None else replicas)
            )
    return managed


def labels_of(body: Body) -> Body:
    """Return the labels of an object, or of a template."""
    return mapping_at(body, "metadata", "labels")


def allows_http(resources: Sequence[Resource]) -> bool:
    """Report whether namespaced policies may call services. Every controller that evaluates
    policies must have the flag, or the variable in its place: one without it refuses what the
    others accept."""
    present = controllers(resources)
    return bool(present) and all(any(map(_allows, controller.containers)) for controller in present)


def _allows(container: Body) -> bool:
    flag = _last(_given(container, _FLAG, None))
    if flag is not None:
        return flag
    listed = (entry for entry in mappings_at(container, "env") if entry.get("name") == _VARIABLE)
    return bool(_last(text_of(entry.get("value")) for entry in listed))


def _last(values: Iterable[str]) -> bool | None:
    """Return the last value that Go reads as a boolean; an invalid one after it unsets it."""
    return BOOLS.get(["", *values][-1])


def _given(container: Body, flag: str, alone: str | None) -> Iterator[str]:
    """The values of a flag in a container's arguments, as Go's package `flag` reads them."""
    rest = map(text_of, list_of(container.get("args")))
    for argument in rest:
        name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
        if name == flag and argument.startswith("-"):
            yield value if equals else next(rest, "") if alone is None else alone


@dataclass(frozen=True, slots=True)
class ResourceName:
    """A resource as roles call it; guessed: the kind whose plural is a guess, empty if known."""

    group: str
    resource: str
    guessed: str = ""


@dataclass(frozen=True, slots=True)
class KnownKinds:
    """plurals: the resources by group and kind; groups: the groups of a kind."""

    plurals: Mapping[tuple[str, str], str]
    groups: Mapping[str, tuple[str, ...]]

    def find(self, group: str | None, kind: str) -> list[ResourceName]:
        """The resources of a kind; group None: in whatever group it is. Empty where the group is
        not said and not known."""
        groups = self.groups.get(kind, ()) if group is None else (group,)
        return [self._in_group(candidate, kind) for candidate in groups]

    def _in_group(self, group: str, kind: str) -> ResourceName:
        plural = self.plurals.get((group, kind))
        if plural is not None:
            return ResourceName(group, plural)
        return ResourceName(group, guess_plural(kind), kind)


def guess_plural(kind: str) -> str:
    """The resource of a kind as Kubernetes guesses it; wrong for some, such as `Gateway`."""
    name = kind.lower()
    if name.endswith("endpoints"):
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def known_kinds(definitions: Iterable[Body] = ()) -> KnownKinds:
    """Kubernetes' kinds, Kyverno's, and those that custom resource definitions define with a group,
    kind and plural."""
    own = _own_kinds()
    further: dict[tuple[str, str], str] = {}
    for body in definitions:
        spec, names = mapping_at(body, "spec"), mapping_at(body, "spec", "names")
        group, kind, plural = spec.get("group"), names.get("kind"), names.get("plural")
        if isinstance(group, str) and isinstance(kind, str) and isinstance(plural, str):
            further[group, kind] = plural
    return _indexed({**own.plurals, **further}) if further else own


@cache
def _own_kinds() -> KnownKinds:
    plurals = {
        (CORE if group == "core" else group, kind): guess_plural(kind)
        for group, kinds in read_file(_KINDS)[0].body.items()
        for kind in kinds.split()
    }
    plurals |= {(kind.group, kind.kind): kind.plural for kind in crds.kinds()}
    return _indexed({**_MISGUESSED, **plurals})


def _indexed(plurals: Mapping[tuple[str, str], str]) -> KnownKinds:
    groups: dict[str, tuple[str, ...]] = {}
    for group, kind in plurals:
        groups[kind] = (*groups.get(kind, ()), group)
    return KnownKinds(MappingProxyType(dict(plurals)), MappingProxyType(groups))

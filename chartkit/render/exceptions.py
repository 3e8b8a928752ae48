"""`exceptions` of chartkit.yaml: PolicyExceptions in the kind that fits each policy's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.addon import port
from chartkit.charts.engine.chart import NAMESPACE
from chartkit.charts.policies.installed import InstalledPolicy
from chartkit.engine.cluster_policy.policy import KINDS
from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP, group_of
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Location, Resource, mapping_at, mappings_at
from chartkit.project.environment import Environment
from chartkit.render.model import Outcome, Row
from chartkit.scan.exceptions.model import FiledException, read_files
from chartkit.suggestions import suggestion
from chartkit.wording import abridged

CHECK: Final = "exceptions"
_FEATURE: Final = "policyExceptions"
_ADMISSION: Final = "ValidatingAdmissionPolicy"
_SERVED: Final = ((Version(1, 17), "v1"), (Version(1, 16), "v1beta1"), (Version(1, 14), "v1alpha1"))
"""The API versions of exceptions from policies in CEL by the first Kyverno that serves them."""


@dataclass(frozen=True, slots=True)
class ShippedExceptions:
    """The exceptions of an environment's chart; rows: what is said of them; filed: those of the
    files, each with what the chart has of it."""

    bodies: tuple[Body, ...] = ()
    rows: tuple[Row, ...] = ()
    filed: tuple[FiledException, ...] = ()

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that Kyverno has to read exceptions in."""
        return frozenset(body["metadata"]["namespace"] for body in self.bodies)


def shipped_exceptions(
    environment: Environment, policies: Mapping[str, InstalledPolicy]
) -> ShippedExceptions:
    """Return the exceptions to install in an environment; policies: of its chart, by name. Raises
    InputError for files without exceptions, and for an exception that Kyverno refuses."""
    shipping = _Shipping(environment, policies)
    for resource in read_files(environment.exceptions):
        shipping.add(resource)
    return ShippedExceptions(tuple(shipping.bodies), tuple(shipping.rows), tuple(shipping.filed))


NO_EXCEPTIONS: Final = ShippedExceptions()


def engine_features(exceptions: ShippedExceptions) -> Body:
    """Return the values of the engine's chart by which Kyverno reads exceptions."""
    namespaces = sorted(exceptions.namespaces)
    if not namespaces:
        return {}
    namespace = namespaces[0] if len(namespaces) == 1 else "*"
    return {"features": {_FEATURE: {"enabled": True, "namespace": namespace}}}


def heeded(features: Body, namespace: str) -> bool:
    """Report whether Kyverno reads the exceptions in a namespace; features: of its chart."""
    feature = mapping_at(features, _FEATURE)
    return feature.get("enabled") is True and feature.get("namespace") in (namespace, "*")


class _Shipping:
    """The exceptions of one environment, being put into the kinds of its policies."""

    def __init__(self, environment: Environment, policies: Mapping[str, InstalledPolicy]) -> None:
        self.bodies: list[Body] = []
        self.rows: list[Row] = []
        self.filed: list[FiledException] = []
        self._environment = environment
        self._policies = policies

    def add(self, resource: Resource) -> None:
        """Add an exception in the kinds that its policies have."""
        is_legacy = group_of(resource) == KYVERNO_GROUP
        key, field = ("exceptions", "policyName") if is_legacy else ("policyRefs", "name")
        named = mappings_at(resource.body["spec"], key)
        names = list(dict.fromkeys(str(item.get(field)) for item in named))
        there = [name for name in names if self._is_there(resource, name)]
        made = list(self._legacy(resource, there) if is_legacy else self._cel(resource, there))
        self.bodies += made
        forms = (Resource(body, resource.location) for body in made)
        is_same = [body for body in made if body["spec"] == resource.body["spec"]] == made != []
        self.filed.append(FiledException(resource, (resource,) if is_same else tuple(forms)))
        if made:
            kinds = " and ".join(dict.fromkeys(body["apiVersion"] for body in made))
            message = f"{_shown(resource)} exempts objects from {abridged(there)} ({kinds})"
            self._row(Outcome.NOTE, message, resource.location)

    def _is_there(self, resource: Resource, name: str) -> bool:
        policy = self._policies.get(name)
        if policy is None:
            message = (
                f"{_shown(resource)} exempts from policy '{name}', which the chart does not install"
            )
            hint = suggestion(name, self._policies) or "take it out, or correct the name"
            self._row(Outcome.WARNING, message, resource.location, hint)
            return False
        if policy.kinds == {_ADMISSION}:
            message = (
                f"{_shown(resource)} has no effect on {name}: the API server evaluates a "
                f"{_ADMISSION}, and knows no exceptions"
            )
            hint = f"policies: {{{name}: {{exclude: …}}}}, or another policyType"
            self._row(Outcome.WARNING, message, resource.location, hint)
            return False
        return True

    def _legacy(self, resource: Resource, names: Sequence[str]) -> Iterator[Body]:
        """Yield an exception of kyverno.io as it is, and in CEL for the policies in CEL."""
        if any(self._policies[name].kinds & set(KINDS) for name in names):
            yield _in_namespace(resource.body)
        spec = resource.body["spec"]
        for name in filter(self._cel_objects, names):
            excepted = mappings_at(spec, "exceptions")
            own = [exception for exception in excepted if exception.get("policyName") == name]
            alone = {**resource.body, "spec": {**spec, "exceptions": own}}
            convert = port("migrate", "exceptions", f"to write {_shown(resource)} in CEL")
            documents, reason = convert(
                Resource(alone, resource.location),
                lambda policy: self._policies[policy].body,
                self._cel_objects,
            )
            if reason:
                message = f"{_shown(resource)} cannot be written for {name} in CEL: {reason}"
                hint = "write one of policies.kyverno.io for it, or say policyType: ClusterPolicy"
                self._row(Outcome.FAIL, message, resource.location, hint)
                continue
            for body in documents:
                metadata = {**body["metadata"], "name": f"{body['metadata']['name']}-{name}"[:253]}
                converted = {**body, "apiVersion": self._api_version(), "metadata": metadata}
                yield _in_namespace(converted)

    def _cel(self, resource: Resource, names: Sequence[str]) -> Iterator[Body]:
        """Yield an exception of policies.kyverno.io, with every object of its policies."""
        references: list[Body] = []
        for name in names:
            objects = self._cel_objects(name)
            if not objects:
                message = (
                    f"{_shown(resource)} is for policies in CEL, and {name} comes as "
                    f"{abridged(sorted(self._policies[name].kinds))}"
                )
                hint = "write one of kyverno.io/v2, which becomes either kind"
                self._row(Outcome.FAIL, message, resource.location, hint)
            references += [{"name": own, "kind": kind} for kind, own in objects]
        if references:
            spec = {**resource.body["spec"], "policyRefs": references}
            yield _in_namespace({**resource.body, "apiVersion": self._api_version(), "spec": spec})

    def _cel_objects(self, name: str) -> list[tuple[str, str]]:
        return [
            (kind, name_)
            for kind, name_ in self._policies[name].objects
            if kind not in KINDS and kind != _ADMISSION
        ]

    def _api_version(self) -> str:
        kyverno = self._environment.kyverno
        version = next((text for since, text in _SERVED if kyverno >= since), _SERVED[-1][1])
        return f"policies.kyverno.io/{version}"

    def _row(
        self, outcome: Outcome, message: str, location: Location, hint: str | None = None
    ) -> None:
        self.rows.append(Row(self._environment.name, CHECK, outcome, message, location, hint))


def _in_namespace(body: Body) -> Body:
    metadata = {"namespace": NAMESPACE, **body["metadata"]}
    return {**body, "metadata": metadata}


def _shown(resource: Resource) -> str:
    return f"exception {resource.name}"

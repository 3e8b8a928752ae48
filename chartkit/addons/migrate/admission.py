"""Converted policies as Kubernetes' own: an admission policy with its binding, where it can be.

An API server has no functions of Kyverno, extends nothing to pod controllers and knows no
exceptions: a policy that needs functions or exceptions of Kyverno stays one of Kyverno.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import EVERYWHERE, REPORTED
from chartkit.engine.cel_policies.autogen import extended, mutations_rewritten, of_templates
from chartkit.engine.cel_policies.checks import refused_by_server
from chartkit.engine.cel_policies.policy import CelPolicy, read_cel_policy
from chartkit.engine.kubernetes.kinds import CRON_JOB, NAMESPACED, CelKind
from chartkit.errors import CompileError
from chartkit.kyverno.cel_literals import kyverno_call
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Resource

_GROUP: Final = "admissionregistration.k8s.io"
_STABLE: Final = Version(1, 36)
"""The first Kubernetes that serves MutatingAdmissionPolicy as v1."""
_NATIVE: Final = {
    CelKind.VALIDATING: CelKind.VALIDATING_ADMISSION,
    CelKind.MUTATING: CelKind.MUTATING_ADMISSION,
}
_KEPT: Final = ("failurePolicy", "matchConstraints", "matchConditions", "variables")
_OWN: Final = {
    CelKind.VALIDATING: ("auditAnnotations", "validations"),
    CelKind.MUTATING: ("mutations", "reinvocationPolicy"),
}
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_CRON_JOBS: Final = "cronjobs"


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a conversion.

    kinds: those of Kubernetes that are wanted; version: of the cluster, None where it is not known;
    keeps_deletions: whether new policies judge deletions where rules do that say nothing of
    operations; splits: whether the rules that convert are taken out of a policy of which others
    are left.
    """

    kinds: Collection[CelKind] = ()
    version: Version | None = None
    keeps_deletions: bool = False
    splits: bool = True

    def wants(self, body: Body) -> bool:
        """Report whether a policy is to become one of Kubernetes."""
        return _NATIVE.get(_kind(body)) in self.kinds


KYVERNO: Final = Target()
"""Policies of Kyverno alone."""


def _kind(body: Body) -> CelKind:
    return CelKind(str(body["kind"]).removeprefix(NAMESPACED))


def admission_policies(body: Body, target: Target) -> list[Body]:
    """Return a ValidatingPolicy or MutatingPolicy as policies of Kubernetes with their bindings,
    one more of each for controllers of Pods that Kyverno would extend it to.

    Raises NotConvertible.
    """
    spec: Body = body["spec"]
    call = kyverno_call(body)
    if call is not None:
        raise NotConvertible(f"an API server does not know {call}")
    evaluation: Body = spec.get("evaluation") or {}
    if evaluation.get("admission"):
        raise NotConvertible("an API server has nothing but admission")
    if evaluation.get("mutateExisting"):
        raise NotConvertible("an API server does not change objects that are there")
    policy = read_cel_policy(Resource(body))
    rewrite = mutations_rewritten if policy.kind is CelKind.MUTATING else None
    if of_templates(policy) is not None:
        raise NotConvertible("an API server cannot look for Pod templates in custom workloads")
    policies: list[Body] = []
    for name, spec in [
        (policy.name, policy.spec),
        *((_name(policy, cel_policy), cel_policy.spec) for cel_policy in extended(policy, rewrite)),
    ]:
        policies += _bound({**body, "spec": spec}, name, target)
    for native in policies:
        if native["kind"] not in _NATIVE.values():
            continue
        try:
            faults = refused_by_server(read_cel_policy(Resource(native)))
        except CompileError as error:
            raise NotConvertible(f"an API server would refuse it: {error.message}") from None
        if faults:
            raise NotConvertible(f"an API server would refuse it: {faults[0].message}")
    return policies


def _name(policy: CelPolicy, extension: CelPolicy) -> str:
    rules = extension.spec["matchConstraints"]["resourceRules"]
    is_of_cron_jobs = any(_CRON_JOBS in rule["resources"] for rule in rules)
    prefix = f"autogen-{CRON_JOB.lower()}" if is_of_cron_jobs else "autogen"
    return f"{policy.name}-{prefix}"


def _bound(body: Body, name: str, target: Target) -> Iterator[Body]:
    """Yield an admission policy and its binding."""
    kind, spec = _kind(body), body["spec"]
    native = _NATIVE[kind]
    kept = {key: spec[key] for key in (*_KEPT, *_OWN[kind]) if spec.get(key)}
    binding: Body = {"policyName": name}
    if kind is CelKind.MUTATING:
        kept = {"failurePolicy": "Fail", "reinvocationPolicy": "Never", **kept}
    else:
        binding["validationActions"] = list(spec["validationActions"])
    namespace = body["metadata"].get("namespace")
    if namespace:
        selected = {"matchLabels": {_NAME_LABEL: namespace}}
        binding["matchResources"] = {"namespaceSelector": selected}
    metadata = {key: value for key, value in body["metadata"].items() if key != "namespace"}
    if native is CelKind.VALIDATING_ADMISSION:
        version = "v1"
    else:
        version = "v1" if target.version is not None and target.version >= _STABLE else "v1beta1"
    for named, made in ((str(native), kept), (f"{native}Binding", binding)):
        yield {
            "apiVersion": f"{_GROUP}/{version}",
            "kind": named,
            "metadata": {**metadata, "name": name},
            "spec": made,
        }


def changes_of(body: Body) -> tuple[str, ...]:
    """Return the changes of behaviour of a policy that becomes one of Kubernetes."""
    spec: Body = body["spec"]
    changes = [EVERYWHERE]
    seconds = (spec.get("webhookConfiguration") or {}).get("timeoutSeconds")
    if seconds:
        changes.append(f"there is no webhook, and so no timeout of {seconds} seconds")
    background: Body = (spec.get("evaluation") or {}).get("background") or {}
    if background.get("enabled") is False:
        changes.append(REPORTED)
    return tuple(changes)

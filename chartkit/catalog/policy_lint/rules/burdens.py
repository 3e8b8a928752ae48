"""Policies that lock or burden a cluster: CK74x.

An API server asks Kyverno about the requests that a policy is about, and refuses them while nothing
answers, unless the policy's failure policy is Ignore.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.catalog.policy_lint.rule import Fault, Subject, policy_rule
from chartkit.engine import ENFORCE
from chartkit.engine.cluster_policy.policy import Policy, ResourceFilter, Rule, RuleKind
from chartkit.engine.kubernetes.field_faults import known_kinds
from chartkit.engine.kubernetes.kinds import ADMISSION_KINDS, CelKind, resource_name
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import FieldPath, mapping_at, mappings_at, text_of
from chartkit.schemas.kind_selectors import parse_kind_selector

_ANY: Final = "*"
_WRITES: Final = frozenset({"CREATE", "UPDATE", _ANY})
_NEVER_ASKED: Final = frozenset({*ADMISSION_KINDS, CelKind.DELETING})
"""Kinds that the API server itself evaluates, or that no request is sent for."""
_JOIN: Final = "no Node can join the cluster"
_AUTHENTICATE: Final = "kubelets and API servers cannot authenticate requests"
_AUTHORIZE: Final = "kubelets and API servers cannot authorize requests"
_NEEDED: Final = {
    ("", "Node"): _JOIN,
    ("storage.k8s.io", "CSINode"): _JOIN,
    ("certificates.k8s.io", "CertificateSigningRequest"): _JOIN,
    ("coordination.k8s.io", "Lease"): "controllers lose their Leases, Nodes become unready",
    ("authentication.k8s.io", "TokenReview"): _AUTHENTICATE,
    ("authorization.k8s.io", "SubjectAccessReview"): _AUTHORIZE,
    ("authorization.k8s.io", "LocalSubjectAccessReview"): _AUTHORIZE,
}
"""Groups and kinds that a cluster needs to start, and what comes of it where they are refused
(source: those that Kyverno's flag --excludeBootstrapResources is about, kyverno/kyverno#16397)."""
_PODS: Final = frozenset({"DaemonSet", "Deployment", "Job", "Pod", "StatefulSet"})


@policy_rule("CK740")
def fail_closed(subject: Subject) -> Iterator[Fault]:
    """Policies about everything that fail closed."""
    if _is_fail_closed(subject):
        for asked in _asked_of(subject):
            if asked.is_everything:
                message = (
                    f"{asked.shown}without Kyverno, the API server refuses all objects of all "
                    "kinds: the policy is about everything and fails closed"
                )
                hint = "name the kinds, or set failurePolicy: Ignore"
                yield Fault(asked.path, message, hint)


@policy_rule("CK741")
def bootstrap_kind(subject: Subject) -> Iterator[Fault]:
    """Policies that fail closed on what a cluster needs to start."""
    if _is_fail_closed(subject):
        for asked in _asked_of(subject):
            for (group, kind), outcome in _NEEDED.items():
                if asked.has_served(group, kind):
                    message = (
                        f"{asked.shown}without Kyverno, the API server refuses {kind} objects: "
                        f"{outcome}"
                    )
                    hint = "set failurePolicy: Ignore, or matchConditions of the webhook"
                    yield Fault(asked.path, message, hint)


@policy_rule("CK742")
def mutated_everything(subject: Subject) -> Iterator[Fault]:
    """Mutation of every object of every kind."""
    for asked in _asked_of(subject):
        rule, block = asked.rule, asked.filter
        if rule is None or block is None or not asked.is_everything:
            continue
        if rule.kind is RuleKind.MUTATE and not rule.preconditions and not _is_narrow(block):
            message = f"{asked.shown}patches every object of every kind"
            yield Fault(asked.path, message, "name the kinds, or preconditions")


def _is_narrow(block: ResourceFilter) -> bool:
    named = block.name or block.names or block.namespaces or block.annotations or block.has_user
    return bool(named) or block.selector is not None or block.namespace_selector is not None


@policy_rule("CK743")
def every_subresource(subject: Subject) -> Iterator[Fault]:
    """Policies about all subresources."""
    for asked in _asked_of(subject):
        if asked.name == _ANY and asked.subresource in (_ANY, "status"):
            what = "the status" if asked.subresource == "status" else "all subresources"
            message = (
                f"{asked.shown}'{asked.text}' is about {what} of all kinds: the requests of "
                "kubelets and controllers wait for Kyverno"
            )
            hint = "name the subresources that are meant, such as Pod/exec"
            yield Fault(asked.path, message, hint)


@policy_rule("CK744")
def repeated_call(subject: Subject) -> Iterator[Fault]:
    """Calls of the API server whose answer is the same for each request."""
    for path, rule in subject.rules:
        for at, entry in enumerate(mappings_at(rule.body, "context")):
            call = mapping_at(entry, "apiCall")
            url = text_of(call.get("urlPath"))
            if not url or "{{" in url or call.get("method") == "POST":
                continue
            here = (*path, "context", at, "apiCall", "urlPath")
            message = f"rule {rule.name}: asks the API server for {url} anew for each request"
            hint = "a GlobalContextEntry keeps the answer (globalReference)"
            yield Fault(here, message, hint)


@policy_rule("CK745")
def system_namespaces(subject: Subject) -> Iterator[Fault]:
    """Policies that enforce in the namespaces of the cluster's own components."""
    policy = subject.cluster_policy
    if policy is None or policy.namespace:
        return
    for index, rule in enumerate(policy.rules):
        narrows = any(
            block.namespaces or block.namespace_selector is not None for _, block in rule.filters()
        )
        kinds = {parse_kind_selector(kind).kind for kind in rule.match.kinds}
        action = rule.validate.failure_action or policy.failure_action
        validates = bool(rule.body.get("validate"))
        enforces = validates and action.lower() == ENFORCE.lower() and not _PODS.isdisjoint(kinds)
        if enforces and not narrows:
            message = f"rule {rule.name}: enforces in all namespaces, kube-system among them"
            hint = "exclude kube-system here, or in Kyverno's configuration"
            yield Fault(("spec", "rules", index, "match"), message, hint)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Objects whose writing Kyverno is asked about.

    path: of the selector or resource in the policy; text: as written; group, name, subresource:
    `*` for any; versions: patterns of them; name: a kind of a ClusterPolicy, a resource (`pods`) of
    a policy in CEL; rule, filter: None for a policy in CEL.
    """

    path: FieldPath
    text: str
    group: str
    name: str
    subresource: str
    versions: tuple[str, ...]
    rule: Rule | None = None
    filter: ResourceFilter | None = None

    @property
    def is_everything(self) -> bool:
        """Report whether these are the objects of all kinds."""
        return self.group == self.name == _ANY and self.subresource in ("", _ANY)

    def has_served(self, group: str, kind: str) -> bool:
        """Report whether a kind of Kubernetes' own is among these, in a version that is served."""
        if self.group not in (_ANY, group) or self.name not in (kind, resource_name(kind)):
            return False
        served = (row for row in known_kinds() if (row.group, row.kind) == (group, kind))
        return any(compile_wildcard(text)(row.version) for row in served for text in self.versions)

    @property
    def shown(self) -> str:
        """The beginning of a message: `rule NAME: `, empty for a policy in CEL."""
        return f"rule {self.rule.name}: " if self.rule is not None else ""


def _asked_of(subject: Subject) -> Iterator[_Asked]:
    """Yield what the webhooks of a policy are about, for requests that create or update."""
    policy = subject.cluster_policy
    if policy is not None:
        if policy.admission:
            yield from _of_rules(policy)
        return
    cel = subject.cel_policy
    if cel is not None and cel.kind not in _NEVER_ASKED and cel.admission and not cel.json:
        rules = cel.constraints.rules if cel.constraints is not None else ()
        for index, rule in enumerate(rules):
            if rule.names or not _WRITES.intersection(rule.operations):
                continue
            for number, text in enumerate(rule.resources):
                path = ("spec", "matchConstraints", "resourceRules", index, "resources", number)
                name, _, subresource = text.partition("/")
                for group in rule.groups:
                    yield _Asked(path, text, group, name, subresource, rule.versions)


def _is_fail_closed(subject: Subject) -> bool:
    """Report whether an API server refuses what a policy is about while Kyverno does not answer,
    and no condition of the webhook leaves requests out."""
    spec = mapping_at(subject.resource.body, "spec")
    webhook = mapping_at(spec, "webhookConfiguration")
    policy = webhook.get("failurePolicy") or spec.get("failurePolicy") or "Fail"
    constraints = mapping_at(spec, "matchConstraints")
    narrowing = (
        *(webhook.get("matchConditions"), spec.get("matchConditions")),
        *(constraints.get("namespaceSelector"), constraints.get("objectSelector")),
    )
    return policy == "Fail" and not any(narrowing)


def _of_rules(policy: Policy) -> Iterator[_Asked]:
    for index, rule in enumerate(policy.rules):
        for path, block in rule.filters():
            if path[0] != "match" or not _WRITES.intersection(block.operations or (_ANY,)):
                continue
            for number, text in enumerate(block.kinds):
                selector = parse_kind_selector(text)
                where: FieldPath = ("spec", "rules", index, *path, "resources", "kinds", number)
                group, version, kind, subresource = selector
                yield _Asked(where, text, group, kind, subresource, (version,), rule, block)

"""The requests that an API server sends to Kyverno because of a policy, and refuses without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.catalog.policy_lint.rule import Subject
from chartkit.engine.cluster_policy.policy import Policy, ResourceFilter, Rule
from chartkit.engine.kubernetes.field_faults import known_kinds
from chartkit.engine.kubernetes.kinds import ADMISSION_KINDS, CelKind, resource_name
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import FieldPath, mapping_at
from chartkit.schemas.kind_selectors import parse_kind_selector

ANY: Final = "*"
_WRITES: Final = frozenset({"CREATE", "UPDATE", ANY})
_NEVER_ASKED: Final = frozenset({*ADMISSION_KINDS, CelKind.DELETING})
"""Kinds that the API server itself evaluates, or that no request is sent for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Objects whose writing Kyverno is asked about.

    path: of the selector or resource in the policy; text: as written; group, name, subresource:
    `*` for any; versions: patterns of them; name: a kind of a ClusterPolicy, a resource (`pods`) of
    a policy in CEL; rule: None for a policy in CEL.
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
        return self.group == self.name == ANY and self.subresource in ("", ANY)

    def has_served(self, group: str, kind: str) -> bool:
        """Report whether a kind of Kubernetes' own is among these, in a version that is served."""
        if self.group not in (ANY, group) or self.name not in (kind, resource_name(kind)):
            return False
        served = (each for each in known_kinds() if (each.group, each.kind) == (group, kind))
        return any(
            compile_wildcard(text)(each.version) for each in served for text in self.versions
        )

    @property
    def shown(self) -> str:
        """The beginning of a message: `rule NAME: `, empty for a policy in CEL."""
        return f"rule {self.rule.name}: " if self.rule is not None else ""


def asked_of(subject: Subject) -> Iterator[Asked]:
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
                    yield Asked(path, text, group, name, subresource, rule.versions)


def is_fail_closed(subject: Subject) -> bool:
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


def _of_rules(policy: Policy) -> Iterator[Asked]:
    for index, rule in enumerate(policy.rules):
        for path, each in rule.filters():
            if path[0] != "match" or not _WRITES.intersection(each.operations or (ANY,)):
                continue
            for number, text in enumerate(each.kinds):
                selector = parse_kind_selector(text)
                where: FieldPath = ("spec", "rules", index, *path, "resources", "kinds", number)
                group, version, kind, subresource = selector
                yield Asked(where, text, group, kind, subresource, (version,), rule, each)

"""A webhook of policies, and the types that describe it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.serve.admission.selection import Webhook
from chartkit.engine.cluster_policy.policy import Rule
from chartkit.engine.configuration import NAME_LABEL
from chartkit.engine.kubernetes.kinds import UNKNOWN, CustomNames
from chartkit.model import Body

DOMAIN: Final = "kyverno.svc"
"""The domain of Kyverno's webhooks, for denials to read the same."""
TIMEOUT: Final = 10
LONGEST: Final = 30
"""Seconds: the default, and the most that an API server waits."""
WRITES: Final = ("CREATE", "UPDATE")
ALL: Final = (*WRITES, "DELETE", "CONNECT")
_LISTS: Final = ("apiGroups", "apiVersions", "resources", "operations")


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a cluster that webhooks cover, and what is known of it.

    namespaces: the selector of Kyverno's configuration; names: of the custom kinds that are known;
    in_background: whether to ask for generation and the mutation of objects that exist, as Kyverno
    does; judges_writes: whether a rule that names no operation is to name CREATE and UPDATE.
    """

    namespaces: Body = field(default_factory=dict)
    names: CustomNames = UNKNOWN
    in_background: bool = False
    judges_writes: Callable[[Rule], bool] = lambda _rule: False


def other_namespaces(excluded: Sequence[str]) -> Body:
    """Return the selector of all namespaces but some."""
    if not excluded:
        return {}
    operator = {"key": NAME_LABEL, "operator": "NotIn", "values": list(excluded)}
    return {"matchExpressions": [operator]}


@dataclass(frozen=True, slots=True)
class PolicyWebhook:
    """A webhook of policies. path: of its server; policies: their keys; namespaces, objects:
    selectors; settings: its further fields."""

    name: str
    path: str
    side: Webhook
    failure: str
    policies: Sequence[str]
    rules: list[Body]
    namespaces: Body
    objects: Body = field(default_factory=dict)
    settings: Body = field(default_factory=dict)


def sorted_rules(rules: Iterable[Body]) -> list[Body]:
    """Return rules as Kyverno's controller writes them: sorted, each once."""
    found = {
        (*(tuple(sorted(rule.get(key) or ())) for key in _LISTS), str(rule.get("scope") or "*"))
        for rule in rules
    }
    ordered = sorted(found, key=lambda rule: ([(len(each), each) for each in rule[:-1]], rule[-1]))
    return [
        {**{key: [*each] for key, each in zip(_LISTS, rule, strict=False)}, "scope": rule[-1]}
        for rule in ordered
    ]

"""The risk of a change, by a table of rules, each a function of one changed object."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import Final

from chartkit.model import Body, Json, mapping_at, mappings_at, texts_of
from chartkit.render.compare import policy_risks
from chartkit.render.compare.fields import ABSENT, ObjectChange, What
from chartkit.render.compare.policy_risks import (
    is_form_change,
    is_policy,
    newly,
    refuses,
    stronger,
    weaker,
)
from chartkit.wording import abridged

_RBAC: Final = "rbac.authorization.k8s.io"
_WORKLOADS: Final = ("", "apps", "batch")
_SHOWN: Final = 3
_FILTER: Final = re.compile(r"\[[^\[\]]*\]")
_FILTERS: Final = (
    "resourceFilters",
    "excludeGroups",
    "excludeUsernames",
    "excludeRoles",
    "webhooks",
)
"""The keys of Kyverno's ConfigMap by which it is sent less."""
_SAFE: Final[dict[str, Json]] = {
    "privileged": False,
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "readOnlyRootFilesystem": True,
    "hostNetwork": False,
    "hostPID": False,
    "hostIPC": False,
}
_ANY = "*"


class Level(IntEnum):
    """The level of risk; low if nothing that runs is affected and nothing else is refused."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Risk:
    """The risk of a change, and the reason."""

    level: Level
    reason: str


Rule = Callable[[ObjectChange], Iterator[Risk]]


def risk(change: ObjectChange) -> Risk:
    """Return the highest risk of a change, with the reasons of all rules, the highest first; the
    reason is empty if there are none."""
    risks = [item for rule in RULES for item in rule(change)]
    if not risks:
        is_about_it = change.what is What.CHANGED and all(
            field.path[:2] in (("metadata", "labels"), ("metadata", "annotations"))
            for field in change.fields
        )
        is_low = change.what is What.ADDED or is_about_it
        return Risk(Level.LOW if is_low else Level.MEDIUM, "")
    risks.sort(key=lambda item: -item.level)
    reasons = dict.fromkeys(item.reason for item in risks)
    return Risk(risks[0].level, "; ".join(reasons))


def policies(change: ObjectChange) -> Iterator[Risk]:
    """Rate a policy that begins or ceases to refuse, matches fewer objects, or is removed."""
    if not is_policy(change):
        return
    begins = newly(change)
    if begins:
        yield Risk(Level.HIGH, begins)
    if change.what is What.REMOVED and refuses(change.before):
        yield Risk(Level.HIGH, "a policy that refuses goes")
    if change.what is not What.CHANGED:
        return
    if is_form_change(change):
        kinds = change.fields[0]
        level = Level.LOW
        if refuses(change.before) and not refuses(change.after):
            yield Risk(Level.MEDIUM, "no longer refuses: reports only what it refused before")
        elif refuses(change.before) and kinds.after == "ValidatingAdmissionPolicy":
            level = Level.MEDIUM
        yield Risk(level, f"{kinds.before} becomes {kinds.after}")
        return
    yield from (Risk(Level.HIGH, text) for text in stronger(change))
    weakened = list(weaker(change))
    yield from (Risk(Level.MEDIUM, text) for text in weakened)
    judges = any(field.path[0] == "spec" for field in change.fields)
    if refuses(change.before) and refuses(change.after) and judges and not weakened:
        yield Risk(Level.MEDIUM, "a policy that refuses judges otherwise")


def exceptions(change: ObjectChange) -> Iterator[Risk]:
    """Rate an exception that is added or whose spec changes: it exempts objects from policies."""
    is_other = change.before is None or any(field.path[0] == "spec" for field in change.fields)
    if change.identity.kind == "PolicyException" and change.after is not None and is_other:
        spec = mapping_at(change.after, "spec")
        names = [str(exception.get("policyName")) for exception in mappings_at(spec, "exceptions")]
        names += [str(mapping.get("name")) for mapping in mappings_at(spec, "policyRefs")]
        verb = "exempts" if change.what is What.ADDED else "now exempts other"
        yield Risk(Level.MEDIUM, f"{verb} objects from {', '.join(dict.fromkeys(names))}")


def filters(change: ObjectChange) -> Iterator[Risk]:
    """Rate a change of what Kyverno is sent: no policy judges the rest."""
    if change.identity.kind != "ConfigMap" or change.identity.group:
        return
    for field in change.fields:
        if field.path[0] == "data" and field.path[-1] in _FILTERS:
            before, after = (str(value) for value in (field.before, field.after))
            new = sorted(set(_FILTER.findall(after)) - set(_FILTER.findall(before)))
            text = f"Kyverno is not sent {', '.join(new[:_SHOWN])} any more"
            if field.path[-1] != "resourceFilters":
                text = f"Kyverno is sent other requests ({field.path[-1]})"
            if new or field.path[-1] != "resourceFilters":
                yield Risk(Level.MEDIUM, text)


def generators(change: ObjectChange) -> Iterator[Risk]:
    """Rate the removal of a generating policy or rule: its objects are deleted or orphaned."""
    if is_policy(change) and change.before is not None:
        reason = policy_risks.lost(change.before, change.after)
        if reason is not None:
            yield Risk(Level.HIGH if reason == policy_risks.DELETED else Level.MEDIUM, reason)


def replicas(change: ObjectChange) -> Iterator[Risk]:
    """Rate another number of replicas, which defaults to one."""
    for field in change.fields:
        if field.path == ("spec", "replicas"):
            before, after = (_number(value, 1) for value in (field.before, field.after))
            way, level = ("down", Level.HIGH) if after < before else ("up", Level.LOW)
            text = f"replicas go {way} from {before:g} to {after:g}"
            yield Risk(level, text if after else "no replica runs")


def roles(change: ObjectChange) -> Iterator[Risk]:
    """Rate a role that allows more, or a binding with more subjects or another role."""
    kind = change.identity.kind
    if change.identity.group != _RBAC:
        return
    if kind in ("Role", "ClusterRole"):
        old, new = grants(change.before or {}), grants(change.after or {})
        more = sorted(grant for grant in new if not any(other.covers(grant) for other in old))
        if more:
            yield Risk(Level.HIGH, f"allows to {abridged(list(map(str, more)), _SHOWN)}")
        elif old != new:
            yield Risk(Level.MEDIUM, "allows less")
    elif kind in ("RoleBinding", "ClusterRoleBinding"):
        before, after = (_subjects(body) for body in (change.before, change.after))
        role = mapping_at(change.after, "roleRef").get("name")
        for subject in sorted(after - before):
            yield Risk(Level.HIGH, f"gives {role} to {subject}")
        if any(field.path[0] == "roleRef" for field in change.fields):
            yield Risk(Level.HIGH, "binds another role; Kubernetes wants it deleted first")


def _subjects(body: Body | None) -> set[str]:
    return {
        f"{item.get('kind')} {item.get('namespace') or ''}/{item.get('name')}".replace(" /", " ")
        for item in mappings_at(body, "subjects")
    }


def webhooks(change: ObjectChange) -> Iterator[Risk]:
    """Rate a failure policy that blocks requests while the webhook does not answer."""
    for field in change.fields:
        is_set = field.path[-1] == "failurePolicy" and "webhookConfiguration" not in field.path
        if is_set and field.after in ("Fail", ABSENT):
            yield Risk(Level.HIGH, "requests are refused while its webhook does not answer")
    kind = change.identity.kind
    if change.what is What.ADDED and kind.endswith("WebhookConfiguration"):
        yield Risk(Level.HIGH, "a new webhook sees requests")


def definitions(change: ObjectChange) -> Iterator[Risk]:
    """Rate the removal of a definition or of one of its versions, with all objects of it."""
    if change.identity.kind != "CustomResourceDefinition":
        return
    if change.what is What.REMOVED:
        yield Risk(Level.HIGH, "all objects of this kind are deleted with it")
    before, after = (_versions(body) for body in (change.before, change.after))
    gone = sorted(before - after)
    if change.what is What.CHANGED and gone:
        yield Risk(Level.HIGH, f"no longer serves {', '.join(gone)}")


def _versions(body: Body | None) -> set[str]:
    versions = mappings_at(body, "spec", "versions")
    return {str(version.get("name")) for version in versions if version.get("served")}


def availability(change: ObjectChange) -> Iterator[Risk]:
    """Rate a disruption budget that is removed or allows less, and the removal of a namespace."""
    kind = change.identity.kind
    if kind == "Namespace" and change.what is What.REMOVED:
        yield Risk(Level.HIGH, "everything in the namespace goes with it")
    if kind == "PodDisruptionBudget" and change.what is not What.ADDED:
        yield Risk(Level.MEDIUM, "evictions are allowed otherwise")


def containers(change: ObjectChange) -> Iterator[Risk]:
    """Rate another image, and a weaker security context."""
    if change.identity.group not in _WORKLOADS:
        return
    for field in change.fields:
        named = field.path[-1] == "image" and any("ontainers" in str(step) for step in field.path)
        is_image = named and ABSENT not in (field.before, field.after)
        if is_image:
            yield Risk(Level.MEDIUM, f"runs {field.after} instead of {field.before}")
        key = str(field.path[-1])
        is_unset = field.after is ABSENT
        weakens = key == "securityContext" and is_unset
        if key in _SAFE and field.after != _SAFE[key]:
            unset_is_safe = key in ("privileged", "hostNetwork", "hostPID", "hostIPC")
            weakens = not (unset_is_safe and is_unset)
        if weakens:
            yield Risk(Level.HIGH, f"{field.name} is weaker")


def _number(value: Json, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


RULES: Final[Sequence[Rule]] = (
    policies,
    exceptions,
    filters,
    generators,
    replicas,
    roles,
    webhooks,
    definitions,
    availability,
    containers,
)
"""All rules; each returns no risk for objects that it does not know."""


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One permission of a rule; resource: a path that begins with `/` for a URL; name: empty for
    every object. `*` matches everything."""

    verb: str
    group: str
    resource: str
    name: str

    def __str__(self) -> str:
        where = f" of {self.group}" if self.group else ""
        named = f" '{self.name}'" if self.name else ""
        what = "everything" if self.resource == _ANY else self.resource
        verb = "do anything with" if self.verb == _ANY else self.verb
        return f"{verb} {what}{named}{where if self.group != _ANY else ' of any group'}"

    def covers(self, other: Grant) -> bool:
        """Report whether this permission includes another one."""
        return (
            self.verb in (_ANY, other.verb)
            and self.group in (_ANY, other.group)
            and _covers(self.resource, other.resource)
            and self.name in ("", other.name)
        )


def grants(role: Body) -> frozenset[Grant]:
    """Return the permissions of a Role or ClusterRole itself, without aggregated ones."""
    permissions: set[Grant] = set()
    for rule in mappings_at(role, "rules"):
        verbs = texts_of(rule.get("verbs"))
        groups, resources = texts_of(rule.get("apiGroups")), texts_of(rule.get("resources"))
        names = texts_of(rule.get("resourceNames")) or [""]
        for verb, group, resource, name in product(verbs, groups, resources, names):
            permissions.add(Grant(verb, group, resource, name))
        for verb, url in product(verbs, texts_of(rule.get("nonResourceURLs"))):
            permissions.add(Grant(verb, "", url if url.startswith("/") else f"/{url}", ""))
    return frozenset(permissions)


def _covers(resource: str, other: str) -> bool:
    if resource == other:
        return True
    if resource.startswith("/") or other.startswith("/"):
        return resource.endswith("*") and other.startswith(resource[:-1])
    # `*` covers sub-resources too, `*/scale` and `pods/*` are what they say.
    if resource == _ANY:
        return True
    kind, _, sub = resource.partition("/")
    other_kind, _, other_sub = other.partition("/")
    return bool(sub) and kind in (_ANY, other_kind) and sub in (_ANY, other_sub) and bool(other_sub)

"""The permissions of RBAC rules as comparable sets: a role is widened if it gains one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from chartkit.model import Body, mappings_at, texts_of

_ANY = "*"


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
        """Return whether this permission includes another one."""
        return (
            self.verb in (_ANY, other.verb)
            and self.group in (_ANY, other.group)
            and _covers(self.resource, other.resource)
            and self.name in ("", other.name)
        )


def grants(role: Body) -> frozenset[Grant]:
    """Return the permissions of a Role or ClusterRole itself, without aggregated ones."""
    return frozenset(grant for rule in mappings_at(role, "rules") for grant in _of(rule))


def widened(before: Body, after: Body) -> list[Grant]:
    """Return the permissions that only the later role has, in order."""
    old = grants(before)
    return sorted(each for each in grants(after) if not any(grant.covers(each) for grant in old))


def _of(rule: Body) -> Iterator[Grant]:
    verbs = texts_of(rule.get("verbs"))
    groups, resources = texts_of(rule.get("apiGroups")), texts_of(rule.get("resources"))
    names = texts_of(rule.get("resourceNames")) or [""]
    for verb, group, resource, name in product(verbs, groups, resources, names):
        yield Grant(verb, group, resource, name)
    for verb, url in product(verbs, texts_of(rule.get("nonResourceURLs"))):
        yield Grant(verb, "", url if url.startswith("/") else f"/{url}", "")


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

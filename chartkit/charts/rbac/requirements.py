"""The needs of a policy: the types, and how findings are collected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Final

from chartkit.charts.engine.controllers import describe
from chartkit.kyverno.controllers import CORE, KnownKinds, ResourceName
from chartkit.model import Body, FieldPath, Json, text_of

VARIABLE: Final = "{{"
"""The start of Kyverno's variables."""
SECRETS: Final = ResourceName(CORE, "secrets")
SECRETS_NOTE: Final = (
    "its background scan needs to read Secrets, which the chart does not open: where that is "
    "wanted, give it to Kyverno's reports controller"
)
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9./]{0,251}[A-Za-z0-9])?")
"""A resource and its group; anything else is not a name, and must not get into a role."""
_CONNECTING: Final = frozenset({"exec", "attach", "portforward", "proxy"})
"""Subresources to which reading connects: a GET of `pods/exec` runs commands."""
RBAC_GROUP: Final = "rbac.authorization.k8s.io"
RBAC_NOTE: Final = (
    "Kubernetes lets a controller give away only rights that it has itself: for the role that is "
    "bound or made here, give Kyverno's background controller the verb bind or escalate"
)
READ: Final = frozenset({"get", "list", "watch"})


class Controller(StrEnum):
    """Kyverno's controllers, as their roles' labels name them."""

    ADMISSION = "admission-controller"
    BACKGROUND = "background-controller"
    CLEANUP = "cleanup-controller"
    REPORTS = "reports-controller"


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission that a controller needs.

    resource: with its subresource, as roles write it; scan: whether only background scans need it;
    guessed: the kind whose plural is Kubernetes' guess, empty where the name is known.
    """

    controller: Controller
    group: str
    resource: str
    verbs: tuple[str, ...]
    scan: bool = False
    guessed: str = ""


@dataclass(frozen=True, slots=True, order=True)
class ConfigMapRead:
    """A ConfigMap that a policy reads; namespace: empty where the policy does not say it."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A need that is unknown, or left to people: why, and where in the policy."""

    message: str
    path: FieldPath


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of policies. permissions: beyond what Kyverno's chart gives; config_maps,
    global_entries (by name): what they read; unknown: what they need without saying it plainly."""

    permissions: tuple[Permission, ...] = ()
    config_maps: tuple[ConfigMapRead, ...] = ()
    global_entries: tuple[str, ...] = ()
    unknown: tuple[Unknown, ...] = ()


@dataclass(slots=True)
class Findings:
    """Needs while they are collected.

    kinds: what is known of resources' names; verbs: by controller, group, resource and whether only
    scans need them; guesses: the kinds of resources whose names are guesses, by group and resource.
    """

    kinds: KnownKinds
    verbs: dict[tuple[Controller, str, str, bool], set[str]] = field(default_factory=dict)
    guesses: dict[tuple[str, str], str] = field(default_factory=dict)
    config_maps: set[ConfigMapRead] = field(default_factory=set)
    global_entries: set[str] = field(default_factory=set)
    unknown: dict[Unknown, None] = field(default_factory=dict)

    def allow(
        self,
        controllers: Iterable[Controller],
        resources: Iterable[ResourceName],
        verbs: Iterable[str],
        scan: bool = False,
    ) -> None:
        """Controllers need verbs on resources. What a scan alone asks for never opens Secrets, and
        nothing opens what one connects to, or resources that are not named: that is for people to
        decide."""
        allowed = set(verbs)
        for resource in resources:
            part = resource.resource.partition("/")[2]
            shown = f"{resource.resource}.{resource.group}".removesuffix(".")
            if part in _CONNECTING or not _NAME.fullmatch(shown):
                self.note(f"the chart does not open {shown}", ())
                continue
            if scan and resource == SECRETS:
                self.note(SECRETS_NOTE, ())
                continue
            # A policy that names the resource itself confirms another's guess.
            at = resource.group, resource.resource
            self.guesses[at] = resource.guessed and self.guesses.get(at, resource.guessed)
            for controller in controllers:
                self.verbs.setdefault((controller, *at, scan), set()).update(allowed)

    def note(self, message: str, path: FieldPath) -> None:
        """Something cannot be known."""
        self.unknown.setdefault(Unknown(message, path))

    def named(self, group: str | None, kind: str, path: FieldPath) -> list[ResourceName]:
        """The resources of a kind; group None: whatever group it is in. Notes what is unknown."""
        for text in (group or "", kind):
            if VARIABLE in text:
                self.note(f"a variable says which resource: '{text}'", path)
                return []
        if "*" in kind or "?" in kind:
            self.note(f"'{kind}' matches kinds that are not named", path)
            return []
        if not _KIND.fullmatch(kind):
            self.note(f"'{kind}' is not a kind", path)
            return []
        names = self.kinds.find(None if group is not None and "*" in group else group, kind)
        if not names:
            self.note(f"no group is known for kind '{kind}'", path)
        return names

    def reads_config_map(self, namespace: Json, name: Json, path: FieldPath) -> None:
        """A policy reads a ConfigMap."""
        texts = [text_of(value) for value in (namespace, name)]
        if VARIABLE in texts[0] or VARIABLE in texts[1] or not texts[1]:
            self.note(f"a variable says which ConfigMap: '{texts[0]}/{texts[1]}'", path)
        else:
            self.config_maps.add(ConfigMapRead(*texts))


def subresource(names: Iterable[ResourceName], part: str) -> list[ResourceName]:
    """A part of resources, as `status`; without a part the resources themselves."""
    if not part:
        return list(names)
    return [ResourceName(name.group, f"{name.resource}/{part}", name.guessed) for name in names]


@cache
def granted(controller: Controller) -> Mapping[tuple[str, str], frozenset[str]]:
    """Return the verbs that a controller of the engine's chart has by (group, resource). They are
    what `sources/kyverno/controllers.yaml` says, as in Kyverno's own chart, and the role `view`.
    Rules for single objects, or under a condition of the chart's values, do not count."""
    source = describe()
    (description,) = (
        entry for entry in source["controllers"] if entry["component"] == controller.value
    )
    grants: dict[tuple[str, str], frozenset[str]] = {}
    if description["view"]:
        for group, resources in source["viewRole"].items():
            name = "" if group == "core" else group
            grants |= {(name, resource): READ for resource in resources.split()}
    for rule in description["clusterRole"]:
        if not rule["when"] and not rule["names"]:
            _add(grants, rule["groups"], rule)
    for rule in description["extraResources"]:
        _add(grants, rule["apiGroups"], rule)
    return MappingProxyType(grants)


def _add(grants: dict[tuple[str, str], frozenset[str]], groups: list[str], rule: Body) -> None:
    for group in groups:
        for resource in rule["resources"]:
            has = grants.get((group, resource), frozenset())
            grants[group, resource] = has | frozenset(rule["verbs"])

"""From kinds to resources: what roles call what policies name by its kind.

Roles know groups and plural names; policies know kinds, often without a group. Kubernetes' own
kinds and Kyverno's are known here, others where their definitions are given. For the rest stands
Kubernetes' own guess (`meta.UnsafeGuessKindToResource`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.model import Body, mapping_at
from chartkit.schemas import crds

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
class ResourceName:
    """A resource as roles call it; guessed: the kind whose plural is a guess, empty where it is
    known."""

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
        return [self._in_group(each, kind) for each in groups]

    def _in_group(self, group: str, kind: str) -> ResourceName:
        known = self.plurals.get((group, kind))
        if known is not None:
            return ResourceName(group, known)
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
    """Kubernetes' kinds, Kyverno's, and those that custom resource definitions define."""
    own = _own_kinds()
    further = dict(_defined(definitions))
    if not further:
        return own
    return _indexed({**own.plurals, **further})


@cache
def _own_kinds() -> KnownKinds:
    plurals = {
        (CORE if group == "core" else group, kind): guess_plural(kind)
        for group, kinds in read_file(_KINDS)[0].body.items()
        for kind in kinds.split()
    }
    plurals |= {(each.group, each.kind): each.plural for each in crds.kinds()}
    return _indexed({**_MISGUESSED, **plurals})


def _indexed(plurals: Mapping[tuple[str, str], str]) -> KnownKinds:
    groups: dict[str, tuple[str, ...]] = {}
    for group, kind in plurals:
        groups[kind] = (*groups.get(kind, ()), group)
    return KnownKinds(MappingProxyType(dict(plurals)), MappingProxyType(groups))


def _defined(definitions: Iterable[Body]) -> Iterable[tuple[tuple[str, str], str]]:
    """Return the kinds of custom resource definitions; one without a group, kind and plural has
    none."""
    for body in definitions:
        spec, names = mapping_at(body, "spec"), mapping_at(body, "spec", "names")
        group, kind, plural = spec.get("group"), names.get("kind"), names.get("plural")
        if isinstance(group, str) and isinstance(kind, str) and isinstance(plural, str):
            yield (group, kind), plural

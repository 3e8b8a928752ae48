"""The built-in kinds that a rule about resources matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Final

from chartkit.engine.cel.checker import UndefinedField, undefined_fields
from chartkit.engine.cel.declarations import Environment, StructType, Variable
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.library.kubernetes.admission import declared
from chartkit.engine.cel.types import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    Type,
    TypeKind,
    list_of,
    map_of,
    struct,
)
from chartkit.engine.kubernetes.field_faults import LIST, MAP, fields_of, known_kinds, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version, resource_name
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Diagnostic, Severity

MOST_KINDS: Final = 10
"""An API server checks an expression against so many kinds at most."""

_ANY: Final = "*"


def kinds_matched(
    groups: Sequence[str], versions: Sequence[str], resources: Sequence[str]
) -> tuple[GroupVersionKind, ...]:
    """The kinds that a rule names, by group, version and kind; at most `MOST_KINDS`.

    As an API server does it: a rule with a wildcard among its groups or versions names none, and
    resources with a wildcard and subresources are passed over.
    """
    if any(_ANY in name for name in (*groups, *versions)):
        return ()
    kinds: set[GroupVersionKind] = set()
    for group in sorted(groups):
        for version in sorted(versions):
            for resource in sorted(resources):
                kind = _by_resource().get((group, version, resource))
                if kind is not None and len(kinds) < MOST_KINDS:
                    kinds.add(kind)
    return tuple(sorted(kinds))


def own_kind(api_version: str, resource: str) -> GroupVersionKind | None:
    """The kind of a resource (`pods`) where it is one of Kubernetes' own, None for any other."""
    return _by_resource().get((*parse_api_version(api_version), resource))


@cache
def _by_resource() -> Mapping[tuple[str, str, str], GroupVersionKind]:
    return {(kind.group, kind.version, resource_name(kind.kind)): kind for kind in known_kinds()}


_SCALARS: Final = {str(each): each for each in (BOOL, DOUBLE, DYN, INT, STRING)} | {
    "quantity": DYN,
    "int-or-string": DYN,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind's type and every type that is reached from it."""

    type: Type
    structs: tuple[StructType, ...]


@cache
def shape_of(kind: GroupVersionKind) -> Shape | None:
    """The shape of one of Kubernetes' own kinds; None for any other."""
    name = type_of_kind(kind)
    if name is None:
        return None
    structs: dict[str, StructType] = {}
    waiting = [name]
    while waiting:
        below = waiting.pop()
        if below not in structs:
            structs[below] = _struct(below)
            names = []
            for type_ in (structs[below].fields or {}).values():
                inner = type_
                while inner.parameters:
                    inner = inner.parameters[-1]
                if inner.kind is TypeKind.STRUCT:
                    names.append(inner.name)
            waiting += names
    return Shape(struct(name), tuple(structs.values()))


@cache
def _struct(name: str) -> StructType:
    fields = {field: _type(entry.type) for field, entry in fields_of(name).items()}
    return declared(struct(name), fields)


def _type(text: str) -> Type:
    if text.startswith(LIST):
        return list_of(_type(text.removeprefix(LIST)))
    if text.startswith(MAP):
        return map_of(STRING, _type(text.removeprefix(MAP)))
    return _SCALARS.get(text) or struct(text)


RULE_ID: Final = "cel-types"

_OBJECTS: Final = ("object", "oldObject")


@dataclass(frozen=True, slots=True)
class KindIssues:
    """The fields that an expression names and one kind does not have."""

    kind: GroupVersionKind
    issues: tuple[UndefinedField, ...]

    def diagnostics(self) -> list[Diagnostic]:
        """One warning an issue, with the field that was perhaps meant as its hint."""
        return [
            Diagnostic(
                RULE_ID,
                Severity.WARNING,
                f"{self.kind.group}/{self.kind.version}, Kind={self.kind.kind}: {issue.message}",
                hint=issue.suggestion and f"did you mean '{issue.suggestion}'?",
            )
            for issue in self.issues
        ]


def misspelt(program: Program, kinds: Iterable[GroupVersionKind]) -> tuple[KindIssues, ...]:
    """The fields of `object` and `oldObject` that a kind does not have, for each of some kinds.

    Kinds that are not known are passed over.
    """
    if not any(name in program.source for name in _OBJECTS):
        return ()
    by_kind = ((kind, _undefined(program, kind)) for kind in kinds)
    return tuple(KindIssues(kind, issues) for kind, issues in by_kind if issues)


@lru_cache(maxsize=4096)
def _undefined(program: Program, kind: GroupVersionKind) -> tuple[UndefinedField, ...]:
    """Return the fields that the program's own environment does not check."""
    environment = _typed(program.environment, kind)
    return () if environment is None else undefined_fields(program.checked.parsed, environment)


@lru_cache(maxsize=512)
def _typed(environment: Environment, kind: GroupVersionKind) -> Environment | None:
    """The environment with `object` and `oldObject`, where it has them, of the kind's type; None
    for a kind that is not known."""
    shape = shape_of(kind)
    if shape is None:
        return None
    variables = {name: Variable(shape.type) for name in _OBJECTS if name in environment.variables}
    return environment.extend(variables, structs=shape.structs)


_LIKE: Final = 0.8
"""The share of equal letters from which on a name is not a custom kind: `Cluster` is one, beside
`ClusterRole`."""
_SAME_WORD: Final = 0.6
"""The share of equal letters from which on a word is another one, misspelt."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+")
_NONE: Final = (0.0, "")


def meant_kind(group: str, kind: str) -> str | None:
    """Return the kind that a misspelt name probably means in a group; None for a kind of the group,
    a name like none of its kinds, and groups that are not Kubernetes' own. `*`: any group."""
    return _meant(kind, [other.kind for other in known_kinds() if group in ("*", other.group)])


@lru_cache(maxsize=1024)
def meant_resource(groups: tuple[str, ...], resource: str) -> str | None:
    """Return the resource (`pods`) that a misspelt name probably means in some groups."""
    resources = [resource_name(kind.kind) for kind in known_kinds() if kind.group in groups]
    return _meant(resource, resources)


SETTLED: Final = frozenset(
    ("", "apps", "autoscaling", "batch", "extensions", "networking.k8s.io", "policy")
) | {"rbac.authorization.k8s.io"}
"""Groups with exactly the table's kinds and versions in every release of Kubernetes."""
_YOUNG: Final = frozenset(("IPAddress", "ServiceCIDR"))


def served_elsewhere(
    groups: tuple[str, ...], versions: tuple[str, ...], is_meant: Callable[[GroupVersionKind], bool]
) -> str:
    """Return where one of Kubernetes' own kinds is, such as `apps/v1`, for groups and versions in
    which no API server has it; empty where one has, and for groups that may have others."""
    own = [kind for kind in known_kinds() if kind.kind not in _YOUNG and is_meant(kind)]
    # The group of a custom kind has a dot.
    if not all(group in SETTLED or group.isalpha() for group in groups):
        return ""
    fits = [compile_wildcard(version) for version in versions]
    if any(kind.group in groups and any(fit(kind.version) for fit in fits) for kind in own):
        return ""
    return ", ".join("/".join(filter(None, kind[:2])) for kind in own)


@lru_cache(maxsize=1024)
def kinds_called(resource: str) -> tuple[GroupVersionKind, ...]:
    """Return Kubernetes' own kinds of a resource (`pods`), of any group."""
    return tuple(kind for kind in known_kinds() if resource_name(kind.kind) == resource)


def _meant(name: str, names: list[str]) -> str | None:
    if name in names or "*" in name or "?" in name:
        return None
    ratio, meant = max(
        ((_ratio(name.lower(), other.lower()), other) for other in names), default=_NONE
    )
    return meant if ratio >= _LIKE and not _differ_in_words(name, meant) else None


def _differ_in_words(name: str, other: str) -> bool:
    """Report whether two names of kinds differ in a whole word, as names of custom kinds do:
    `CiliumNetworkPolicy`, `VerticalPodAutoscaler`."""
    words, others = (_WORD.findall(text) for text in (name, other))
    if len(words) == len(others):
        pairs = zip(words, others, strict=True)
        return any(_ratio(one.lower(), two.lower(), _SAME_WORD) < _SAME_WORD for one, two in pairs)
    shorter, longer = sorted((words, others), key=len)
    rest = iter(longer)
    return all(word in rest for word in shorter)


def _ratio(name: str, other: str, least: float = _LIKE) -> float:
    """The share of equal letters; 0 if it is below the minimum."""
    if 2 * min(len(name), len(other)) < least * (len(name) + len(other)):
        return 0.0
    matcher = SequenceMatcher(None, name, other)
    return matcher.ratio() if matcher.quick_ratio() >= least else 0.0

"""Kinds and their types: the type at a path, and the least object of a kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from typing import Final

from chartkit.addons.migrate.proof.leaves.paths import EACH, Path, Step
from chartkit.documents.reader import parse_yaml
from chartkit.engine.cel.shapes import own_kind
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.kubernetes.field_faults import (
    Field,
    fields_of,
    known_kinds,
    read_fields,
    type_of_kind,
)
from chartkit.engine.kubernetes.kinds import (
    CONTROLLERS,
    DEFAULT_NAMESPACE,
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
    resource_name,
)
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Body, Json, mapping_at
from chartkit.schemas.kind_selectors import parse_kind_selector

LIST: Final = "[]"
MAP: Final = "{}"
ANY: Final = "dyn"
SCALARS: Final = frozenset(("string", "int", "double", "bool", "quantity", "int-or-string", ANY))
_SAMPLES: Final[dict[str, Json]] = {
    "string": "x",
    "int": 1,
    "double": 1,
    "bool": False,
    "quantity": "1",
    "int-or-string": 80,
    ANY: {},
}
_TABLE: Final = parse_yaml((File(__file__).parent / "kinds.yaml").read_text("utf-8"))


_ALTERNATIVES: Final = frozenset(
    f"core.v1.{name}" for name in ("EnvVarSource", "LifecycleHandler", "Volume", "VolumeProjection")
)
"""Types of which an object has one of the fields that are not required."""

IMAGE_TYPE: Final = "registry.Image"
_OF_REGISTRIES: Final = {
    type_name: read_fields(entry) for type_name, entry in _TABLE["registry"].items()
}


def fields(type_name: str) -> Mapping[str, Field]:
    """Return the fields of a type by their names."""
    return _OF_REGISTRIES.get(type_name) or fields_of(type_name)


def root_type(kind: GroupVersionKind) -> str:
    """Return the type of a kind; `dyn` for one that is not Kubernetes' own."""
    return type_of_kind(kind) or ANY


def normalized(root: str, path: Path) -> tuple[Path, str] | None:
    """Return a path as the type has it, and the type there; None for a field that it lacks.

    The elements of a value that is not a list are the value itself, and a field of a list is the
    field of its elements: expressions make lists of lists and take them apart again.
    """
    done: list[str | Step] = []
    at = root
    for step in path:
        if isinstance(step, Step):
            if at == ANY or at.startswith(MAP):
                done.append(step)
            elif at.startswith(LIST):
                done.append(EACH)
            at = at[2:] if at.startswith((LIST, MAP)) else at
            continue
        while at.startswith(LIST):
            done.append(EACH)
            at = at.removeprefix(LIST)
        done.append(step)
        if at.startswith(MAP):
            at = at.removeprefix(MAP)
        elif at != ANY:
            field = fields(at).get(str(step))
            if field is None:
                return None
            at = field.type
    return tuple(done), at


@cache
def _roots() -> frozenset[str | None]:
    """Return the types of kinds: an API server writes their `spec` even where it is empty."""
    return frozenset(map(type_of_kind, known_kinds()))


_CONTAINER_NAMES: Final = {"initContainers": "init", "ephemeralContainers": "debug"}
"""Names of containers by their list: no two of a Pod have one name."""


@cache
def required(type_name: str) -> tuple[tuple[str, str], ...]:
    """Return the fields that an object of a type cannot do without, with their types."""
    declared = fields(type_name)
    names = [name for name, field in declared.items() if field.required]
    others = [
        *_TABLE["required"].get(type_name, "").split(),
        *(["spec"] if type_name in _roots() else []),
    ]
    names += [name for name in others if name in declared and name not in names]
    return tuple((name, declared[name].type) for name in names)


def least(type_name: str, name: str = "") -> Json:
    """Return the least value of a type; name: of the field that has it."""
    if name in _TABLE["named"] and not type_name.startswith(MAP):
        return _TABLE["named"][name]
    if type_name.startswith(LIST):
        return [least(type_name.removeprefix(LIST), name)]
    if type_name.startswith(MAP):
        return {"x": least(type_name.removeprefix(MAP))}
    if type_name in SCALARS:
        return "app" if name == "name" else _SAMPLES[type_name]
    body = {
        field: next(iter(allowed_values(type_name, field)), None) or least(kind, field)
        for field, kind in required(type_name)
    }
    return {**body, "name": _CONTAINER_NAMES[name]} if name in _CONTAINER_NAMES else body


@cache
def alternatives(type_name: str) -> frozenset[str]:
    """Return the fields of a type of which an object has one at most."""
    if type_name not in _ALTERNATIVES:
        return frozenset()
    return frozenset(name for name, field in fields(type_name).items() if not field.required)


@cache
def rivals(root: str, path: Path) -> tuple[frozenset[str], ...]:
    """Return for each step of a path in a request the fields that exclude the one there."""
    ends = range(1, len(path) + 1) if path[0] in ("object", "oldObject") else ()
    return tuple(_rivals(root, path[1:end]) for end in ends) or (frozenset(),) * len(path)


def _rivals(root: str, path: Path) -> frozenset[str]:
    above = normalized(root, path[:-1]) if path and isinstance(path[-1], str) else None
    names = alternatives(above[1]) if above is not None else frozenset[str]()
    return names - {str(path[-1])} if path[-1:] and path[-1] in names else frozenset()


@cache
def allowed_values(type_name: str, field: str) -> tuple[str, ...]:
    """Return the only values that a field of a type may have; none where it may have any."""
    return tuple(mapping_at(_TABLE, "allowed", type_name).get(field, "").split())


def allowed_at(root: str, path: Path) -> tuple[str, ...]:
    """Return the only values that a place may have; none where it may have any."""
    above = normalized(root, path[:-1]) if path else None
    return allowed_values(above[1], str(path[-1])) if above is not None else ()


POD: Final = GroupVersionKind("", "v1", "Pod")
REPLICATION_CONTROLLER: Final = GroupVersionKind("", "v1", "ReplicationController")
TEMPLATED: Final = {
    GroupVersionKind(one.group, one.version, one.kind): tuple(one.template.split("."))
    for one in CONTROLLERS
}
"""The path of the Pod template in each controller."""
_SAMPLE_KINDS: Final = (
    POD,
    GroupVersionKind("apps", "v1", "Deployment"),
    GroupVersionKind("", "v1", "ConfigMap"),
    GroupVersionKind("", "v1", "Service"),
    GroupVersionKind("", "v1", "Namespace"),
)
"""The sample of kinds for a policy that matches every kind."""
_MOST: Final = 40
_VERSION: Final = re.compile(r"v\d+((alpha|beta)\d+)?", re.ASCII)


def kinds_of(selectors: Iterable[str], policies: Iterable[CelPolicy]) -> list[GroupVersionKind]:
    """Return the kinds that kind selectors and match constraints name, those of the former first;
    at most forty. A few represent a wildcard."""
    named = list(_constrained(policies))
    kinds = [kind for text in selectors for kind in _selected(text, named)]
    # A custom kind is known by its plural alone where no selector names it.
    names = {resource_name(kind.kind) for kind in kinds}
    kinds += [kind for kind in named if resource_name(kind.kind) not in names]
    return list(dict.fromkeys(kinds))[:_MOST]


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource that policies name. whole: the kind that it belongs to; kind: the kind of the
    objects that it takes; operation: the operation that requests it."""

    name: str
    whole: GroupVersionKind
    kind: GroupVersionKind
    operation: str


_TAKEN: Final = {
    "attach": (GroupVersionKind("", "v1", "PodAttachOptions"), "CONNECT"),
    "exec": (GroupVersionKind("", "v1", "PodExecOptions"), "CONNECT"),
    "portforward": (GroupVersionKind("", "v1", "PodPortForwardOptions"), "CONNECT"),
    "binding": (GroupVersionKind("", "v1", "Binding"), "CREATE"),
    "eviction": (GroupVersionKind("policy", "v1", "Eviction"), "CREATE"),
    "scale": (GroupVersionKind("autoscaling", "v1", "Scale"), "UPDATE"),
}
"""By subresource: the kind that it takes, and its operation; others take an update of the whole."""


def subresources_of(selectors: Iterable[str]) -> list[Subresource]:
    """Return the subresources that kind selectors name."""
    subresources = []
    for text in dict.fromkeys(selectors):
        selector = parse_kind_selector(text)
        whole_selector = text.removesuffix(selector.subresource).rstrip("./")
        whole = next(_selected(whole_selector, ()), None)
        if not selector.subresource or whole is None:
            continue
        if not has_wildcard(f"{selector.kind}{selector.subresource}"):
            kind, operation = _TAKEN.get(selector.subresource, (whole, "UPDATE"))
            subresources.append(Subresource(selector.subresource, whole, kind, operation))
    return subresources[:_MOST]


def compared_kinds(
    kinds: Iterable[GroupVersionKind], texts: Iterable[str]
) -> list[GroupVersionKind]:
    """Return the other versions of kinds, and the other kinds, that policies compare an object's
    `apiVersion` and `kind` with, or both in one text."""
    given, others = list(kinds), list[GroupVersionKind]()
    names = {kind.kind for kind in known_kinds()}
    for text in dict.fromkeys(texts):
        group, version = parse_api_version(text)
        above, _, name = text.rpartition("/")
        whole = GroupVersionKind(*parse_api_version(above), name)
        if _VERSION.fullmatch(whole.version) and name in names:
            others.append(whole)
        elif _VERSION.fullmatch(version):
            others += [kind._replace(version=version) for kind in given if kind.group == group]
        else:
            named = [kind for kind in known_kinds() if kind.kind == text]
            others += sorted(named, key=lambda kind: len(kind.version))[:1]
    return [kind for kind in dict.fromkeys(others) if kind not in given][:_MOST]


def _selected(text: str, named: Iterable[GroupVersionKind]) -> Iterator[GroupVersionKind]:
    selector = parse_kind_selector(text)
    if selector.subresource not in ("", "*"):
        return
    if selector.kind == "*" and selector.group == "*":
        yield from _SAMPLE_KINDS
        return
    tests = [compile_wildcard(part) for part in selector[:3]]
    own = [
        kind
        for kind in known_kinds()
        if all(test(part) for test, part in zip(tests, kind, strict=True))
    ]
    stable = [kind for kind in own if "beta" not in kind.version and "alpha" not in kind.version]
    # A selector without a group means all groups; the most common ones represent them.
    chosen = sorted(stable or own, key=lambda kind: (kind.group not in ("", "apps"), kind))
    if chosen:
        yield from chosen[:4] if has_wildcard(selector.kind) else chosen[:2]
        return
    plural = resource_name(selector.kind)
    alike = [kind for kind in named if resource_name(kind.kind) == plural]
    group = next((kind.group for kind in alike if kind.group != "*"), "example.com")
    version = next((kind.version for kind in alike if kind.version != "*"), "v1")
    yield GroupVersionKind(
        group if selector.group == "*" else selector.group.replace("*", "x"),
        version if selector.version == "*" else selector.version.replace("*", ""),
        selector.kind.replace("*", "X"),
    )


def _constrained(policies: Iterable[CelPolicy]) -> Iterator[GroupVersionKind]:
    for policy in policies:
        for rule in policy.constraints.rules if policy.constraints is not None else ():
            for resource in rule.resources:
                if "/" in resource:
                    continue
                if resource == "*":
                    yield from _SAMPLE_KINDS
                    continue
                for group in rule.groups:
                    yield from _kinds(group, rule.versions, resource)


def _kinds(group: str, versions: Iterable[str], resource: str) -> Iterator[GroupVersionKind]:
    for version in versions:
        if "*" in (group, version):
            own = [kind for kind in known_kinds() if resource_name(kind.kind) == resource]
            own = [kind for kind in own if group in ("*", kind.group)]
            if own:
                yield own[0]
                continue
        api_version = f"{group}/{version}" if group else version
        kind = own_kind(api_version, resource)
        version = "v1" if version == "*" else version
        group = "example.com" if group == "*" else group
        yield kind or guessed_kind(group, version, resource)


def guessed_kind(group: str, version: str, resource: str) -> GroupVersionKind:
    """Return the kind that a custom resource of a plural name has most likely."""
    if resource.endswith("ies"):
        singular = f"{resource[:-3]}y"
    else:
        ending = "es" if resource.endswith(("ses", "xes")) else "s"
        singular = resource.removesuffix(ending)
    return GroupVersionKind(group, version, singular.capitalize())


def least_object(kind: GroupVersionKind) -> Body:
    """Return the least object of a kind that an API server stores."""
    group, version, name = kind
    metadata: Body = {"name": "x"}
    if not is_cluster_scoped(kind):
        metadata["namespace"] = DEFAULT_NAMESPACE
    root = root_type(kind)
    fields: Body = least(root) if root != ANY else {}
    body: Body = {
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": name,
        **fields,
        "metadata": metadata,
    }
    if kind in TEMPLATED:
        # A controller whose selector takes its Pods.
        template: Body = body["spec"]
        for step in TEMPLATED[kind][1:]:
            template = template[step]
        template["metadata"] = {"labels": {"app": "x"}}
        if kind.group == "apps":
            body["spec"]["selector"] = {"matchLabels": {"app": "x"}}
        elif kind.group == "batch":
            template["spec"]["restartPolicy"] = "Never"
    return body


def as_controller(pod: Body, kind: GroupVersionKind) -> Body:
    """Return a controller of a kind with a Pod's labels, annotations and specification."""
    metadata: Body = dict(pod.get("metadata") or {})
    kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    body: Body = {**_least_controller(kind), "metadata": metadata}
    *above, last = TEMPLATED[kind]
    holder = body
    for step in above:
        holder[step] = holder = {**holder[step]}
    template: Body = {"metadata": kept, "spec": pod.get("spec") or {}}
    if kind.group == "apps":
        labels = {"app": "x", **(kept.get("labels") or {})}
        template["metadata"] = {**kept, "labels": labels}
    elif kind.group == "batch" and "restartPolicy" not in template["spec"]:
        template["spec"] = {**template["spec"], "restartPolicy": "Never"}
    holder[last] = template
    return body


_least_controller = cache(least_object)
"""The least controller of a kind, which nothing changes."""

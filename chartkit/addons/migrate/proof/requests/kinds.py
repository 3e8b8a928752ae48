"""The kinds that a policy's forms speak of, each with the least object of the kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from chartkit.addons.migrate.proof.requests.schema import ANY, least, root_type
from chartkit.engine.cel.shapes.matching import own_kind
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.kubernetes.field_faults import known_kinds
from chartkit.engine.kubernetes.kinds import (
    CONTROLLERS,
    DEFAULT_NAMESPACE,
    GroupVersionKind,
    is_cluster_scoped,
    parse_api_version,
    resource_name,
)
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Body
from chartkit.schemas.kind_selectors import parse_kind_selector

POD: Final = GroupVersionKind("", "v1", "Pod")
REPLICATION_CONTROLLER: Final = GroupVersionKind("", "v1", "ReplicationController")
TEMPLATED: Final = {
    GroupVersionKind(one.group, one.version, one.kind): tuple(one.template.split("."))
    for one in CONTROLLERS
}
"""The path of the Pod template in each controller."""
_SAMPLES: Final = (
    POD,
    GroupVersionKind("apps", "v1", "Deployment"),
    GroupVersionKind("", "v1", "ConfigMap"),
    GroupVersionKind("", "v1", "Service"),
    GroupVersionKind("", "v1", "Namespace"),
)
"""The kinds that stand for all where a policy matches every kind."""
_MOST: Final = 12
_VERSION: Final = re.compile(r"v\d+((alpha|beta)\d+)?", re.ASCII)


def kinds_of(selectors: Iterable[str], policies: Iterable[CelPolicy]) -> list[GroupVersionKind]:
    """Return the kinds that kind selectors and match constraints name, those of the former first;
    at most a dozen. Of a wildcard a few stand for all."""
    named = list(_constrained(policies))
    found = [kind for text in selectors for kind in _selected(text, named)]
    # A custom kind is known by its plural alone where no selector names it.
    known = {resource_name(kind.kind) for kind in found}
    found += [kind for kind in named if resource_name(kind.kind) not in known]
    return list(dict.fromkeys(found))[:_MOST]


def compared_kinds(
    kinds: Iterable[GroupVersionKind], texts: Iterable[str]
) -> list[GroupVersionKind]:
    """Return the other versions of kinds, and the other kinds, that policies compare an object's
    `apiVersion` and `kind` with, or both in one text."""
    known, found = list(kinds), list[GroupVersionKind]()
    names = {kind.kind for kind in known_kinds()}
    for text in dict.fromkeys(texts):
        group, version = parse_api_version(text)
        above, _, name = text.rpartition("/")
        whole = GroupVersionKind(*parse_api_version(above), name)
        if _VERSION.fullmatch(whole.version) and name in names:
            found.append(whole)
        elif _VERSION.fullmatch(version):
            found += [kind._replace(version=version) for kind in known if kind.group == group]
        else:
            named = [kind for kind in known_kinds() if kind.kind == text]
            found += sorted(named, key=lambda kind: len(kind.version))[:1]
    return [kind for kind in dict.fromkeys(found) if kind not in known][:_MOST]


def _selected(text: str, named: Iterable[GroupVersionKind]) -> Iterator[GroupVersionKind]:
    selector = parse_kind_selector(text)
    if selector.subresource not in ("", "*"):
        return
    if selector.kind == "*" and selector.group == "*":
        yield from _SAMPLES
        return
    tests = [compile_wildcard(part) for part in selector[:3]]
    own = [
        kind
        for kind in known_kinds()
        if all(test(part) for test, part in zip(tests, kind, strict=True))
    ]
    stable = [kind for kind in own if "beta" not in kind.version and "alpha" not in kind.version]
    # A selector that names no group means all; those of the most common API stand for them.
    chosen = sorted(stable or own, key=lambda kind: (kind.group not in ("", "apps"), kind))
    if chosen:
        yield from chosen[:4] if has_wildcard(selector.kind) else chosen[:2]
        return
    plural = resource_name(selector.kind)
    alike = [kind for kind in named if resource_name(kind.kind) == plural]
    group = next((kind.group for kind in alike if kind.group != "*"), "example.com")
    version = next((kind.version for kind in alike if kind.version != "*"), "v1")
    yield GroupVersionKind(
        group if has_wildcard(selector.group) else selector.group,
        version if has_wildcard(selector.version) else selector.version,
        selector.kind.replace("*", "X"),
    )


def _constrained(policies: Iterable[CelPolicy]) -> Iterator[GroupVersionKind]:
    for policy in policies:
        for rule in policy.constraints.rules if policy.constraints is not None else ():
            for resource in rule.resources:
                if "/" in resource:
                    continue
                if resource == "*":
                    yield from _SAMPLES
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
    return GroupVersionKind(group, version, _singular(resource).capitalize())


def _singular(resource: str) -> str:
    if resource.endswith("ies"):
        return f"{resource[:-3]}y"
    return resource[:-2] if resource.endswith(("ses", "xes")) else resource.removesuffix("s")


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
    body = least_object(kind)
    metadata: Body = dict(pod.get("metadata") or {})
    kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    body["metadata"] = metadata
    holder: Body = body["spec"]
    *above, last = TEMPLATED[kind][1:]
    for step in above:
        holder = holder[step]
    template: Body = {"metadata": kept, "spec": pod.get("spec") or {}}
    if kind.group == "apps":
        labels = {"app": "x", **(kept.get("labels") or {})}
        template["metadata"] = {**kept, "labels": labels}
    elif kind.group == "batch" and "restartPolicy" not in template["spec"]:
        template["spec"] = {**template["spec"], "restartPolicy": "Never"}
    holder[last] = template
    return body

"""Kyverno's ConfigMap, as far as it keeps requests away from its policies.

Source: `pkg/config` of Kyverno 1.19 (`parseKinds`, `ToFilter`, `WebhookConfig`); the selectors and
match conditions of webhooks mean what they mean to an API server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.cluster_policy.validate_cel import WebhookConditions
from chartkit.engine.kubernetes.kinds import (
    GroupVersionKind,
    in_namespace,
    is_cluster_scoped,
    kind_of,
)
from chartkit.engine.kubernetes.selectors import (
    LabelSelector,
    compile_selector,
    read_selector,
    selector_parts,
    selector_text,
)
from chartkit.engine.request import Request
from chartkit.engine.scalars.wildcard import Matcher, compile_wildcard
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, Resource, mapping_at
from chartkit.schemas.kind_selectors import parse_kind_selector

RESOURCE_FILTERS: Final = "resourceFilters"
NAMESPACE_SELECTOR: Final = "namespaceSelector"
OBJECT_SELECTOR: Final = "objectSelector"
MATCH_CONDITIONS: Final = "matchConditions"
NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has."""
_FILTER: Final = re.compile(r"\[([^\[\]]*)\]")
_NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a request does not reach a policy: the key of the ConfigMap, and the part of
    it.

    text: the filter, or the requirement or condition that does not hold.
    """

    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.key} {self.text}"


class ResourceFilter:
    """One entry of `resourceFilters`, such as `[Pod/*,kube-system,*]`."""

    __slots__ = ("_kind", "_name", "_namespace", "text")

    def __init__(self, text: str) -> None:
        """text: between the brackets; what follows a third comma has Kyverno repeat the entry
        before it, which changes nothing."""
        parts = text.split(",")
        is_valid = parts[0] != "" and len(parts) <= 3
        namespace, name = (*parts[1:3], "", "")[:2]
        self.text = f"[{text}]"
        self._kind: tuple[Matcher, ...] | None = None
        if is_valid:
            self._kind = tuple(map(compile_wildcard, parse_kind_selector(parts[0])))
        self._namespace, self._name = compile_wildcard(namespace), compile_wildcard(name)

    def is_about(self, kind: GroupVersionKind, subresource: str) -> bool:
        """Report whether an entry applies to objects of a kind."""
        if self._kind is None:
            return False
        values = (*kind, subresource)
        return all(fits(value) for fits, value in zip(self._kind, values, strict=True))

    def leaves_out(self, kind: GroupVersionKind, namespace: str, name: str) -> bool:
        """Report whether an entry about objects of a kind leaves out requests for one of them.

        name: empty if it is not generated yet.
        """
        if self._namespace(namespace) and self._name(name):
            return True
        return kind == _NAMESPACE and self._namespace(name)


@lru_cache(maxsize=1024)
def _about(
    filters: tuple[ResourceFilter, ...], kind: GroupVersionKind, subresource: str
) -> tuple[ResourceFilter, ...]:
    """Return the entries about objects of a kind: most are about others."""
    return tuple(entry for entry in filters if entry.is_about(kind, subresource))


def parse_resource_filters(text: str) -> tuple[ResourceFilter, ...]:
    """Every `[kind,namespace,name]` of a text; text between them is ignored."""
    return tuple(ResourceFilter(match[1]) for match in _FILTER.finditer(text))


@dataclass(frozen=True, slots=True)
class Configuration:
    """Kyverno's configuration: which requests the API server does not send, and which Kyverno
    ignores.

    filters: `resourceFilters`; namespace_selector, object_selector: the selectors of its webhooks;
    conditions: the webhooks' match conditions, each with its name.
    """

    filters: tuple[ResourceFilter, ...] = ()
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    conditions: tuple[tuple[str, WebhookConditions], ...] = ()

    def filtered(self, resource: Resource, subresource: str = "") -> Iterator[Reason]:
        """The resource filters that leave an object out; background scans, which pass over them by
        default, aside."""
        kind, namespace, name = kind_of(resource), resource.namespace, resource.name
        for resource_filter in _about(self.filters, kind, subresource):
            if resource_filter.leaves_out(kind, namespace, name):
                yield Reason(RESOURCE_FILTERS, resource_filter.text)

    def unsent(
        self,
        resource: Resource,
        namespace_labels: Mapping[str, str] | None,
        subresource: str = "",
    ) -> Iterator[Reason]:
        """Return why the creation of an object reaches no policy; nothing if it does.

        namespace_labels: the labels of its namespace; if they are unknown (None), only its name can
        exclude it.
        """
        yield from self.filtered(resource, subresource)
        yield from self._by_namespace(resource, namespace_labels)
        own: Mapping[str, str] = mapping_at(resource.body, "metadata", "labels")
        for part in selector_parts(self.object_selector):
            if not compile_selector(part)(own):
                yield Reason(OBJECT_SELECTOR, selector_text(part))
        attributes = Attributes(Request(resource, namespace_labels=namespace_labels or {}))
        for name, condition in self.conditions:
            try:
                holds = condition.hold(attributes)
            except EvaluationError:
                holds = True  # It needs to know the user; what is not certain is sent.
            if not holds:
                yield Reason(MATCH_CONDITIONS, name)

    def unsent_with_pods(
        self,
        resource: Resource,
        labels: Mapping[str, Mapping[str, str]],
        subresource: str = "",
    ) -> Sequence[Reason]:
        """Return why neither the creation of an object nor the creation of its Pods reaches a
        policy; labels: the labels of the namespaces in the inputs, by name."""
        given = in_namespace(resource)
        namespace_labels = labels.get(given.namespace)
        reasons = tuple(self.unsent(given, namespace_labels, subresource))
        # A Pod of a controller object; None for any other object.
        spec = mapping_at(given.body, "spec")
        spec = mapping_at(spec, "jobTemplate", "spec") or spec
        template = mapping_at(spec, "template")
        if not isinstance(mapping_at(template, "spec").get("containers"), list):
            pod: Resource | None = None
        else:
            metadata: Body = {
                "namespace": given.namespace,
                "labels": mapping_at(template, "metadata", "labels"),
            }
            pod = Resource(
                {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, given.location
            )
        if reasons and pod is not None and not any(self.unsent(pod, namespace_labels)):
            return ()
        return reasons

    def _by_namespace(
        self, resource: Resource, labels: Mapping[str, str] | None
    ) -> Iterator[Reason]:
        kind = kind_of(resource)
        if kind == _NAMESPACE:
            own = mapping_at(resource.body, "metadata", "labels")
            namespace_labels: Mapping[str, str] = {**own, NAME_LABEL: resource.name}
        elif is_cluster_scoped(kind) or not resource.namespace:
            return
        else:
            namespace_labels = {**(labels or {}), NAME_LABEL: resource.namespace}
        certain = kind == _NAMESPACE or labels is not None
        for part in selector_parts(self.namespace_selector):
            keys = [*part.labels, *(requirement.key for requirement in part.expressions)]
            if (certain or keys == [NAME_LABEL]) and not compile_selector(part)(namespace_labels):
                yield Reason(NAMESPACE_SELECTOR, selector_text(part))


def read_configuration(data: Mapping[str, Json]) -> Configuration:
    """The configuration in a ConfigMap's data; what Kyverno cannot read counts as missing."""
    webhooks = _json(data.get("webhooks"))
    webhooks = webhooks if isinstance(webhooks, dict) else {}
    conditions = _json(data.get(MATCH_CONDITIONS))
    return Configuration(
        parse_resource_filters(str(data.get(RESOURCE_FILTERS) or "")),
        _selector(webhooks.get(NAMESPACE_SELECTOR)),
        _selector(webhooks.get(OBJECT_SELECTOR)),
        tuple(
            (str(condition.get("name")), WebhookConditions([condition]))
            for condition in (conditions if isinstance(conditions, list) else ())
            if isinstance(condition, dict)
        ),
    )


def _json(text: Json) -> Json:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _selector(body: Json) -> LabelSelector | None:
    try:
        return read_selector(body)
    except (AttributeError, KeyError, TypeError):
        return None

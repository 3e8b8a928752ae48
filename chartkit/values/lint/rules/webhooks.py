"""Webhooks, and the namespaces and requests that Kyverno never sees: CK006, CK008, CK013, CK014."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.model import Body, FieldPath, Json, mapping_at, mappings_at
from chartkit.values.lint.rule import ChartValues, Fault, values_rule

_SYSTEM: Final = "kube-system"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


@values_rule("CK006")
def excluded_filters(subject: ChartValues) -> Iterator[Fault]:
    """Namespaces whose resource filters are removed."""
    path = ("config", "resourceFiltersExcludeNamespaces")
    names = mapping_at(subject.values, "config").get(path[1])
    for index, name in enumerate(names if isinstance(names, list) else ()):
        message = f"takes the filters of '{name}' out, so that Kyverno looks at it"
        hint = "to have a namespace left alone, name it under "
        hint += "config.resourceFiltersIncludeNamespaces"
        yield Fault(message, subject.locate((*path, index)), hint)


@values_rule("CK008")
def webhooks_list(subject: ChartValues) -> Iterator[Fault]:
    """A list of webhooks, as Kyverno up to 1.13.0 had them. Source: parseWebhooks in Kyverno's
    pkg/config/types.go: one mapping since 1.13.1; before, it read a list, of which the webhook
    controller took the first entry."""
    entries = mapping_at(subject.values, "config").get("webhooks")
    if not isinstance(entries, list) or not entries:
        return
    message = "a list of webhooks excludes nothing: Kyverno reads one mapping since 1.13.1"
    hint = "write config.webhooks as one mapping"
    hint += "; `chartkit values lint --fix` does" if _is_one_mapping(entries) else ""
    yield Fault(message, subject.locate(("config", "webhooks")), hint)


@webhooks_list.fix
def _unwrapped_webhooks(values: Body, _: Body) -> dict[FieldPath, tuple[str, ...]]:
    path = ("config", "webhooks")
    is_one = _is_one_mapping(mapping_at(values, "config").get("webhooks"))
    return {(*path, 0): path} if is_one else {}


def _is_one_mapping(webhooks: Json) -> bool:
    return isinstance(webhooks, list) and len(webhooks) == 1 and isinstance(webhooks[0], dict)


@values_rule("CK013")
def kube_system(subject: ChartValues) -> Iterator[Fault]:
    """Webhooks that see kube-system and fail closed."""
    if "webhooks" not in mapping_at(subject.defaults.body, "config"):
        return  # not the engine's chart
    webhooks = mapping_at(subject.values, "config").get("webhooks")
    features = mapping_at(subject.values, "features")
    if mapping_at(features, "forceFailurePolicyIgnore").get("enabled") is True:
        return
    if isinstance(webhooks, list) or _excludes_system(mapping_at(webhooks, "namespaceSelector")):
        return
    message = "the webhooks see kube-system: while Kyverno is away, its pods cannot be made anew"
    hint = f"add {_NAME_LABEL} NotIn [{_SYSTEM}] to config.webhooks.namespaceSelector"
    location = subject.locate(("config", "webhooks", "namespaceSelector", "matchExpressions"))
    yield Fault(message, location, hint)


def _excludes_system(selector: Body) -> bool:
    """Report whether a selector of namespaces excludes kube-system."""
    labels = selector.get("matchLabels")
    if isinstance(labels, dict) and labels.get(_NAME_LABEL, _SYSTEM) != _SYSTEM:
        return True
    return any(map(_requires_other, mappings_at(selector, "matchExpressions")))


def _requires_other(expression: Body) -> bool:
    values: Json = expression.get("values")
    if expression.get("key") != _NAME_LABEL:
        # Another label may exclude it: which labels the cluster's namespaces have is not known.
        return expression.get("operator") in ("In", "Exists")
    there = isinstance(values, list) and _SYSTEM in values
    return there if expression.get("operator") == "NotIn" else not there


@values_rule("CK014")
def webhooks_cleanup(subject: ChartValues) -> Iterator[Fault]:
    """Webhooks that remain when the release is deleted."""
    if mapping_at(subject.values, "webhooksCleanup").get("enabled") is False:
        message = "deleting the release leaves Kyverno's webhooks, which then refuse every request"
        hint = "set webhooksCleanup.enabled: true, or use `chartkit uninstall`"
        yield Fault(message, subject.locate(("webhooksCleanup", "enabled")), hint)

"""Checks of what Kyverno leaves alone: resource filters and the selectors of its webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.model import Body, Diagnostic, Json, Severity
from chartkit.values.lint.subject import Subject, mapping

FILTERS_TAKEN_OUT: Final = "CK006"
WEBHOOKS_AS_LIST: Final = "CK008"
KUBE_SYSTEM: Final = "CK013"
_SYSTEM: Final = "kube-system"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def filters_taken_out(subject: Subject) -> Iterator[Diagnostic]:
    """CK006: namespaces that Kyverno begins to look at, where people mean the opposite."""
    path = ("config", "resourceFiltersExcludeNamespaces")
    names = mapping(subject.values, "config").get(path[1])
    for index, name in enumerate(names if isinstance(names, list) else ()):
        message = f"takes the filters of '{name}' out, so that Kyverno looks at it"
        hint = (
            "to have a namespace left alone, name it under config.resourceFiltersIncludeNamespaces"
        )
        place = subject.locate((*path, index))
        yield Diagnostic(FILTERS_TAKEN_OUT, Severity.WARNING, message, place, hint)


def webhooks_as_list(subject: Subject) -> Iterator[Diagnostic]:
    """CK008: webhooks as a list, as charts before 3.3 had them.

    Source: upstream's chart from 3.3 on drops the entries that have no namespaceSelector, and puts
    the others under their names, which Kyverno's configuration does not read.
    """
    entries = mapping(subject.values, "config").get("webhooks")
    if not isinstance(entries, list) or not entries:
        return
    dropped = [
        str(index)
        for index, entry in enumerate(entries)
        if not (isinstance(entry, dict) and entry.get("namespaceSelector"))
    ]
    message = "a list of webhooks excludes nothing: Kyverno reads one mapping"
    if dropped:
        which = f"{'entry' if len(dropped) == 1 else 'entries'} {', '.join(dropped)}"
        message += f", and {which} without a namespaceSelector are dropped without a word"
    hint = "write config.webhooks as one mapping"
    hint += "; `chartkit values lint --fix` does" if is_one_mapping(entries) else ""
    place = subject.locate(("config", "webhooks"))
    yield Diagnostic(WEBHOOKS_AS_LIST, Severity.ERROR, message, place, hint)


def is_one_mapping(webhooks: Json) -> bool:
    """Return whether webhooks are a list that can be written as the one mapping in it."""
    return isinstance(webhooks, list) and len(webhooks) == 1 and isinstance(webhooks[0], dict)


def kube_system_fails_closed(subject: Subject) -> Iterator[Diagnostic]:
    """CK013: the webhooks see kube-system, and requests there are refused while Kyverno is away."""
    if "webhooks" not in mapping(subject.defaults.body, "config"):
        return  # not the engine's chart
    webhooks = mapping(subject.values, "config").get("webhooks")
    features = mapping(subject.values, "features")
    if mapping(features, "forceFailurePolicyIgnore").get("enabled") is True:
        return
    if isinstance(webhooks, list) or _spares(mapping(webhooks, "namespaceSelector")):
        return
    message = "the webhooks see kube-system: while Kyverno is away, its pods cannot be made anew"
    hint = f"add {_NAME_LABEL} NotIn [{_SYSTEM}] to config.webhooks.namespaceSelector"
    place = subject.locate(("config", "webhooks", "namespaceSelector", "matchExpressions"))
    yield Diagnostic(KUBE_SYSTEM, Severity.WARNING, message, place, hint)


def _spares(selector: Body) -> bool:
    """Return whether a selector of namespaces leaves kube-system out."""
    labels = selector.get("matchLabels")
    if isinstance(labels, dict) and labels.get(_NAME_LABEL, _SYSTEM) != _SYSTEM:
        return True
    expressions = selector.get("matchExpressions")
    return any(_leaves_out(each) for each in expressions or () if isinstance(each, dict))


def _leaves_out(expression: Body) -> bool:
    values: Json = expression.get("values")
    if expression.get("key") != _NAME_LABEL:
        # Another label may well leave it out: what the cluster's namespaces carry is not known.
        return expression.get("operator") in ("In", "Exists")
    there = isinstance(values, list) and _SYSTEM in values
    return there if expression.get("operator") == "NotIn" else not there

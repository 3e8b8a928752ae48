"""CK008: webhooks as a list, as Kyverno up to 1.13.0 had them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from chartkit.model import Body, Diagnostic, FieldPath, Json, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule

if TYPE_CHECKING:
    from chartkit.output.yaml_tree import Path


class WebhooksList(Rule):
    """A list of webhooks.

    Source: parseWebhooks in Kyverno's pkg/config/types.go: one mapping since 1.13.1; before, it
    read a list, of which the webhook controller took the first entry.
    """

    id = "CK008"
    what = "A list in config.webhooks."
    why = (
        "Kyverno up to 1.13.0 took the first entry of a list. Since then it reads one mapping and "
        "nothing of a list, so the webhooks see every namespace."
    )
    do = "Write one mapping with namespaceSelector and objectSelector."
    problematic = "config:\n  webhooks:\n    - objectSelector: {matchLabels: {scan: 'true'}}\n"
    correct = """\
config:
  webhooks:
    namespaceSelector:
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}
    objectSelector: {matchLabels: {scan: 'true'}}
"""
    fixes = "Makes a mapping of a list with one entry."

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        entries = mapping_at(subject.values, "config").get("webhooks")
        if not isinstance(entries, list) or not entries:
            return
        message = "a list of webhooks excludes nothing: Kyverno reads one mapping since 1.13.1"
        hint = "write config.webhooks as one mapping"
        hint += "; `chartkit values lint --fix` does" if _is_one_mapping(entries) else ""
        yield self.error(message, subject.locate(("config", "webhooks")), hint)

    def moves(self, values: Body, _: Body) -> dict[FieldPath, Path]:
        path = ("config", "webhooks")
        is_one = _is_one_mapping(mapping_at(values, "config").get("webhooks"))
        return {(*path, 0): path} if is_one else {}


def _is_one_mapping(webhooks: Json) -> bool:
    return isinstance(webhooks, list) and len(webhooks) == 1 and isinstance(webhooks[0], dict)

"""CK008: webhooks as a list, as charts before 3.3 had them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chartkit.model import Body, Diagnostic, Json, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule


class WebhooksList(Rule):
    """A list of webhooks.

    Source: upstream's chart from 3.3 on drops the entries that have no namespaceSelector, and puts
    the others under their names, which Kyverno's configuration does not read.
    """

    id = "CK008"
    what = "A list in config.webhooks."
    why = (
        "Charts up to 3.2 took a list. Since 3.3 entries without a namespaceSelector are silently "
        "dropped and the others have no effect, so the webhooks see every namespace."
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
        dropped = [
            str(index)
            for index, entry in enumerate(entries)
            if not (isinstance(entry, dict) and entry.get("namespaceSelector"))
        ]
        message = "a list of webhooks excludes nothing: Kyverno reads one mapping"
        if dropped:
            which = f"{'entry' if len(dropped) == 1 else 'entries'} {', '.join(dropped)}"
            message += f", and {which} without a namespaceSelector are silently dropped"
        hint = "write config.webhooks as one mapping"
        hint += "; `chartkit values lint --fix` does" if _is_one_mapping(entries) else ""
        yield self.error(message, subject.locate(("config", "webhooks")), hint)

    def fix(self, document: Any, _: Body) -> bool:
        config = document.get("config")
        if not isinstance(config, dict) or not _is_one_mapping(config.get("webhooks")):
            return False
        config["webhooks"] = config["webhooks"][0]
        return True


def _is_one_mapping(webhooks: Json) -> bool:
    return isinstance(webhooks, list) and len(webhooks) == 1 and isinstance(webhooks[0], dict)

"""CK006: namespaces whose resource filters are removed."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import Diagnostic, mapping_at
from chartkit.values.lint.rule import ChartValues, Rule


class ExcludedFilters(Rule):
    id = "CK006"
    what = "Namespaces in config.resourceFiltersExcludeNamespaces."
    why = (
        "The key removes the filters of a namespace, so Kyverno starts to process it. People who "
        "set it mean the opposite, and then their policies apply to kube-system."
    )
    do = "List the namespaces that Kyverno ignores in config.resourceFiltersIncludeNamespaces."
    problematic = "config:\n  resourceFiltersExcludeNamespaces: [kube-system]\n"
    correct = "config:\n  resourceFiltersIncludeNamespaces: [my-system]\n"

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        path = ("config", "resourceFiltersExcludeNamespaces")
        names = mapping_at(subject.values, "config").get(path[1])
        for index, name in enumerate(names if isinstance(names, list) else ()):
            message = f"takes the filters of '{name}' out, so that Kyverno looks at it"
            hint = "to have a namespace left alone, name it under "
            hint += "config.resourceFiltersIncludeNamespaces"
            yield self.warning(message, subject.locate((*path, index)), hint)

"""CK002: nulls that delete defaults."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.model import Diagnostic, Json, leaves, value_at
from chartkit.values.lint.rule import ChartValues, Rule


class NullOverride(Rule):
    id = "CK002"
    what = "A null in an environment's values where the chart has a default."
    why = "In Helm, null deletes the default and everything below it; it does not keep the default."
    do = "Remove the line to keep the default, or write the value that you want."
    problematic = "features:\n  logging:\n    format: null\n"
    correct = "features:\n  logging:\n    format: json\n"

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        for document in subject.overlays:
            for path, value in leaves(document.body):
                default = value_at(subject.defaults.body, path)
                if value is None and default is not None:
                    name = ".".join(map(str, path))
                    message = f"null deletes '{name}', and Helm renders as if it were not there"
                    hint = f"the chart's default is {_shown(default)}: remove the line to have it"
                    yield self.warning(message, document.locate(*path), hint)


def _shown(value: Json) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return repr(value)

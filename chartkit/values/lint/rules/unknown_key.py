"""CK010: keys that a chart without a schema of its values does not know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.model import Body, Diagnostic, FieldPath
from chartkit.suggestions import suggestion
from chartkit.values.lint.rule import ChartValues, Rule

_EVERYWHERE: Final = frozenset({"global", "tags"})
"""Top-level keys that Helm itself gives a meaning."""
_FREE: Final = re.compile(
    r"(annotations|labels|selectors?|matchLabels|affinity|securityContext|resources|limits|requests"
    r"|probe|strategy|lifecycle|data|env|overrides?|bypolicy)$",
    re.IGNORECASE,
)
"""Keys below which a chart has examples or Kubernetes' own fields, and takes others too."""


class UnknownKey(Rule):
    id = "CK010"
    what = "A key that is not in the values.yaml of a chart without a schema."
    why = (
        "Helm accepts any key, so a setting with a typo silently has no effect. Keys also move "
        "from one version of a chart to the next."
    )
    do = (
        "Follow the suggestion, or look the key up in the chart's values.yaml. Keys below examples "
        "and Kubernetes' own fields are not checked."
    )
    example_chart = "replicas: 1\nimage: {tag: v1}\n"
    problematic = "replica: 2\n"
    correct = "replicas: 2\n"

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        """Return the unknown keys; below an empty or free mapping of the chart any key may be."""
        if subject.schema is not None or not isinstance(subject.defaults.body, dict):
            return
        for document in subject.overlays:
            for path, known in _unknown(document.body, subject.defaults.body, ()):
                message = f"the chart's values.yaml has no key '{'.'.join(map(str, path))}'"
                hint = (
                    suggestion(str(path[-1]), known)
                    or "Helm takes any key; a subchart's stand below its name"
                )
                yield self.warning(message, document.locate(*path), hint)


def _unknown(
    values: object, defaults: Body, path: FieldPath
) -> Iterator[tuple[FieldPath, list[str]]]:
    """Yield the paths of unknown keys, each with its known neighbours."""
    for key, value in values.items() if isinstance(values, dict) else ():
        below = defaults.get(key)
        if key not in defaults:
            if path or key not in _EVERYWHERE:
                yield (*path, key), list(defaults)
        elif isinstance(below, dict) and below and not _FREE.search(key):
            yield from _unknown(value, below, (*path, key))

"""Keys that a chart without a schema of its values does not know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.model import Body, Diagnostic, Severity
from chartkit.suggestions import suggestion
from chartkit.values.lint.subject import Path, Subject

UNKNOWN_KEY: Final = "CK010"
_HINT: Final = "Helm takes any key; those of a subchart stand below its name"
_EVERYWHERE: Final = frozenset({"global", "tags"})
"""Top-level keys that Helm itself gives a meaning."""
_FREE: Final = re.compile(
    r"(annotations|labels|selectors?|matchLabels|affinity|securityContext|resources|limits|requests"
    r"|probe|strategy|lifecycle|data|env|overrides?|bypolicy)$",
    re.IGNORECASE,
)
"""Keys below which a chart has examples or Kubernetes' own fields, and takes others too."""


def unknown_keys(subject: Subject) -> Iterator[Diagnostic]:
    """CK010: a key that the chart's values.yaml does not have, where no schema says more.

    What stands below an empty or free mapping of the chart's may be anything.
    """
    if subject.schema is not None or not isinstance(subject.defaults.body, dict):
        return
    for document in subject.overlays:
        for path, known in _unknown(document.body, subject.defaults.body, ()):
            name = ".".join(map(str, path))
            message = f"the chart's values.yaml has no key '{name}'"
            hint = (
                suggestion(str(path[-1]), known)
                or "Helm takes any key; a subchart's stand below its name"
            )
            place = document.locate(*path)
            yield Diagnostic(UNKNOWN_KEY, Severity.WARNING, message, place, hint)


def _unknown(values: object, defaults: Body, path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Paths of unknown keys, each with its known neighbours."""
    for key, value in values.items() if isinstance(values, dict) else ():
        below = defaults.get(key)
        if key not in defaults:
            if path or key not in _EVERYWHERE:
                yield (*path, key), list(defaults)
        elif isinstance(below, dict) and below and not _FREE.search(key):
            yield from _unknown(value, below, (*path, key))

"""Names, labels and annotations that an API server refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chartkit.engine.kubernetes.definitions import REQUIRED, Problem
from chartkit.engine.kubernetes.selectors import key_problem, subdomain_problem, value_problem
from chartkit.model import Body


def metadata_problems(metadata: Body) -> Iterator[Problem]:
    """Yield the problems of an object's metadata, in which every field has the right type."""
    name: str = metadata.get("name") or ""
    labels: dict[str, str] = metadata.get("labels") or {}
    if not name and not metadata.get("generateName"):
        yield ("metadata", "name"), f"{REQUIRED}: name or generateName is required"
    checks: list[tuple[str, str, Callable[[str], list[str]]]] = []
    if name:
        checks.append(("name", name, subdomain_problem))
    checks += [("labels", key, key_problem) for key in labels]
    checks += [("labels", value, value_problem) for value in labels.values()]
    annotations: dict[str, str] = metadata.get("annotations") or {}
    checks += [("annotations", key.lower(), key_problem) for key in annotations]
    for field, text, check in checks:
        for fault in check(text):
            yield ("metadata", field), f'Invalid value: "{text}": {fault}'

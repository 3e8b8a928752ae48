"""`kubernetes.jsonpatch`: keys in the paths of a JSON patch."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Example, Library, declared, overload
from chartkit.engine.cel.library.costs import of_first
from chartkit.engine.cel.types import STRING


@overload(
    "jsonpatch.escapeKey",
    "string_jsonpatch_escapeKey_string",
    STRING,
    returns=STRING,
    cost=of_first,
    doc="A key as it stands in the path of a JSON patch: `~` and `/` are escaped.",
    examples=(
        Example(
            "'/metadata/labels/' + jsonpatch.escapeKey('k8s.io/my~label')",
            "'/metadata/labels/k8s.io~1my~0label'",
        ),
    ),
)
def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


LIBRARY: Final = Library(
    "kubernetes.jsonpatch",
    overloads=declared(globals()),
    doc="Keys in the paths of a JSON patch.",
)

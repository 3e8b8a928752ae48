"""`kubernetes.jsonpatch`: keys in the paths of a JSON patch."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.library.costs import of_first

_escape_key = overload(
    "string_jsonpatch_escapeKey_string: jsonpatch.escapeKey(string) -> string", cost=of_first
)(lambda key: key.replace("~", "~0").replace("/", "~1"))

LIBRARY: Final = Library("kubernetes.jsonpatch", overloads=declared(globals()))

"""An applier of JSON Patches that knows nothing of the code that makes them."""

import copy
from collections.abc import Sequence
from typing import Any

from chartkit.model import Body


def patched(body: Body, operations: Sequence[Body]) -> Any:
    """Return a copy of an object after operations of RFC 6902."""
    root: Any = {"": copy.deepcopy(body)}
    for each in operations:
        steps = ["", *(_step(part) for part in each["path"].split("/")[1:])]
        parent = root
        for step in steps[:-1]:
            parent = parent[int(step) if isinstance(parent, list) else step]
        _apply(parent, steps[-1], each)
    return root[""]


def _apply(parent: Any, last: str, operation: Body) -> None:
    if isinstance(parent, list):
        index = len(parent) if last == "-" else int(last)
        if operation["op"] == "add":
            assert 0 <= index <= len(parent)
            parent.insert(index, operation["value"])
        elif operation["op"] == "remove":
            del parent[index]
        else:
            parent[index] = operation["value"]
    elif operation["op"] == "remove":
        del parent[last]
    else:
        assert operation["op"] == "add" or last in parent
        parent[last] = operation["value"]


def _step(text: str) -> str:
    return text.replace("~1", "/").replace("~0", "~")

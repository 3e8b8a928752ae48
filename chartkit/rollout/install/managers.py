"""The managers of an object's fields, as server-side apply keeps them.

A field that two managers wrote belongs to both as long as they agree: the next change of one is a
conflict. A release that takes an object over is to be the only one.
"""

from __future__ import annotations

from typing import Final

from chartkit.model import Body, Json, mapping_at, mappings_at
from chartkit.network.cluster.client import MANAGER

_SELF: Final = "."
"""The key for a field itself, next to those below it."""


def without_others(body: Body) -> list[Body] | None:
    """Return the `managedFields` of an object in which Helm's fields are Helm's alone; None where
    they are so already, and where Helm did not apply the object."""
    entries = mappings_at(body, "metadata", "managedFields")
    own = next((each for each in entries if _is_own(each)), None)
    if own is None:
        return None
    kept: list[Body] = []
    for each in entries:
        if each is own or each.get("subresource"):
            kept.append(each)
        elif fields := _rest(mapping_at(each, "fieldsV1"), mapping_at(own, "fieldsV1")):
            kept.append({**each, "fieldsV1": fields})
    return None if kept == entries else kept


def _is_own(entry: Body) -> bool:
    wanted = {"manager": MANAGER, "operation": "Apply"}
    return wanted.items() <= entry.items() and not entry.get("subresource")


def _rest(fields: Body, taken: Body) -> Body:
    """Return fields without those that are taken, and without what holds nothing else."""
    found: Body = {}
    for key, below in fields.items():
        if key not in taken:
            found[key] = below
        elif rest := _below(below, taken[key]):
            found[key] = rest
    return {} if found.keys() <= {_SELF} else found


def _below(fields: Json, taken: Json) -> Body:
    """Return what is left below a field that both have; nothing below one that either has whole."""
    if not isinstance(fields, dict) or not isinstance(taken, dict) or not taken:
        return {}
    return _rest(fields, taken)

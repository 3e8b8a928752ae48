"""Field managers of server-side apply, for objects that begin with `managedFields`; lists are
atomic, as they are in most custom resources."""

from collections.abc import Iterator
from typing import Any

from chartkit.model import Body
from tests.api_server_http import Refused

Path = tuple[str, ...]


def entry(manager: str, operation: str, body: Body) -> Body:
    """The entry of a manager that wrote the whole of an object."""
    kept = {"spec": body.get("spec", {})}
    labels = body["metadata"].get("labels")
    kept |= {"metadata": {"labels": labels}} if labels else {}
    return {"manager": manager, "operation": operation, "fieldsV1": _fields(kept)}


def after_apply(there: Body, new: Body, manager: str, force: bool) -> list[Body]:
    """The entries after an object was applied; raise Refused for a conflict."""
    own = entry(manager, "Apply", new)
    kept = []
    for each in there["metadata"]["managedFields"]:
        if (each["manager"], each["operation"]) == (manager, "Apply"):
            continue
        shared = set(_leaves(own["fieldsV1"])) & set(_leaves(each["fieldsV1"]))
        changed = [path for path in sorted(shared) if _at(there, path) != _at(new, path)]
        if changed and not force:
            fields = " - ".join("." + ".".join(part[2:] for part in path) for path in changed)
            text = f'Apply failed with 1 conflict: conflict with "{each["manager"]}": {fields}'
            raise Refused(409, "Conflict", text)
        kept.append(each)
    return [own, *kept]


def _fields(value: Any) -> Body:
    return {f"f:{key}": _fields(each) for key, each in value.items()} if _is_map(value) else {}


def _is_map(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


def _leaves(fields: Body, at: Path = ()) -> Iterator[Path]:
    for key, below in fields.items():
        if below:
            yield from _leaves(below, (*at, key))
        else:
            yield (*at, key)


def _at(body: Any, path: Path) -> Any:
    for part in path:
        body = body.get(part[2:]) if isinstance(body, dict) else None
    return body

"""The values of `[JSONPatch{…}, …]`: operations as evanphx/json-patch 4 does them.

Unlike its version 5, which ClusterPolicies use (`cluster_policy.mutate.json_patch`), it makes
nothing on the way to a path, and takes a missing key for null wherever it reads one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.printing import as_written, json_of
from chartkit.engine.cel.values import Struct, Value
from chartkit.engine.cel_policies.patches.apply_configuration import ApplyError, name_faults
from chartkit.engine.cel_policies.patches.apply_values import encoded
from chartkit.engine.json_patch import (
    MISSING_VALUE,
    NO_PLACE,
    Container,
    Document,
    PatchError,
    copied,
    equal,
    located,
    place_of,
)
from chartkit.errors import Reraise
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json, text_of

_MOST_COPIED: Final = 1_000_000
"""The most values that all copies of a patch may make together."""


class _TestFailedError(PatchError):
    """A `test` did not find what it wanted: nothing is patched, and that is not an error."""


def apply_json_patch(patches: Iterable[Value], resource: Body) -> Body:
    """A new object: the resource with the operations applied to it; raises `ApplyError`.

    The resource itself is returned where a `test` among them fails.
    """
    operations = [_operation(patch) for patch in patches if isinstance(patch, Struct)]
    document = _Document(encoded(resource))
    try:
        for operation in operations:
            apply = _OPERATIONS.get(operation["op"])
            if apply is None:
                raise PatchError(f"Unexpected kind: {operation['op']}")
            apply(document, operation)
        patched = copied(document.root)
    except RecursionError:
        raise ApplyError("JSON Patch: the patched document is nested too deeply") from None
    except _TestFailedError:
        return resource
    except PatchError as error:
        raise ApplyError(f"JSON Patch: {error.message}") from error
    if not isinstance(patched, dict):
        raise ApplyError("JSON Patch: the patched document is not an object")
    if not text_of(patched.get("kind")):
        text = go_json(patched or None)
        raise ApplyError(f"Internal error occurred: Object 'Kind' is missing in '{text}'")
    return patched


def _structs(value: Value) -> Iterator[Struct]:
    """Yield the value if it is an `Object…{…}` or an operation, and all those inside of it."""
    members: Iterable[Value] = value if isinstance(value, list) else ()
    if isinstance(value, Struct):
        yield value
        members = value.fields.values()
    elif isinstance(value, dict):
        members = value.values()
    for member in members:
        yield from _structs(member)


_OPERATION_TYPE: Final = "JSONPatch"
_BREAKS: Final = (
    "reflect.Set: value of type *structpb.Struct is not assignable to type *structpb.Value "
    "(Kyverno's webhook breaks off at an Object{} in a list or a map, kyverno/kyverno#17611)"
)


def _operation(patch: Struct) -> Body:
    """The operation of a `JSONPatch{…}`; raises `ApplyError` for a value that is not JSON."""
    fields = patch.fields
    operation: Body = {name: fields.get(name, "") for name in ("op", "path", "from")}
    if "value" not in fields:
        return operation
    value = fields["value"]
    if isinstance(value, Struct):
        problems = list(name_faults(value, value.type.name))
        if problems:
            raise ApplyError("type mismatch: " + "\n".join(problems))
    problem = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
    structs = list(_structs(value))
    if any(struct.type.name == _OPERATION_TYPE for struct in structs):
        raise ApplyError(f"{problem}: cannot convert to native type: *structpb.Value")
    if structs and not isinstance(value, Struct):
        raise ApplyError(f"{problem}: {_BREAKS}")
    with Reraise(f"{problem}: ", CelError, ApplyError):
        operation["value"] = as_written(json_of(value))
    return operation


class _Document(Document):
    """A document that is patched, and the number of values that may still be copied."""

    __slots__ = ("_left",)

    def __init__(self, body: Body) -> None:
        super().__init__(body, body)
        self.root = body
        self._left = _MOST_COPIED

    def find(self, path: str) -> tuple[Container | None, str]:
        return super().find(path) if path else (None, "")

    def get(self, container: Container, key: str) -> Json:
        """A member; None for a missing key. Raises `PatchError` for an invalid index."""
        if isinstance(container, dict):
            return container.get(key)
        return container[place_of(container, key)]

    def remove(self, container: Container, key: str) -> None:
        """Removes a member, which must be there."""
        if isinstance(container, list):
            del container[place_of(container, key)]
        elif key in container:
            del container[key]
        else:
            raise PatchError(f"Unable to remove nonexistent key: {key}: {MISSING_VALUE}")

    def copied(self, value: Json) -> Json:
        """A copy of a value; raises `PatchError` where copies grow beyond bounds."""
        self._left -= 1
        if self._left < 0:
            raise PatchError(f"the copies of a patch make more than {_MOST_COPIED} values")
        if isinstance(value, dict):
            return {key: self.copied(member) for key, member in value.items()}
        return [self.copied(member) for member in value] if isinstance(value, list) else value


def _added(document: _Document, operation: Body) -> None:
    document.add(operation["path"], operation.get("value"))


def _removed(document: _Document, operation: Body) -> None:
    path = operation["path"]
    container, key = located(document.find(path), f'remove {NO_PLACE} path: "{path}"')
    with Reraise(f"error in remove for path: '{path}': ", PatchError, PatchError):
        document.remove(container, key)


def _replaced(document: _Document, operation: Body) -> None:
    document.replace(operation["path"], operation.get("value"))


def _moved(document: _Document, operation: Body) -> None:
    document.move(_source("move", operation), operation["path"])


def _copied(document: _Document, operation: Body) -> None:
    source = _source("copy", operation)
    document.copy(source, operation["path"], source, document.copied)


def _source(name: str, operation: Body) -> str:
    source: str = operation["from"]
    if not source:
        missing = f"{name} operation failed to decode from: operation, missing from field"
        raise PatchError(f"{missing}: {MISSING_VALUE}")
    return source


def _tested(document: _Document, operation: Body) -> None:
    path, wanted = operation["path"], operation.get("value")
    if path:
        missing = f"test operation does not apply: is missing path: {path}"
        container, key = located(document.find(path), missing)
        with Reraise(f"error in test for path: '{path}': ", PatchError, PatchError):
            value = document.get(container, key)
    else:
        value = document.root
    if not equal(value, wanted):
        raise _TestFailedError(f"testing value {path} failed: test failed")


_OPERATIONS: Final[dict[str, Callable[[_Document, Body], None]]] = {
    "add": _added,
    "remove": _removed,
    "replace": _replaced,
    "move": _moved,
    "copy": _copied,
    "test": _tested,
}

"""Kyverno's checks of the `context` list of a rule."""

from __future__ import annotations

from collections.abc import Callable

from chartkit.engine.context.variables import has_variable
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.model import Body

_PREDEFINED = (
    "images",
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
)


def entry_fault(entry: Body, namespaced: bool) -> str | None:
    """Return the fault of an entry, in Kyverno's words; namespaced: whether it is a Policy's."""
    name = entry.get("name") or ""
    if not name:
        return "a name is required for context entries"
    for reserved in _PREDEFINED:
        if name == reserved or name.startswith(f"{reserved}."):
            return (
                f"entry name {name} is invalid as it conflicts with a pre-defined variable "
                f"{reserved}"
            )
    kinds = [kind for kind in _KINDS if entry.get(kind) is not None]
    if len(kinds) != 1:
        return (
            "exactly one of configMap or apiCall or imageRegistry or variable is required for "
            "context entries"
        )
    if namespaced and kinds == ["globalReference"]:
        from chartkit.engine.context.entries.loader import NO_GLOBALS

        return NO_GLOBALS
    (kind,) = kinds
    for key in _REQUIRED.get(kind, ()):
        if not entry[kind].get(key):
            return f"a {key} is required for {kind} context entry"
    return _KINDS[kind](entry[kind])


def _variable_fault(body: Body) -> str | None:
    if fault := _path_fault(body):
        return fault
    path = body.get("jmesPath")
    if body.get("value") is None and not path:
        return "a variable must define a value or a jmesPath expression"
    if body.get("default") is not None and not path:
        return "a variable must define a default value only when a jmesPath expression is defined"
    return None


def _api_call_fault(body: Body) -> str | None:
    if body.get("urlPath") and body.get("service") is not None:
        return "a URLPath cannot be used for service API calls"
    return _path_fault(body)


def _image_fault(body: Body) -> str | None:
    reference = body.get("reference") or ""
    if not reference:
        return "a ref is required for imageRegistry context entry"
    if not has_variable(reference):
        from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image

        try:
            parse_image(reference)
        except ImageReferenceError as error:
            cause = str(error).rpartition(": ")[2]
            return f"bad image: {reference}: {cause}"
    return _path_fault(body)


def _path_fault(body: Body) -> str | None:
    path = body.get("jmesPath") or ""
    if not path or has_variable(path):
        return None
    try:
        compile_expression(path)
    except JMESPathError as error:
        return f"failed to parse JMESPath {path}: {error}"
    return None


_KINDS: dict[str, Callable[[Body], str | None]] = {
    "configMap": lambda _body: None,
    "apiCall": _api_call_fault,
    "globalReference": _path_fault,
    "imageRegistry": _image_fault,
    "variable": _variable_fault,
}
"""The check of each kind of entry, once it has its required fields."""
_REQUIRED = {"configMap": ("name", "namespace"), "globalReference": ("name",)}

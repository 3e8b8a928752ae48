"""Kyverno's checks of context entries before it accepts a policy."""

from __future__ import annotations

from chartkit.engine.context.variables.syntax import has_variable
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.scalars.image_reference import ImageReferenceError, parse_image
from chartkit.model import Body, Json

_PREDEFINED = (
    "images",
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
)
_KINDS = ("configMap", "apiCall", "globalReference", "imageRegistry", "variable")


def check_entries(entries: Json, *, cel: bool = False) -> str | None:
    """The first fault of a rule's `context`, in Kyverno's words; None if it is sound.

    cel: whether the rule validates with CEL, which takes no context entries.
    """
    if not entries:
        return None
    if cel:
        return "context variables are not supported for CEL expressions in validate rules"
    for entry in entries:
        fault = _entry_fault(entry)
        if fault:
            return fault
    return None


def _entry_fault(entry: Body) -> str | None:
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
    return _CHECKS[kinds[0]](entry[kinds[0]])


def _variable_fault(body: Body) -> str | None:
    fault = _path_fault(body)
    if fault:
        return fault
    path = body.get("jmesPath")
    if body.get("value") is None and not path:
        return "a variable must define a value or a jmesPath expression"
    if body.get("default") is not None and not path:
        return "a variable must define a default value only when a jmesPath expression is defined"
    return None


def _configmap_fault(body: Body) -> str | None:
    if not body.get("name"):
        return "a name is required for configMap context entry"
    if not body.get("namespace"):
        return "a namespace is required for configMap context entry"
    return None


def _api_call_fault(body: Body) -> str | None:
    if body.get("urlPath") and body.get("service") is not None:
        return "a URLPath cannot be used for service API calls"
    return _path_fault(body)


def _global_fault(body: Body) -> str | None:
    if not body.get("name"):
        return "a name is required for globalReference context entry"
    return _path_fault(body)


def _image_fault(body: Body) -> str | None:
    reference = body.get("reference") or ""
    if not reference:
        return "a ref is required for imageRegistry context entry"
    if not has_variable(reference):
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


_CHECKS = {
    "variable": _variable_fault,
    "configMap": _configmap_fault,
    "apiCall": _api_call_fault,
    "globalReference": _global_fault,
    "imageRegistry": _image_fault,
}

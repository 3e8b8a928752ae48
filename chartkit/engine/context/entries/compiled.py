"""The `context` list of a rule or foreach: Kyverno's checks of it, and loaders of its entries.

Loaders are imported for the first entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from chartkit.engine.context.context import Context
from chartkit.engine.context.variables.syntax import has_variable
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, text_of

if TYPE_CHECKING:
    from chartkit.engine.context.entries.loader import EntryLoader

_PREDEFINED = (
    "images",
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
)


def check_entries(entries: Json, *, cel: bool = False, namespaced: bool = False) -> str | None:
    """The first fault of a rule's `context`, in Kyverno's words; None if it is sound.

    cel: whether the rule validates with CEL, which takes no context entries; namespaced: whether
    it is a Policy's, which takes no data of the whole cluster.
    """
    if not entries:
        return None
    if cel:
        return "context variables are not supported for CEL expressions in validate rules"
    for entry in entries:
        if fault := _entry_fault(entry, namespaced):
            return fault
    return None


def _entry_fault(entry: Body, namespaced: bool) -> str | None:
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


class ContextEntries(NamedTuple):
    """Compiled entries; `attach` gives them to a context, in their order."""

    loaders: tuple[EntryLoader | str, ...]
    policy: str
    rule: str

    def attach(self, context: Context) -> None:
        """Gives a context the user's values for the rule, then defers the entries.

        Raises `EvaluationError` for an entry that cannot be prepared; the rule's message is
        `failed to load context: ` and its text.
        """
        if values := context.world.mocks.rule_values(self.policy, self.rule):
            context.add_variables(values)
        if not self.loaders:
            return
        ready = [loader for loader in self.loaders if not _is_answered(loader, context)]
        for loader in ready:
            if isinstance(loader, str):
                raise EvaluationError(
                    f"failed to create deferred loader for context entry {loader}"
                )
            context.defer(loader)


def _is_answered(loader: EntryLoader | str, context: Context) -> bool:
    """Report whether a call needs not be made: the user gave its value, or recorded its answer."""
    from chartkit.engine.context.entries.api_call import ApiCallLoader

    if not isinstance(loader, ApiCallLoader):
        return False
    mocks = context.world.mocks
    if mocks.has_recorded and loader.prepare(context):
        return True
    return mocks.values_answer_calls and loader.name in context.data


def compile_entries(
    entries: Json, *, policy: str = "", rule: str = "", namespace: str = ""
) -> ContextEntries:
    """Compiles a `context` list.

    policy, rule: the names under which the user's values are looked up; namespace: of a namespaced
    policy, which its entries may not leave. What is wrong with an entry is found by
    `check_entries`; here it becomes an error when it is loaded.
    """
    given = entries if isinstance(entries, list | tuple) else ()
    loaders = tuple(_compile(entry, namespace) for entry in given if isinstance(entry, dict))
    return ContextEntries(loaders, policy, rule)


def _compile(entry: Body, namespace: str) -> EntryLoader | str:
    from chartkit.engine.context.entries import api_call
    from chartkit.engine.context.entries import loader as own

    loaders: dict[str, Callable[[str, Body, str], EntryLoader]] = {
        "configMap": own.ConfigMapLoader,
        "apiCall": api_call.ApiCallLoader,
        "globalReference": own.GlobalReferenceLoader,
        "imageRegistry": own.ImageRegistryLoader,
        "variable": own.VariableLoader,
    }
    name = text_of(entry.get("name"))
    for kind, loader in loaders.items():
        body = entry.get(kind)
        if isinstance(body, dict):
            try:
                return loader(name, body, namespace)
            except own.EntryNameError:
                return name
    return name

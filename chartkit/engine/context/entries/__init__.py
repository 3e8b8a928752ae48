"""Context entries of rules and foreach blocks, compiled once and loaded when they are named.

Their checks and loaders are imported for the first entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from chartkit.engine.context.context import Context
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, text_of

if TYPE_CHECKING:
    from chartkit.engine.context.entries.loader import EntryLoader


def check_entries(entries: Json, *, cel: bool = False, namespaced: bool = False) -> str | None:
    """The first fault of a rule's `context`, in Kyverno's words; None if it is sound.

    cel: whether the rule validates with CEL, which takes no context entries; namespaced: whether
    it is a Policy's, which takes no data of the whole cluster.
    """
    if not entries:
        return None
    if cel:
        return "context variables are not supported for CEL expressions in validate rules"
    from chartkit.engine.context.entries.loader import entry_fault

    for entry in entries:
        if fault := entry_fault(entry, namespaced):
            return fault
    return None


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
    policy, which its entries may not leave. `check_entries` finds the faults of entries; here a
    fault becomes an error on loading.
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

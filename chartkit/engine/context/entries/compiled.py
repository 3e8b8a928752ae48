"""The `context` list of a rule or foreach, as loaders that a context defers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chartkit.engine.context.context import Context
from chartkit.engine.context.entries.api_call import ApiCallLoader
from chartkit.engine.context.entries.loader import EntryLoader, EntryNameError
from chartkit.engine.context.entries.outside import (
    ConfigMapLoader,
    GlobalReferenceLoader,
    ImageRegistryLoader,
)
from chartkit.engine.context.entries.variable import VariableLoader
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json

_KINDS: tuple[tuple[str, Callable[[str, Body, str], EntryLoader]], ...] = (
    ("configMap", ConfigMapLoader),
    ("apiCall", ApiCallLoader),
    ("globalReference", GlobalReferenceLoader),
    ("imageRegistry", ImageRegistryLoader),
    ("variable", VariableLoader),
)


class ContextEntries:
    """Compiled entries; `attach` gives them to a context, in their order."""

    __slots__ = ("_loaders", "_policy", "_rule")

    def __init__(self, loaders: Sequence[EntryLoader | str], policy: str, rule: str) -> None:
        self._loaders = tuple(loaders)
        self._policy = policy
        self._rule = rule

    def attach(self, context: Context) -> None:
        """Gives a context the user's values for the rule, then defers the entries.

        Raises `EvaluationError` for an entry that cannot be prepared; the rule's message is
        `failed to load context: ` and its text.
        """
        values = context.world.mocks.rule_values(self._policy, self._rule)
        if values:
            context.add_variables(values)
        if not self._loaders:
            return
        ready = [loader for loader in self._loaders if not _is_answered(loader, context)]
        for loader in ready:
            if isinstance(loader, str):
                raise EvaluationError(
                    f"failed to create deferred loader for context entry {loader}"
                )
            context.defer(loader)


def _is_answered(loader: EntryLoader | str, context: Context) -> bool:
    """Return whether a call needs not be made: the user gave its value, or recorded its answer."""
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

    policy, rule: the names under which the user's values are looked up; namespace: that of a
    namespaced policy, which its entries may not leave. What is wrong with an entry is found by
    `check_entries`; here it becomes an error when it is loaded.
    """
    loaders: list[EntryLoader | str] = []
    for entry in entries if isinstance(entries, list | tuple) else ():
        if isinstance(entry, dict):
            loaders.append(_compile(entry, namespace))
    return ContextEntries(loaders, policy, rule)


def _compile(entry: Body, namespace: str) -> EntryLoader | str:
    name = entry.get("name")
    name = name if isinstance(name, str) else ""
    for kind, loader in _KINDS:
        body = entry.get(kind)
        if isinstance(body, dict):
            try:
                return loader(name, body, namespace)
            except EntryNameError:
                return name
    return name

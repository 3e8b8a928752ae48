"""The variable of a name: of a comprehension around it, or of the environment."""

from __future__ import annotations

from chartkit.engine.cel.ast import Select, qualified_name
from chartkit.engine.cel.checker.tables import Tables
from chartkit.engine.cel.types import Type


class Scopes:
    """The variables of the comprehensions around a place, innermost last."""

    __slots__ = ("_local", "_tables")

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._local: list[dict[str, Type]] = []

    def enter(self, variables: dict[str, Type]) -> None:
        """From here until `leave`, these variables hide others of the same name."""
        self._local.append(variables)

    def leave(self) -> None:
        """Ends what the last `enter` began."""
        self._local.pop()

    def find(self, name: str) -> tuple[str, Type] | None:
        """A name's variable: how it is called from now on, and its type.

        `.x` is never a comprehension's variable; it keeps its dot where there is one of that name.
        """
        bare = name.removeprefix(".")
        local = self._find_local(bare)
        if local is not None and name[0] != ".":
            return name, local
        found = self._tables.global_type(bare)
        if found is None:
            return None
        return (bare if local is None else f".{bare}"), found

    def find_qualified(self, select: Select) -> tuple[str, Type] | None:
        """The variable whose name is the whole of `a.b.c`; None where it selects fields."""
        qualified = qualified_name(select)
        if qualified is None:
            return None
        root = qualified.removeprefix(".").partition(".")[0]
        if root not in self._tables.dotted:
            return None
        local = self._find_local(root)
        if local is not None and qualified[0] != ".":
            return None
        bare = qualified.removeprefix(".")
        found = self._tables.global_type(bare)
        if found is None:
            return None
        return (bare if local is None else f".{bare}"), found

    def _find_local(self, name: str) -> Type | None:
        for scope in reversed(self._local):
            found = scope.get(name)
            if found is not None:
                return found
        return None

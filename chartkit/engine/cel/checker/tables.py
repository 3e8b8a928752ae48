"""The declarations of an environment, indexed for the checker, and the variable of a name: of a
comprehension around it, or of the environment.

An overload is found once for each combination of argument types and remembered with the functions
of the environment, which every environment that is extended by variables shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chartkit.engine.cel.ast import Select, qualified_name
from chartkit.engine.cel.checker.unification import plain_kinds
from chartkit.engine.cel.declarations import Environment, Function, Overload
from chartkit.engine.cel.types import Type, TypeKind, struct, type_of_type

_REMEMBERED_CALLS = 512


@dataclass(frozen=True, slots=True)
class Candidate:
    """An overload; variables: the names of its type variables; kinds: of its parameters."""

    overload: Overload
    variables: tuple[str, ...]
    kinds: tuple[TypeKind | None, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of resolving a call: its overloads and type, and the number of type variables
    used.

    ids: empty where no overload matches.
    """

    ids: tuple[str, ...]
    returns: Type
    variables: int


@dataclass(slots=True)
class Signatures:
    """The overloads of a function by the way they are called, and what calls came to so far."""

    name: str
    members: tuple[Candidate, ...]
    globals: tuple[Candidate, ...]
    known: dict[tuple[bool, tuple[Type, ...]], Resolution] = field(default_factory=dict)

    def remember(self, member: bool, arguments: tuple[Type, ...], found: Resolution) -> None:
        """Keeps a resolution; a bounded number, because types can be made up without end."""
        if len(self.known) >= _REMEMBERED_CALLS:
            self.known.clear()
        self.known[member, arguments] = found


@dataclass(frozen=True, slots=True)
class Tables:
    """An environment's names; dotted: the first parts of the names that have a dot in them."""

    environment: Environment
    functions: Mapping[str, Signatures]
    dotted: frozenset[str]

    def global_type(self, name: str) -> Type | None:
        """The type of a variable, or of a type that is used as a value; None for neither."""
        variable = self.environment.variables.get(name)
        if variable is not None:
            return variable.type
        declared = self.environment.find_struct(name)
        return None if declared is None else type_of_type(declared.literal_type or struct(name))


def tables_of(environment: Environment) -> Tables:
    """Return the tables of an environment, made when they are first needed."""
    tables: Tables | None = environment.of_environment.get(Tables)
    if tables is None:
        tables = environment.of_environment[Tables] = _tables(environment)
    return tables


def _tables(environment: Environment) -> Tables:
    functions = environment.of_functions.get(Signatures)
    if functions is None:
        functions = {each.name: _signatures(each) for each in environment.functions.values()}
        environment.of_functions[Signatures] = functions
    names = (*environment.variables, *environment.structs)
    # Below a type that takes any field every name is a type.
    open_types = {each.name for each in environment.structs.values() if each.fields is None}
    dotted = frozenset(name.partition(".")[0] for name in names if "." in name) | open_types
    return Tables(environment, functions, dotted)


def _signatures(function: Function) -> Signatures:
    candidates = [
        Candidate(each, _variables(each), plain_kinds(each.parameters))
        for each in function.overloads
    ]
    return Signatures(
        function.name,
        tuple(each for each in candidates if each.overload.member),
        tuple(each for each in candidates if not each.overload.member),
    )


def _variables(overload: Overload) -> tuple[str, ...]:
    names: dict[str, None] = {}
    pending = [overload.returns, *overload.parameters]
    while pending:
        each = pending.pop(0)
        if each.kind is TypeKind.PARAMETER:
            names[each.name] = None
        pending.extend(each.parameters)
    return tuple(names)


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
        return self._global(bare, is_hidden=local is not None)

    def _global(self, name: str, *, is_hidden: bool) -> tuple[str, Type] | None:
        found = self._tables.global_type(name)
        return None if found is None else (f".{name}" if is_hidden else name, found)

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
        return self._global(qualified.removeprefix("."), is_hidden=local is not None)

    def _find_local(self, name: str) -> Type | None:
        for scope in reversed(self._local):
            found = scope.get(name)
            if found is not None:
                return found
        return None

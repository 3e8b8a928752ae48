"""The overloads of a call, and their result types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chartkit.engine.cel.ast import Select, qualified_name
from chartkit.engine.cel.checker.unification import Variables, is_closed, is_same, plain_kinds
from chartkit.engine.cel.declarations import Environment, Function, Overload
from chartkit.engine.cel.types import DYN, ERROR, Type, TypeKind, parameter, struct, type_of_type

_REMEMBERED_CALLS = 512
"""The most resolutions of a function that are kept: types can be made up without end."""


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
    """The overloads of a function by the way they are called, and the resolutions so far."""

    name: str
    members: tuple[Candidate, ...]
    globals: tuple[Candidate, ...]
    known: dict[tuple[bool, tuple[Type, ...]], Resolution] = field(default_factory=dict)


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
    """The tables of an environment, made when they are first needed."""
    tables: Tables | None = environment.of_environment.get(Tables)
    if tables is None:
        tables = environment.of_environment[Tables] = _tables(environment)
    return tables


def _tables(environment: Environment) -> Tables:
    functions = environment.of_functions.get(Signatures)
    if functions is None:
        functions = {item.name: _signatures(item) for item in environment.functions.values()}
        environment.of_functions[Signatures] = functions
    names = (*environment.variables, *environment.structs)
    # Below a type that takes any field every name is a type.
    open_types = {struct.name for struct in environment.structs.values() if struct.fields is None}
    dotted = frozenset(name.partition(".")[0] for name in names if "." in name) | open_types
    return Tables(environment, functions, dotted)


def _signatures(function: Function) -> Signatures:
    candidates = [
        Candidate(overload, _variables(overload), plain_kinds(overload.parameters))
        for overload in function.overloads
    ]
    return Signatures(
        function.name,
        tuple(candidate for candidate in candidates if candidate.overload.member),
        tuple(candidate for candidate in candidates if not candidate.overload.member),
    )


def _variables(overload: Overload) -> tuple[str, ...]:
    names: dict[str, None] = {}
    pending = [overload.returns, *overload.parameters]
    while pending:
        type_ = pending.pop(0)
        if type_.kind is TypeKind.PARAMETER:
            names[type_.name] = None
        pending.extend(type_.parameters)
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
        type_ = self._tables.global_type(name)
        return None if type_ is None else (f".{name}" if is_hidden else name, type_)

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
            type_ = scope.get(name)
            if type_ is not None:
                return type_
        return None


def resolve_overloads(
    signatures: Signatures, member: bool, arguments: tuple[Type, ...], variables: Variables
) -> Resolution:
    """The resolution of a call with arguments of these types; without ids if nothing matches."""
    closed = not variables.open or all(map(is_closed, arguments))
    if closed:
        cached = signatures.known.get((member, arguments))
        if cached is not None:
            variables.made += cached.variables
            return cached
    before = variables.made
    matched: list[str] = []
    common: Type | None = None
    kinds = plain_kinds(arguments)
    for candidate in signatures.members if member else signatures.globals:
        # Variables are made anew for each overload, also for one that does not match: their
        # numbers show in messages.
        first = variables.made
        variables.made += len(candidate.variables)
        if len(kinds) != len(candidate.kinds):
            differ = True
        else:
            differ = False
            for kind, other in zip(kinds, candidate.kinds, strict=True):
                if kind is not other and kind is not None and other is not None:
                    differ = True
                    break
        if differ:
            continue
        overload = candidate.overload
        if not candidate.variables:
            taken = variables.assign_all(arguments, overload.parameters)
            result = overload.returns if taken else None
        else:
            fresh = {
                name: parameter(f"_var{first + position}")
                for position, name in enumerate(candidate.variables)
            }
            taken = variables.assign_all(
                arguments, [_renamed(arg, fresh) for arg in overload.parameters]
            )
            result = variables.replaced(_renamed(overload.returns, fresh)) if taken else None
        if result is None:
            continue
        matched.append(candidate.overload.id)
        if common is None:
            common = result
        elif not common.is_dynamic and not is_same(result, common):
            common = DYN
    ids, returns = tuple(matched), common or ERROR
    resolution = Resolution(ids, returns, variables.made - before)
    if not is_closed(returns):
        variables.open = True
    elif closed:
        if len(signatures.known) >= _REMEMBERED_CALLS:
            signatures.known.clear()
        signatures.known[member, arguments] = resolution
    return resolution


def _renamed(value: Type, fresh: dict[str, Type]) -> Type:
    if value.kind is TypeKind.PARAMETER:
        return fresh[value.name]
    if not value.parameters:
        return value
    return Type(value.kind, value.name, tuple(_renamed(part, fresh) for part in value.parameters))

"""Declarations of functions, macros, types and libraries, and the environments made of them.

One decorator declares one overload with its code; the checker, the compiler and
`docs/reference/cel.md` read the same declaration:

    @overload("string_char_at_int: string.charAt(int) -> string")
    def char_at(text: str, place: int) -> str: ...

Code that exists or is one expression is declared in a table (`overloads`). What a function means,
and examples of it, are in the `functions.yaml` of its folder, under the id of the overload.
An implementation takes arguments whose classes were checked against the declared parameters
(lists and maps by their class alone, not their members) and raises `CelError` for what has no
value. It never changes an argument and never returns None for "nothing": None is CEL's null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.notation import parse_signature
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel.types import Type, struct, type_of_type
from chartkit.engine.cel.values import Struct, Value
from chartkit.registration import declarations

Implementation = Callable[..., Any]
Cost = Callable[[Sequence[Value], Value], int]
"""The cost of a call, from its arguments and its result, in cel-go's units."""
Work = Callable[[Sequence[Value], Value], int]
"""The work of a call beyond the work of calls of its sizes, in members visited (`Frame.work`)."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function with its code.

    id: cel-go's name of the overload; parameters: the receiver first for a member; hosted: the
    implementation takes the `Host` of the evaluation before its arguments; cost: None for 1;
    work: of functions that take long, None for all others; bind: makes the implementation for one
    call, where it depends on how the arguments are written; newer: the same under the name that
    replaced this one.
    """

    function: str
    id: str
    parameters: tuple[Type, ...]
    returns: Type
    implementation: Implementation
    member: bool = False
    hosted: bool = False
    cost: Cost | None = None
    bind: Callable[[Sequence[Expr]], Implementation] | None = None
    work: Work | None = None
    newer: Overload | None = None


def overload(
    signature: str, *, hosted: bool = False, cost: Cost | None = None, work: Work | None = None
) -> Callable[[Implementation], Overload]:
    """Declare an overload, as `parse_signature` reads it; the decorated name becomes it."""
    parsed = parse_signature(signature)

    def declare(implementation: Implementation) -> Overload:
        return Overload(
            parsed.function,
            parsed.id,
            parsed.parameters,
            parsed.returns,
            implementation,
            parsed.member,
            hosted,
            cost,
            work=work,
        )

    return declare


def overloads(
    code: Mapping[str, Implementation], *, cost: Cost | None = None, work: Work | None = None
) -> tuple[Overload, ...]:
    """Declare overloads by their signatures, all of one cost and work."""
    return tuple(overload(signature, cost=cost, work=work)(code[signature]) for signature in code)


def declared(namespace: Mapping[str, object]) -> tuple[Overload, ...]:
    """Return the overloads that a module declares, in the order of the source."""
    return declarations(Overload, namespace)


@dataclass(frozen=True, slots=True)
class Function:
    """Every overload of one name, in the order of their declaration."""

    name: str
    overloads: tuple[Overload, ...]


Expander = Callable[[Builder, Expr | None, tuple[Expr, ...]], "Expr | None"]
"""From target and arguments to the expansion; None where the call is not a macro after all."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: `function(args)` or, with receiver, `target.function(args)`.

    usage: how it is written, as the documentation shows it; arguments: how many it takes, None for
    any number (`optFlatMap` has 2, `math.greatest` any).
    """

    function: str
    usage: str
    receiver: bool
    arguments: int | None
    expand: Expander


def macro(usage: str, expand: Expander, *, any_number: bool = False) -> Macro:
    """Declare a macro by its usage: `has(field)`, `items.all(x, condition)`.

    any_number: it takes any number of arguments.
    """
    head, _, inner = usage.partition("(")
    _, dot, name = head.rpartition(".")
    count = None if any_number else inner.count(",") + 1
    return Macro(name, usage, bool(dot), count, expand)


@dataclass(frozen=True, slots=True)
class StructType:
    """A named type with fields.

    fields: their types by name; None where any name may be used with any value (then `field_type`
    of the checker answers dyn). construct: makes the value of `Name{…}` from the fields that were
    set; None where a literal of the type is not allowed. holder: the types that share its shape.
    """

    name: str
    fields: Mapping[str, Type] | None
    construct: Callable[[Mapping[str, Value]], Value] | None = None
    literal_type: Type | None = None
    """The type that a literal has where it is not the struct itself (protobuf's wrappers)."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A name with its type; value: of a constant that the library brings (`has_value`)."""

    type: Type
    value: Value = None
    has_value: bool = False


def type_constants(*kinds: Type) -> dict[str, Variable]:
    return {kind.name: Variable(type_of_type(kind), kind, has_value=True) for kind in kinds}


@dataclass(frozen=True, slots=True)
class Library:
    """Functions, macros, types and names that come together; documented: the name of their section
    in `functions.yaml`, empty for the name of the library."""

    name: str
    overloads: tuple[Overload, ...] = ()
    macros: tuple[Macro, ...] = ()
    structs: tuple[StructType, ...] = ()
    variables: Mapping[str, Variable] = field(default_factory=lambda: MappingProxyType({}))
    documented: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an environment besides its libraries.

    homogeneous: the members of a list or map literal must have one type; validate: literals that
    can never be right do not compile; fold: constant parts are evaluated when the program is made,
    and their errors are the program's; cost_limit: how much one evaluation may cost, None for any.
    """

    homogeneous: bool = True
    validate: bool = True
    fold: bool = True
    cost_limit: int | None = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """The names that an expression may use, and how strictly it is read.

    Each is equal to itself alone, so that what is made of it can be remembered with it.
    """

    name: str
    functions: Mapping[str, Function]
    macros: Mapping[tuple[str, bool, int | None], Macro]
    structs: Mapping[str, StructType]
    variables: Mapping[str, Variable]
    options: Options
    libraries: tuple[Library, ...]
    of_functions: dict[object, Any] = field(default_factory=dict, repr=False)
    """Tables made of the functions when needed; environments that add only variables share them."""
    of_environment: dict[object, Any] = field(init=False, default_factory=dict, repr=False)
    """Tables made of the whole environment when needed."""

    def find_struct(self, name: str) -> StructType | None:
        """The type with fields of that name.

        Beside the declared ones: below a type that takes any field, such as `Object`, every
        dotted name is a type of the same shape: `Object.spec.template`.
        """
        struct_type = self.structs.get(name)
        if struct_type is not None or "." not in name:
            return struct_type
        base = self.structs.get(name.partition(".")[0])
        if base is None or base.fields is not None:
            return None
        return StructType(name, None, partial(Struct, struct(name)))

    def extend(
        self,
        variables: Mapping[str, Variable] | None = None,
        structs: tuple[StructType, ...] = (),
        name: str | None = None,
    ) -> Environment:
        """This environment with more names; the new ones win."""
        return replace(
            self,
            name=name or self.name,
            variables=MappingProxyType({**self.variables, **(variables or {})}),
            structs=MappingProxyType({**self.structs, **{type_.name: type_ for type_ in structs}}),
        )


def environment(
    name: str, libraries: tuple[Library, ...], options: Options | None = None
) -> Environment:
    """The environment made of some libraries; a later one's overload of the same id wins."""
    overloads: dict[str, dict[str, Overload]] = {}
    macros: dict[tuple[str, bool, int | None], Macro] = {}
    structs: dict[str, StructType] = {}
    variables: dict[str, Variable] = {}
    for library in libraries:
        for overload in library.overloads:
            overloads.setdefault(overload.function, {})[overload.id] = overload
        macros.update({(m.function, m.receiver, m.arguments): m for m in library.macros})
        structs.update({struct_type.name: struct_type for struct_type in library.structs})
        variables.update(library.variables)
    return Environment(
        name,
        MappingProxyType(
            {name: Function(name, tuple(table.values())) for name, table in overloads.items()}
        ),
        MappingProxyType(macros),
        MappingProxyType(structs),
        MappingProxyType(variables),
        options or Options(),
        libraries,
    )

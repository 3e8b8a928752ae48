"""The part of an object that a policy's expressions and match constraints read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from chartkit.engine.cel.footprint import read_program
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel_policies.policy import MatchConstraints
from chartkit.engine.footprint import NOTHING_READ, Footprint, Root, UnboundedError, Values

_SAME: Final = frozenset(("oldObject", "namespaceObject"))
"""Variables that are the same for all new objects of a namespace."""


def read_programs(programs: Iterable[Program], variables: Mapping[str, Program]) -> Footprint:
    """Return what programs read of an object that is new; variables: those that they may name.

    Raise `UnboundedError`.
    """
    scope = _Scope(variables)
    for each in programs:
        read_program(each, scope.find).read()
    return scope.object


def read_constraints(constraints: MatchConstraints, found: Footprint) -> None:
    """Note what match constraints read: the namespace and its labels are not noted."""
    metadata = found.member("metadata")
    if any(rule.names for rule in (*constraints.rules, *constraints.excluded)):
        metadata.member("name").is_whole = True
        metadata.member("generateName").is_whole = True
    if constraints.object_selector is not None:
        metadata.member("labels").is_whole = True


class _Scope:
    """The variables of a policy; object: what is read of the object."""

    __slots__ = ("_known", "_programs", "object")

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self.object = Footprint()
        self._programs = programs
        whole = Values([(self.object, 0)])
        self._known: dict[str, Values] = {"object": whole, "request": _Request(self.object)}

    def find(self, name: str) -> Values | None:
        """Return the values of a variable; None for a name that is none."""
        if name == "variables":
            return _Variables(self)
        return NOTHING_READ if name in _SAME else self._known.get(name)

    def variable(self, name: str) -> Values:
        """Return the values of one of `variables`; raise `UnboundedError`."""
        key = f"variables.{name}"
        found = self._known.get(key)
        if found is None:
            program = self._programs.get(name)
            if program is None:
                raise UnboundedError(key)
            found = self._known[key] = read_program(program, self.find)
        return found


class _Request(Root):
    """The variable `request`."""

    __slots__ = ("_object",)

    def __init__(self, found: Footprint) -> None:
        super().__init__({"object": Values([(found, 0)])})
        self._object = found

    def member(self, name: str) -> Values:
        if name == "name":
            return Values([(self._object.member("metadata").member("name"), 0)])
        return super().member(name)


class _Variables(Root):
    """The variable `variables`."""

    __slots__ = ("_scope",)

    def __init__(self, scope: _Scope) -> None:
        super().__init__({})
        self._scope = scope

    def member(self, name: str) -> Values:
        return self._scope.variable(name)

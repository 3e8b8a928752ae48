"""CEL on its own, with every extension of the reference implementation."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Environment, Library, environment
from chartkit.engine.cel.library import standard
from chartkit.engine.cel.library.extensions import (
    bindings,
    encoders,
    lists,
    maths,
    optionals,
    regexes,
    sets,
    strings,
    two_variable,
)

_LIBRARIES: Final[tuple[Library, ...]] = (
    standard.LIBRARY,
    optionals.LIBRARY,
    bindings.LIBRARY,
    encoders.LIBRARY,
    lists.LIBRARY,
    maths.LIBRARY,
    bindings.PROTOS_LIBRARY,
    sets.LIBRARY,
    strings.LIBRARY,
    regexes.LIBRARY,
    two_variable.LIBRARY,
)


def make_environment(name: str) -> Environment:
    """The environment `standard`."""
    return environment(name, _LIBRARIES)

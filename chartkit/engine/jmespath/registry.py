"""Every function of the language, in one explicit table."""

from __future__ import annotations

from chartkit.engine.jmespath.declaration import FunctionSpec
from chartkit.engine.jmespath.functions import (
    arithmetic,
    collections,
    encodings,
    identities,
    patterns,
    selection,
    strings,
    times,
    x509,
)

_MODULES = (
    arithmetic.FUNCTIONS,
    collections.FUNCTIONS,
    encodings.FUNCTIONS,
    identities.FUNCTIONS,
    patterns.FUNCTIONS,
    selection.FUNCTIONS,
    strings.FUNCTIONS,
    times.FUNCTIONS,
    x509.FUNCTIONS,
)

FUNCTIONS: dict[str, FunctionSpec] = {spec.name: spec for module in _MODULES for spec in module}


def functions() -> tuple[FunctionSpec, ...]:
    """Every function, by name."""
    return tuple(FUNCTIONS[name] for name in sorted(FUNCTIONS))

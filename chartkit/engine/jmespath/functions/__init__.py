"""The functions of the language, a module for each kind; declaring one registers it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chartkit.engine.jmespath.declaration import FunctionSpec
from chartkit.registration import declarations, modules

_SPECS: Final = [
    spec for module in modules(__name__) for spec in declarations(FunctionSpec, vars(module))
]

FUNCTIONS: Final[Mapping[str, FunctionSpec]] = MappingProxyType(
    {spec.name: spec for spec in sorted(_SPECS, key=lambda spec: spec.name)}
)
"""Every function of every module in this folder, by name."""

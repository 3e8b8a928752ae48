"""Registration by declaration: tables of what modules declare.

A function, an overload or a rule is an object at the top level of its module. Tables collect these
objects, so that nothing that is declared can be left out.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TypeVar

_Declared = TypeVar("_Declared")


def declarations(kind: type[_Declared], namespace: Mapping[str, object]) -> tuple[_Declared, ...]:
    """Return the objects of a class in a module's namespace, in the order of the source.

    The members of tuples count too. An object with several names counts once.
    """
    objects = {
        id(member): member
        for value in namespace.values()
        for member in (value if isinstance(value, tuple) else (value,))
        if isinstance(member, kind)
    }
    return tuple(objects.values())


def modules(package: str) -> tuple[ModuleType, ...]:
    """Import every module of a package, in the order of their names."""
    folders = import_module(package).__path__
    names = [module.name for module in pkgutil.iter_modules(folders)]
    return tuple(import_module(f"{package}.{name}") for name in names)

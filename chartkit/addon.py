"""Add-ons: packages of `chartkit.addons` that declare the commands and ports that they bring.

The core names no module of an add-on, only add-ons and what they bring. Without its package an
add-on brings nothing, and everything else works.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from chartkit.errors import InputError
from chartkit.registration import declarations, modules

_PACKAGE: Final = "chartkit.addons"


@dataclass(frozen=True, slots=True)
class Addon:
    """The commands and ports of an add-on, each by its place (`module:attribute`).

    commands: by their names, with a summary for `chartkit --help`; `values migrate` is a subcommand
    of `values`. ports: what the core asks for, by the names in its calls of `port`.
    """

    name: str
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    ports: Mapping[str, str] = field(default_factory=dict)


class MissingAddonError(InputError):
    """Something needs an add-on that is not installed."""

    def __init__(self, name: str, what: str) -> None:
        hint = "install chartkit whole: its releases have every add-on"
        super().__init__(f"{what} needs the add-on '{name}', which is not installed", hint=hint)


@cache
def addons() -> Mapping[str, Addon]:
    """Return the installed add-ons by their names."""
    if find_spec(_PACKAGE) is None:
        return {}
    rows = (addon for module in modules(_PACKAGE) for addon in declarations(Addon, vars(module)))
    return {addon.name: addon for addon in rows}


def loaded(target: str) -> Any:
    """Import a module and return an attribute of it; target: `module:attribute`."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def required(addon: str, what: str) -> Addon:
    """Return an add-on; raise MissingAddonError, whose message begins with what needs it."""
    if (installed := addons().get(addon)) is None:
        raise MissingAddonError(addon, what)
    return installed


def port(addon: str, name: str, what: str) -> Any:
    """Return the value that an add-on provides under a name; raise MissingAddonError as `required`
    does."""
    return loaded(required(addon, what).ports[name])


def subcommands(group: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and commands that add-ons bring for a command of the core."""
    for addon in addons().values():
        for name, (target, _) in addon.commands.items():
            if name.startswith(f"{group} "):
                yield name.removeprefix(f"{group} "), loaded(target)

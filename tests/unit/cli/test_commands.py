"""The table of sub-commands: each command of the package is in it, by the name that it has."""

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import click

import chartkit
from chartkit.cli.main import cli, commands


def declared() -> Iterator[click.Command]:
    """Yield the commands of the package that belong to no group."""
    found = [
        one
        for each in pkgutil.walk_packages(chartkit.__path__, "chartkit.")
        if re.match(r"chartkit\.(cli|addons)\b", each.name)
        for one in vars(import_module(each.name)).values()
        if isinstance(one, click.Command)
    ]
    below = {
        id(one)
        for group in found
        if isinstance(group, click.Group) and group is not cli
        for one in group.commands.values()
    }
    yield from (one for one in found if id(one) not in below and one is not cli)


def test_each_command_is_registered() -> None:
    context = click.Context(cli)
    registered = [cli.get_command(context, name) for name in commands()]
    assert {id(one): one.name for one in declared()} == {
        id(one): one.name for one in registered if one is not None
    }
    for name, (where, _) in commands().items():
        command = cli.get_command(context, name)
        assert command is not None, where
        assert command.name == name

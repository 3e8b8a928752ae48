"""What `--help` says: of every command, with every option."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from chartkit.cli.main import cli


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


COMMANDS = dict(commands(cli, "chartkit"))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_says_what_it_is(path: str) -> None:
    for parameter in COMMANDS[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts
            assert parameter.help.endswith("."), parameter.opts
            is_choice = isinstance(parameter.type, click.Choice)
            if is_choice and isinstance(parameter.default, str):
                assert parameter.show_default or parameter.default in parameter.help


@pytest.mark.parametrize("path", COMMANDS)
def test_nothing_is_cut_off(path: str) -> None:
    context = click.Context(COMMANDS[path], info_name=path, terminal_width=80)
    assert "..." not in COMMANDS[path].get_help(context).replace("[ARGS]...", "")

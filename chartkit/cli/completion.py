"""`chartkit completion`: the script with which a shell completes commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from chartkit.cli.options.groups import Choice

_SHELLS: Final[dict[str, type[ShellComplete]]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


@click.command()
@click.argument("shell", type=Choice(list(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and file names in SHELL.

    bash and zsh load it with `eval "$(chartkit completion bash)"` in ~/.bashrc or ~/.zshrc, fish
    with `chartkit completion fish | source`.
    """
    command = context.find_root().command
    click.echo(_SHELLS[shell](command, {}, "chartkit", "_CHARTKIT_COMPLETE").source())

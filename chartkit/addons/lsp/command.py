"""`chartkit lsp`: serve an editor at standard input and output."""

from __future__ import annotations

import click

from chartkit.cli.options import environment_option, helm_option
from chartkit.errors import InputError, extra


@click.command(short_help="Serve an editor (Language Server Protocol).")
@click.option(
    "-p",
    "--policies",
    "named_policies",
    multiple=True,
    metavar="PATH|PROFILE",
    help="A policy file, a folder, a chart or a profile that judges all files, in place of the "
    "policies of projects; repeatable.",
)
@environment_option
@helm_option()
@click.option("--stdio", is_flag=True, hidden=True, expose_value=False, help="The only way.")
def lsp(named_policies: tuple[str, ...], env: str | None) -> None:
    """Serve an editor, which starts this command, at standard input and output.

    Shows what policies say of manifests and charts while they are written, and what is wrong with
    policies, tests and chartkit.yaml; explains, completes and offers fixes. Writes no file.
    """
    try:
        from chartkit.addons.lsp.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise InputError("the package pygls is not installed", hint=extra("lsp")) from None
    from chartkit.addons.lsp.session import Session

    if named_policies and env is not None:
        raise InputError("--policies and --env do not go together", hint="leave one of them out")
    serve(Session(env=env, named=named_policies))

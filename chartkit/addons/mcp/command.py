"""`chartkit mcp`: offer chartkit to agents by the Model Context Protocol."""

from __future__ import annotations

import click

from chartkit.cli.options import number_option
from chartkit.errors import InputError, extra


@click.command()
@click.option(
    "--root",
    "roots",
    type=click.Path(exists=True, file_okay=False),
    multiple=True,
    metavar="FOLDER",
    help="A folder that tools may read, in place of the client's roots; repeatable. Default: the "
    "client's roots, or the current folder for a client that has none.",
)
@number_option("--seconds", (1, 3600), 50, "The longest that a call may take.", unit="N")
def mcp(roots: tuple[str, ...], seconds: int) -> None:
    """Offer chartkit to agents by the Model Context Protocol, over standard input and output.

    The tools judge objects, explain results, propose fixes, and check, test, preview and migrate
    policies. They read files below the roots alone, write nothing and open no connection.
    """
    import asyncio

    asyncio.run(_serve(roots, seconds))


async def _serve(roots: tuple[str, ...], seconds: int) -> None:
    from chartkit.addons.mcp.workers import Workers
    from chartkit.temporary import temporary_folder

    with temporary_folder() as folder:
        workers = Workers(folder, seconds)
        await workers.start()
        try:
            # Imported while the first process starts.
            from chartkit.addons.mcp.server import serve

            await serve(workers, roots)
        except ModuleNotFoundError as error:
            hint = extra("mcp")
            raise InputError(f"the package {error.name} is not installed", hint=hint) from None
        finally:
            await workers.close()

"""`chartkit playground`: serve the built page on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from chartkit.cli.options import number_option


@click.command()
@click.argument("folder", default="build/site/playground", type=click.Path(path_type=Path))
@number_option("--port", (0, 65535), 8000, "The port of 127.0.0.1 to listen at; 0 takes any.")
def playground(folder: Path, port: int) -> None:
    """Serve the playground, a page in which chartkit's engine runs policies in the browser, from
    the FOLDER that it was built in (build/site/playground if not given) to this machine alone.

    Ctrl-C ends it.
    """
    from chartkit.addons.playground.server import HOST, pages, serving

    with serving(pages(folder), port) as server:
        click.echo(f"the playground is at http://{HOST}:{server.server_port}/ (Ctrl-C ends it)")
        server.serve_forever()

"""`chartkit package` and `chartkit push`: the charts as archives, and in a registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chartkit.cli.options import helm_option, project_option

if TYPE_CHECKING:
    from chartkit.addons.operate.publish import ChartArchive

_FILE = click.Path(dir_okay=False, path_type=Path)


def _signing(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option(
            "--passphrase-file", type=_FILE, help="The file with the passphrase of the key."
        ),
        click.option(
            "--sign",
            "key",
            type=_FILE,
            metavar="KEY",
            help="Sign with the secret OpenPGP key of this file; `helm verify` checks it.",
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.option(
    "-d",
    "--destination",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("dist"),
    show_default=True,
    help="The folder for the archives.",
)
@_signing
@project_option
@helm_option()
def package(destination: Path, key: Path | None, passphrase_file: Path | None, path: Path) -> None:
    """Check the charts and pack them, as NAME-VERSION.tgz.

    The same charts give the same bytes. Exits 1, and writes nothing, if `chartkit render --check`
    would fail.
    """
    from chartkit.addons.operate import publish

    packed = _packed(path, key, passphrase_file)
    for archive, file in zip(packed, publish.write(packed, destination), strict=True):
        click.echo(f"{file}  {archive.digest}")


@click.command()
@click.argument("remote", metavar="oci://HOST/PATH")
@click.argument("files", nargs=-1, type=_FILE, metavar="[ARCHIVE…]")
@click.option("--plain-http", is_flag=True, help="Ask the registry without encryption.")
@click.option(
    "--overwrite", is_flag=True, help="Replace a version that is there with other content."
)
@_signing
@project_option
@helm_option()
def push(
    remote: str,
    files: Sequence[Path],
    plain_http: bool,
    overwrite: bool,
    key: Path | None,
    passphrase_file: Path | None,
    path: Path,
) -> None:
    """Push packed charts to an OCI registry, or check, pack and push the project's.

    Helm pushes, with its logins (`helm registry login`, Docker's). A version that is there with the
    same content is left alone; with other content, the command exits 1.
    """
    from chartkit.addons.operate import publish

    if files and (key or passphrase_file):
        raise click.UsageError("an ARCHIVE is pushed as it is: `package --sign` signs")
    to = publish.remote(remote)
    archives = [publish.read(file) for file in files] or _packed(path, key, passphrase_file)
    for archive in archives:
        reference, digest = publish.push(archive, to, plain_http, overwrite)
        state = f"@{digest}" if digest else " is there already"
        click.echo(f"{reference}{state}")


def _packed(path: Path, key: Path | None, passphrase: Path | None) -> tuple[ChartArchive, ...]:
    """Return a project's charts, packed; exit where one of its checks fails."""
    from chartkit.addons.operate import publish
    from chartkit.project.project import read_project
    from chartkit.render.cache import checked

    if passphrase and not key:
        raise click.UsageError("--passphrase-file belongs to --sign KEY")
    project = read_project(path)
    archives = publish.pack(project)
    if key:
        archives = publish.sign(archives, key, passphrase)
    result = checked(project, tuple(project.environments.values()))
    if result.drift:
        hint = "run `chartkit render`, and commit what it writes"
        raise publish.PublishError("the charts are not what chartkit.yaml gives", hint=hint)
    if result.failed:
        message = "a check of the charts fails"
        raise publish.PublishError(message, hint="`chartkit render --check` shows it")
    return archives

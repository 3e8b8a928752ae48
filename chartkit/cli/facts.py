"""`chartkit facts`: facts that are newer than chartkit's own."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import click

from chartkit.errors import InputError
from chartkit.model import Location

_LARGEST: Final = 1 << 20
"""The size of a file of facts in bytes; chartkit's own has 40,000."""
_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")
_ENDING: Final = ".sha256"


@click.group()
def facts() -> None:
    """Take newer facts about releases, dates of support and removed APIs."""


@facts.command(short_help="Use the facts of a file, or chartkit's own again.")
@click.argument("source", required=False, metavar="FILE|URL")
@click.option(
    "--sha256",
    "digest",
    metavar="DIGEST",
    help="The SHA-256 that the file must have. Default: that of URL#sha256=DIGEST, or of the file "
    "with the same name and .sha256 beside it.",
)
@click.option("--reset", is_flag=True, help="Use the facts that come with chartkit again.")
def update(source: str | None, digest: str | None, reset: bool) -> None:
    """Use the facts of FILE or URL, which are newer than chartkit's own, from now on.

    `chartkit --version --verbose` shows which facts are in use.
    """
    from chartkit.kyverno import releases
    from chartkit.kyverno.added_releases import read_facts
    from chartkit.kyverno.facts import forget, keep

    if reset == (source is not None) or (reset and digest):
        raise click.UsageError("give FILE, URL or --reset")
    if digest is not None and not _DIGEST.fullmatch(digest):
        raise click.UsageError("--sha256 takes 64 hexadecimal digits")
    if source is None:
        forget()
        click.echo(f"in use again: {releases.own_facts()}")
        return
    content, shown = _checked(source, digest)
    found, current = read_facts(content, shown), releases.facts()
    if found.day <= releases.own_facts().day:
        click.echo(f"nothing changed: {found.day} is not newer than {releases.own_facts()}")
        return
    if found.day < current.day:
        hint = "`chartkit facts update --reset` first, to go back"
        raise InputError(f"is older than the facts in use, of {current.day}", Location(shown), hint)
    keep(found)
    click.echo(f"in use now: {found}")


def _checked(source: str, digest: str | None) -> tuple[bytes, str]:
    """Return a file, and its name in messages; raise InputError for another digest than wanted."""
    from chartkit.network.downloads.lockfile import digest as digest_of
    from chartkit.network.http.urls import is_url

    read = partial(_downloaded if is_url(source) else _read, source)
    content, shown, pinned = read("")
    if not (wanted := digest or pinned):
        try:
            beside = read(_ENDING)[0]
        except InputError as error:
            hint = f"give --sha256 DIGEST, or put it into a file {_ENDING} beside it"
            message = f"nothing names the SHA-256 that it must have: {error}"
            raise InputError(message, Location(shown), hint) from None
        first = beside[:64].decode("ascii", "replace")
        if not _DIGEST.fullmatch(first):
            raise InputError("does not begin with a SHA-256", Location(shown + _ENDING))
        wanted = first
    if digest_of(content) != wanted.lower():
        hint = "take it anew, or ask who publishes it"
        message = f"has the SHA-256 {digest_of(content)}, and not {wanted.lower()}"
        raise InputError(message, Location(shown), hint)
    return content, shown


def _read(source: str, ending: str) -> tuple[bytes, str, str]:
    from chartkit.documents.input_files import read_bytes

    return read_bytes(Path(source + ending), _LARGEST), source, ""


def _downloaded(source: str, ending: str) -> tuple[bytes, str, str]:
    from chartkit.network.downloads.download import download
    from chartkit.network.downloads.limits import DEFAULT
    from chartkit.network.downloads.remote import read_remote

    remote = read_remote(source)
    if remote.is_git or remote.path:
        raise InputError("names no file", Location(remote.shown), "give the URL of the file itself")
    content = download(remote.url + ending, replace(DEFAULT, archive=_LARGEST))
    return content, remote.shown, remote.pin

"""`chartkit facts`: facts that are newer than chartkit's own."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chartkit.errors import InputError
from chartkit.model import Location

if TYPE_CHECKING:
    from chartkit.kyverno.releases import Facts

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
    from chartkit.cache_folder import FACTS, Store
    from chartkit.kyverno import releases
    from chartkit.kyverno.releases import FACTS_KEY, kept

    if reset == (source is not None) or (reset and digest):
        raise click.UsageError("give FILE, URL or --reset")
    if digest is not None and not _DIGEST.fullmatch(digest):
        raise click.UsageError("--sha256 takes 64 hexadecimal digits")
    if source is None:
        Store(FACTS).remove(FACTS_KEY)
        click.echo(f"in use again: {releases.own_facts()}")
        return
    content, shown = _checked(source, digest)
    newer, current = read_facts(content, shown), releases.facts()
    if newer.day <= releases.own_facts().day:
        click.echo(f"nothing changed: {newer.day} is not newer than {releases.own_facts()}")
        return
    if newer.day < current.day:
        hint = "`chartkit facts update --reset` first, to go back"
        raise InputError(f"is older than the facts in use, of {current.day}", Location(shown), hint)
    store = Store(FACTS)
    store.save(FACTS_KEY, {"body": newer.body, "source": newer.source, "digest": newer.digest})
    if kept() != newer:
        hint = "CHARTKIT_CACHE names another folder, to which only you may write"
        raise InputError(f"the facts cannot be kept in {store.folder}", hint=hint)
    click.echo(f"in use now: {newer}")


def read_facts(content: bytes, source: str) -> Facts:
    """Return the facts of a file; raise InputError for a mistake, and for older facts."""
    from chartkit.documents.input_files import decoded
    from chartkit.documents.reader import read_text
    from chartkit.kyverno.releases import (
        Facts,
        Section,
        check_rows,
        day_of,
        own_facts,
        schema,
        today,
    )
    from chartkit.kyverno.versions import parse_version
    from chartkit.schemas import json_schema

    documents = read_text(decoded(content, Location(source)), source)
    if len(documents) != 1:
        raise InputError("must hold one document", Location(source))
    (document,) = documents
    json_schema.require_single_keys(document)
    json_schema.require(document, schema("facts.schema.json"))
    section = Section(document, (), document.body)
    day = day_of(section, document.body["date"], "date")
    if day > today() + timedelta(days=1):
        raise InputError(f"{day} is not yet", document.locate("date"))
    check_rows(section, versions=())
    for key in ("kyverno", "eks"):
        there = {row["version"] for row in section.body[key]}
        if missing := [row for row in own_facts().body[key] if row["version"] not in there]:
            message = f"'{key}' has no {missing[0]['version']}, which chartkit knows"
            raise InputError(message, document.locate(key), "a file of facts has all releases")
    ordered = {
        key: sorted(section.body[key], key=lambda row: parse_version(row["version"], "it"))
        for key in ("kyverno", "announced", "eks")
    }
    return Facts({**document.body, **ordered}, source, sha256(content).hexdigest())


def _checked(source: str, digest: str | None) -> tuple[bytes, str]:
    """Return a file, and its name in messages; raise InputError for another digest than wanted."""
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
    if (came := sha256(content).hexdigest()) != wanted.lower():
        hint = "take it anew, or ask who publishes it"
        message = f"has the SHA-256 {came}, and not {wanted.lower()}"
        raise InputError(message, Location(shown), hint)
    return content, shown


def _read(source: str, ending: str) -> tuple[bytes, str, str]:
    from chartkit.documents.input_files import read_bytes

    return read_bytes(Path(source + ending), _LARGEST), source, ""


def _downloaded(source: str, ending: str) -> tuple[bytes, str, str]:
    from chartkit.network.downloads.download import download
    from chartkit.network.downloads.lockfile import DEFAULT
    from chartkit.network.downloads.remote import read_remote

    remote = read_remote(source)
    if remote.is_git or remote.path:
        raise InputError("names no file", Location(remote.shown), "give the URL of the file itself")
    content = download(remote.url + ending, replace(DEFAULT, archive=_LARGEST))
    return content, remote.shown, remote.pin

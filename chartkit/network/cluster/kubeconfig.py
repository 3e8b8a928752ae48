"""Kubeconfigs, looked through before Kubernetes' own client reads them.

That client reads what is nested too deeply until Python's stack is full, reads devices to no end,
and sends a token that is not a string as Python would print it. Nothing that is raised here holds
any of a kubeconfig's own text: it has tokens and keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.model import Json, Location

_HINT: Final = "`kubectl config view` shows what it should look like"
_TEXTS: Final = {
    "clusters": ("cluster", ("server", "certificate-authority", "certificate-authority-data")),
    "users": ("user", ("token", "tokenFile", "username", "password", "client-key-data")),
    "contexts": ("context", ("cluster", "user", "namespace")),
}
_LATIN_1: Final = 0xFF
_MAPPINGS: Final = {"users": ("exec", "auth-provider")}


def check_kubeconfigs(paths: Iterable[Path]) -> None:
    """Look through kubeconfigs; raises InputError for one that is not as kubectl writes it."""
    for path in paths:
        documents = _documents(path)
        if len(documents) != 1 or not isinstance(documents[0].body, dict):
            raise InputError("is not a kubeconfig", Location(str(path)), _HINT)
        for part in _TEXTS:
            _check_part(documents[0], part)


def _documents(path: Path) -> list[Document]:
    try:
        return read_file(path)
    except InputError as error:
        location = error.location or Location(str(path))
        text = "is not YAML that can be read" if location.line else error.message
        raise InputError(text, location) from None


def _check_part(document: Document, part: str) -> None:
    members = document.body.get(part)
    if members is None:
        return
    if not isinstance(members, list):
        raise _wrong(document, "a list", part)
    inner, texts = _TEXTS[part]
    for at, member in enumerate(members):
        if not isinstance(member, dict) or not isinstance(member.get(inner), dict | None):
            raise _wrong(document, "a mapping", part, at)
        if not _is_text(member.get("name")):
            raise _wrong(document, "a text", part, at, "name")
        body = member.get(inner) or {}
        for key in texts:
            if body.get(key) is not None and not _is_text(body[key]):
                raise _wrong(document, "a text of one line", part, at, inner, key)
        for key in _MAPPINGS.get(part, ()):
            if not isinstance(body.get(key), dict | None):
                raise _wrong(document, "a mapping", part, at, inner, key)


def _is_text(value: Json) -> bool:
    """Tell whether a value is a text without control characters."""
    return isinstance(value, str) and all(each.isprintable() for each in value.rstrip().split("\n"))


def _wrong(document: Document, what: str, *path: str | int) -> InputError:
    name = ".".join(map(str, path))
    return InputError(f"{name} must be {what}", document.locate(*path), _HINT)


def is_sendable(value: Json) -> bool:
    """Report whether a value can be sent as a header: a text of one line, in Latin-1."""
    if not isinstance(value, str) or not value.isprintable():
        return False
    return all(ord(each) <= _LATIN_1 for each in value)

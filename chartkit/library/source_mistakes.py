"""Mistakes in the files of policies that the objects made of them no longer show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from chartkit import bundled
from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.library.policy import FolderPolicy, LibraryPolicy
from chartkit.library.template_places import outline_of
from chartkit.library.upstream import UpstreamPolicy
from chartkit.model import Diagnostic, Location, Severity, value_at
from chartkit.schemas.json_schema import require_single_keys

REPEATED: Final = "repeated-key"
"""The rule ID of a key that stands twice: the first one is lost, and kubectl refuses it."""
_SCHEMA: Final = "policy-schema"
_BACKGROUND: Final = (("spec", "background"), ("spec", "evaluation", "background", "enabled"))
"""The fields that the chart writes as true or false, whatever the file has."""
_STATEMENT: Final = re.compile("<%(?![=#])")
_PARAMETER: Final = re.compile("x+")
"""The stand-in of an outline for the value of a parameter."""


def source_mistakes(policy: LibraryPolicy) -> Iterator[Diagnostic]:
    """Yield the mistakes in the files of a policy that is not built in."""
    for document in _documents(policy):
        yield from repeated_keys(document)
    yield from covered_values(policy)


def covered_values(policy: LibraryPolicy) -> Iterator[Diagnostic]:
    """Yield an error for each value that Kyverno refuses, and that the chart writes another for."""
    for document in _documents(policy):
        for path in _BACKGROUND:
            value = value_at(document.body, path)
            is_parameter = isinstance(value, str) and _PARAMETER.fullmatch(value)
            if value is None or isinstance(value, bool) or is_parameter:
                continue
            place: Location = document.locate(*path)
            message = f"{'.'.join(path)}: must be true or false, and is {value!r}"
            yield Diagnostic(_SCHEMA, Severity.ERROR, message, place)


def _documents(policy: LibraryPolicy) -> Iterator[Document]:
    if isinstance(policy, UpstreamPolicy):
        yield policy.document
    elif isinstance(policy, FolderPolicy) and policy.library != bundled.LIBRARY:
        for source in filter(None, (policy.template, policy.cel)):
            outline = outline_of(source)
            if outline is not None and not _STATEMENT.search(source.text):
                yield outline


def repeated_keys(document: Document) -> tuple[Diagnostic, ...]:
    """Return a warning for a key that stands twice in a mapping."""
    return _repeated_in(replace(document, body=None))


@lru_cache(maxsize=2048)
def _repeated_in(text: Document) -> tuple[Diagnostic, ...]:
    """Return the warning for a document's text, which several environments ask for."""
    try:
        require_single_keys(text)
    except InputError as error:
        found = Diagnostic(REPEATED, Severity.WARNING, error.message, error.location, error.hint)
        return (found,)
    return ()

"""Mistakes in the files of policies that the objects made of them no longer show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from chartkit import bundled
from chartkit.documents.reader import Document, Source
from chartkit.errors import InputError
from chartkit.library.policy import FolderPolicy, LibraryPolicy
from chartkit.library.templating import source_documents
from chartkit.model import (
    Diagnostic,
    Json,
    Location,
    Resource,
    Severity,
    list_of,
    pointed_at,
    value_at,
)
from chartkit.schemas.json_schema import require_single_keys

_OLDER: Final = "kyverno.io/"


class TemplatePlaces(NamedTuple):
    """The places in a template of what was rendered from it.

    template: the text, with tags; body: the rendered object; begin: the place of what has none.
    """

    template: Source
    body: Json
    begin: Location

    def locate(self, *path: str | int) -> Location:
        """Return the location of the key or list item at a path, or of its nearest parent that is
        the same in both."""
        outline, steps = outline_of(self.template), self._shared(path)
        return outline.locate(*steps) if outline and steps else replace(self.begin, places=self)

    def character(self, offset: int, *path: str | int) -> Location:
        """Return the location of a character of the text at a path; of its key where the text has
        values of parameters."""
        outline, steps = outline_of(self.template), self._shared(path)
        if outline is None or len(steps) < len(path):
            return self.locate(*path)
        written, rendered = outline.body, self.body
        for step in steps:
            written, rendered = _child(written, step), _child(rendered, step)
        if not isinstance(written, str) or not isinstance(rendered, str):
            return self.locate(*path)
        # In Enforce an expression stands in a longer one.
        begin = rendered.find(written)
        if not 0 <= begin <= offset <= begin + len(written):
            return self.locate(*path)
        return outline.character(offset - begin, *steps)

    def value_of(self, *_path: str | int) -> None:
        """Return None: no chart's value is shown here."""

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        """Return the lines of the template around one, and the number of the first."""
        outline = outline_of(self.template)
        return (0, ()) if outline is None else replace(outline, source=self.template).excerpt(line)

    def _shared(self, path: tuple[str | int, ...]) -> list[str]:
        """Return the steps of a path that both documents have."""
        document = outline_of(self.template)
        outline, body = document.body if document else None, self.body
        steps: list[str] = []
        for step in map(str, path):
            if isinstance(body, list) and len(body) != len(list_of(outline)):
                break
            outline, body = _child(outline, step), _child(body, step)
            if outline is None:
                break
            steps.append(step)
        return steps


def placed(body: Json, template: Source) -> Resource:
    """Return an object that a template renders to, with the places of its fields in that."""
    begin = Location(template.file, 1)
    return Resource(body, replace(begin, places=TemplatePlaces(template, body, begin)))


def source_location(policy: LibraryPolicy, resource: Resource) -> Location:
    """Return the place of a policy's rendered object in the file that its author wrote."""
    if isinstance(policy, FolderPolicy):
        in_cel = None if resource.api_version.startswith(_OLDER) else policy.cel
        return placed(resource.body, in_cel or policy.template).location
    from chartkit.library.upstream import UpstreamPolicy

    if isinstance(policy, UpstreamPolicy) and policy.kind == resource.kind:
        return policy.location
    return resource.location


@lru_cache(maxsize=64)
def outline_of(template: Source) -> Document | None:
    """Return the only document of a template without its tags; None where that is not YAML."""
    try:
        documents = source_documents(template.text, template.file)
    except InputError:
        return None
    return documents[0] if len(documents) == 1 else None


def _child(value: Json, step: str) -> Json:
    return pointed_at(value, (step,))


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
            location: Location = document.locate(*path)
            message = f"{'.'.join(path)}: must be true or false, and is {value!r}"
            yield Diagnostic(_SCHEMA, Severity.ERROR, message, location)


def _documents(policy: LibraryPolicy) -> Iterator[Document]:
    from chartkit.library.upstream import UpstreamPolicy

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

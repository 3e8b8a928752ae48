"""Checks of the keys and types of values files, by the chart's own schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chartkit.model import Body, Diagnostic, Json, Location, Severity
from chartkit.schemas import json_schema
from chartkit.values.lint.subject import Subject, leaves, without_nulls

NULL_OVERRIDE = "CK002"
_MERGED_ONLY = frozenset({"required"})


def schema_violations(subject: Subject) -> Iterator[Diagnostic]:
    """CK001: a key that no template reads, or a value of the wrong type."""
    if subject.schema is None:
        return
    for document in (subject.defaults, *subject.overlays):
        if isinstance(document.body, dict):
            body = without_nulls(document.body)
            yield from json_schema.violations(document, subject.schema, body, _MERGED_ONLY)


def merged_violations(subject: Subject) -> Iterator[Diagnostic]:
    """CK001: values that fit alone, and not with what the other files say."""
    if subject.schema is None:
        return
    merged = json_schema.violations(_Merged(subject), subject.schema)
    alone = {each.message for each in schema_violations(subject)} if merged else set()
    for found in merged:
        if found.message not in alone:
            yield found


@dataclass(frozen=True, slots=True)
class _Merged:
    """All values files as one document; a place is the one that an edit would change."""

    subject: Subject

    @property
    def body(self) -> Body:
        return self.subject.values

    def locate(self, *path: str | int) -> Location:
        parent = path[:-1]
        for document in reversed(self.subject.overlays):
            if parent and _get(document.body, parent) is not None:
                return document.locate(*path)
        return self.subject.locate(path)


def null_overrides(subject: Subject) -> Iterator[Diagnostic]:
    """CK002: a null in an environment's values deletes the chart's default, and its children."""
    for document in subject.overlays:
        for path, value in leaves(document.body):
            default = _get(subject.defaults.body, path)
            if value is None and default is not None:
                name = ".".join(map(str, path))
                message = f"null deletes '{name}', and Helm renders as if it were not there"
                hint = f"the chart's default is {_shown(default)}: remove the line to have it"
                place = document.locate(*path)
                yield Diagnostic(NULL_OVERRIDE, Severity.WARNING, message, place, hint)


def _get(values: Json, path: tuple[str | int, ...]) -> Json:
    for step in path:
        if not isinstance(values, dict):
            return None
        values = values.get(step)
    return values


def _shown(value: Json) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return repr(value)

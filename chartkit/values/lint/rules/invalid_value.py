"""CK001: keys and types that the chart's schema refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chartkit.model import Body, Diagnostic, Location, value_at
from chartkit.schemas import json_schema
from chartkit.values.lint.rule import ChartValues, Rule, without_nulls

_MERGED_ONLY = frozenset({"required"})


class InvalidValue(Rule):
    id = json_schema.RULE_ID
    what = "A key that no template reads, or a value of the wrong type."
    why = "Helm accepts any key, so a setting with a typo silently has no effect."
    do = "Follow the suggestion; docs/reference/values.md lists every key."
    problematic = "admissionController:\n  replica: 3\n"
    correct = "admissionController:\n  replicas: 3\n"

    def check_values(self, subject: ChartValues) -> Iterator[Diagnostic]:
        if subject.schema is None:
            return
        alone = list(_alone(subject, subject.schema))
        yield from alone
        merged = json_schema.violations(_Merged(subject), subject.schema)
        reported = {diagnostic.message for diagnostic in alone} if merged else set()
        yield from (diagnostic for diagnostic in merged if diagnostic.message not in reported)


def _alone(subject: ChartValues, schema: Body) -> Iterator[Diagnostic]:
    for document in (subject.defaults, *subject.overlays):
        if isinstance(document.body, dict):
            body = without_nulls(document.body)
            yield from json_schema.violations(document, schema, body, _MERGED_ONLY)


@dataclass(frozen=True, slots=True)
class _Merged:
    """All values files as one document; a place is the one that an edit would change."""

    subject: ChartValues

    @property
    def body(self) -> Body:
        return self.subject.values

    def locate(self, *path: str | int) -> Location:
        parent = path[:-1]
        for document in reversed(self.subject.overlays):
            if parent and value_at(document.body, parent) is not None:
                return document.locate(*path)
        return self.subject.locate(path)

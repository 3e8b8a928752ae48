"""The report for programs as YAML: the values of the JSON report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.documents.yaml_dump import dump_text, dump_yaml
from chartkit.model import Body, Resource, RuleResult, Status
from chartkit.report.findings import NONE_ACCEPTED, Accepted, field_places
from chartkit.report.json_report import (
    acceptance_body,
    further_lists,
    identity_text,
    other_members,
    place_rows,
)
from chartkit.report.model import SCHEMA_VERSION, ReportOptions, ResultCache, summary
from chartkit.report.spool import Spool

_INNER: Final = "    "
_LINE_START: Final = re.compile("^(?=.)", re.MULTILINE)


class YamlWriter:
    """A report with the keys and values of the JSON report."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._spool = Spool()
        self._known = ResultCache(self._parts)

    def add(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted = NONE_ACCEPTED,
    ) -> None:
        """Add one resource's results."""
        identity = dump_text(identity_text(resource), 2)
        location = dump_text(str(resource.location), 2)
        for position, result in enumerate(results):
            head, middle, tail = self._known(result)
            action = self._options.action(resource, result)
            text = f"{head}{identity}\n{middle}  action: {action}\n{tail}"
            others: Body = {}
            if result.fields:
                places = place_rows(field_places(resource, result))
                text += _members({"location": places[0]["location"], **places[0]}, "  ")
                if len(places) > 1:
                    items = (f"  -{_members(each, _INNER)[3:]}" for each in places)
                    text += "  fields:\n" + "".join(items)
            else:
                text += f"  location: {location}\n"
            if position in accepted:
                others["accepted"] = acceptance_body(accepted[position])
            others.update(other_members(result))
            self._spool.write(text + (_LINE_START.sub("  ", dump_yaml(others)) if others else ""))

    def part(self) -> bytes:
        return self._spool.part()

    def append(self, part: bytes) -> None:
        self._spool.append(part)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        head: Body = {"schemaVersion": SCHEMA_VERSION, "summary": summary(counts)}
        if self._options.course.is_incomplete:
            head["incomplete"] = True
        yield dump_yaml(head)
        yield "results:\n" if self._spool.size else "results: []\n"
        yield from self._spool.pieces()
        if lists := further_lists(self._options):
            yield dump_yaml(lists)

    def _parts(self, result: RuleResult) -> tuple[str, str, str]:
        """Return an item's text up to the resource, up to the action, and up to the location."""
        facts = self._options.facts(result)
        return (
            f"- policy: {dump_text(result.policy, 2)}\n"
            f"  rule: {dump_text(result.rule, 2)}\n  resource: ",
            f"  result: {result.status}\n  message: {dump_text(result.message, 2)}\n",
            f"  severity: {dump_text(facts.severity, 2)}\n"
            f"  category: {dump_text(facts.category, 2)}\n",
        )


def _members(texts: Mapping[str, str], indent: str) -> str:
    """Return members of a mapping, each a text."""
    size = len(indent)
    return "".join(f"{indent}{key}: {dump_text(text, size)}\n" for key, text in texts.items())

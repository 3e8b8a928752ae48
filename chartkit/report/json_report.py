"""The reports for programs: one JSON object with every result, or a line for each; JSON as text."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Final

from chartkit.documents.json_text import without_surrogates
from chartkit.documents.yaml_dump import dump_text, dump_yaml
from chartkit.model import Body, Json, Resource, RuleResult, Status
from chartkit.report.finding import diagnostic_body
from chartkit.report.model import (
    NONE_ACCEPTED,
    SCHEMA_VERSION,
    Acceptance,
    Accepted,
    ReportOptions,
    field_places,
    summary,
)
from chartkit.report.spool import Spool

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
_NEXT_LINE: Final = "\n  "
_ROW_LINE: Final = "\n    "
_INNER: Final = "  "
_written: Final = lru_cache(maxsize=256)(dump_text)
_LINE_START: Final = re.compile("^(?=.)", re.MULTILINE)


def json_text(value: Json, indent: int | None = 2, newline: str = "\n") -> str:
    """Return a value as JSON, in lines or on one line (indent: None); half a surrogate pair, which
    UTF-8 does not have, becomes U+FFFD. newline: what a line begins with."""
    written = _encode(value) if indent is None else _in_lines(value, " " * indent, newline)
    # Commands in Azure's logs begin with `##`.
    text: str = without_surrogates(written.replace("##", "#\\u0023"))
    return text


def _in_lines(value: Json, step: str, newline: str) -> str:
    """Return a value as `json.dumps(value, indent=len(step))` does: that is in Python, and slow."""
    if isinstance(value, str):
        return encode_basestring(value)
    if not value or not isinstance(value, (dict, list, tuple)):
        return _encode(value)
    inner = newline + step
    parts: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            name = encode_basestring(key) if isinstance(key, str) else _encode({key: 0})[1:-4]
            parts.append(f"{name}: {_in_lines(item, step, inner)}")
        return f"{{{inner}{f',{inner}'.join(parts)}{newline}}}"
    for item in value:
        parts.append(_in_lines(item, step, inner))
    return f"[{inner}{f',{inner}'.join(parts)}{newline}]"


def rows_of(
    options: ReportOptions, resource: Resource, results: Sequence[RuleResult], accepted: Accepted
) -> Iterator[Body]:
    """Yield the row of each result of a resource: `{policy, rule, resource, result, …}`."""
    parts = (resource.api_version, resource.kind, resource.namespace, resource.name)
    identity, location = "/".join(parts) if resource.kind else "", str(resource.location)
    for position, result in enumerate(results):
        facts = options.facts(result)
        row: Body = {
            "policy": result.policy,
            "rule": result.rule,
            "resource": identity,
            "result": str(result.status),
            "message": result.message,
            "action": facts.action(result.rule, resource.namespace),
            "severity": facts.severity,
            "category": facts.category,
            "location": location,
        }
        if result.fields:
            places = [field.members for field in field_places(resource, result)]
            row |= places[0]
            if len(places) > 1:
                row["fields"] = places
        if position in accepted:
            row["accepted"] = _acceptance(accepted[position])
        if not (
            result.properties or result.generated or result.updated or result.unmade or result.why
        ):
            other_members: Body = {}
        else:
            members = {
                "properties": dict(result.properties),
                "generated": list(result.generated),
                "overwritten": list(result.updated),
                "refused": result.unmade,
                "why": list(result.why),
            }
            other_members = {name: value for name, value in members.items() if value}
        yield row | other_members


class RowFormat(ABC):
    """A report of rows, each written when it is known."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._spool = Spool()
        self._write: Callable[[str], object] = self._spool.write

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Add one resource's results."""
        for row in rows_of(self._options, resource, results, accepted):
            self._write(self._text(row))

    @abstractmethod
    def _text(self, row: Body) -> str:
        """Return the text of a row."""

    def part(self) -> bytes:
        return self._spool.part()

    def append(self, part: bytes) -> None:
        self._spool.append(part)


class JsonWriter(RowFormat):
    """A report `{"schemaVersion", "summary": {…}, "results": [{policy, rule, resource, …}]}`.

    `resource` is `apiVersion/kind/namespace/name`, without a namespace for cluster-scoped objects,
    and empty for plain JSON. Where a failure names fields, `field` is the most telling one and
    `location` its place; `fields` has all if there are several: `[{field, location}]`; `value` and
    `valueLocation` are the key and place of the chart's value that the field shows. `accepted` has
    the state, reason and end of a violation that fails no run. Where inputs could
    not be read there is also `unread`, as findings of other commands, with planned deletions
    `deletions`, in order of time: `[{time, resource, cause, propagation}]`, and with `--timings`
    `timings`, the slowest policy first.
    """

    def _text(self, row: Body) -> str:
        return f",{_ROW_LINE}{json_text(row, newline=_ROW_LINE)}"

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        totals = json_text(summary(counts)).replace("\n", _NEXT_LINE)
        yield f'{{\n  "schemaVersion": {SCHEMA_VERSION},\n  "summary": {totals},\n'
        if self._options.course.is_incomplete:
            yield '  "incomplete": true,\n'
        yield '  "results": ['
        yield from self._spool.pieces(start=1)
        yield f"{_NEXT_LINE if self._spool.size else ''}]"
        for name, values in further_lists(self._options).items():
            yield f',\n  "{name}": {json_text(values).replace(chr(10), _NEXT_LINE)}'
        yield "\n}\n"


class NdjsonWriter(RowFormat):
    """A report of lines: an object for each result, as in the JSON report, and at the end one with
    `schemaVersion`, `summary` and any `deletions`.

    On standard output each line appears as soon as it is known.
    """

    def __init__(self, options: ReportOptions) -> None:
        super().__init__(options)
        if options.live is not None:
            self._write = options.live.write

    def _text(self, row: Body) -> str:
        return f"{json_text(row, None)}\n"

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        yield from self._spool.pieces()
        body: Body = {"schemaVersion": SCHEMA_VERSION, "summary": summary(counts)}
        if self._options.course.is_incomplete:
            body["incomplete"] = True
        body |= further_lists(self._options)
        yield f"{json_text(body, indent=None)}\n"


def further_lists(options: ReportOptions) -> Body:
    """Return the lists of a report that only some runs have."""
    unread = [diagnostic_body(row) for row in options.course.unread] or None
    lists = {"unread": unread, "deletions": options.deletions, "timings": options.course.timings}
    return {name: list(rows) for name, rows in lists.items() if rows is not None}


def _acceptance(acceptance: Acceptance) -> Body:
    """Return an acceptance for programs; an empty reason or date has no key."""
    body = {"state": acceptance.state, "reason": acceptance.reason, "until": acceptance.until}
    return {key: str(value) for key, value in body.items() if value}


class YamlWriter(RowFormat):
    """A report with the keys and values of the JSON report."""

    def _text(self, row: Body) -> str:
        return f"-{''.join(_members(row, _INNER))[1:]}"

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        head: Body = {"schemaVersion": SCHEMA_VERSION, "summary": summary(counts)}
        if self._options.course.is_incomplete:
            head["incomplete"] = True
        yield dump_yaml(head)
        yield "results:\n" if self._spool.size else "results: []\n"
        yield from self._spool.pieces()
        if lists := further_lists(self._options):
            yield dump_yaml(lists)


def _members(row: Body, indent: str) -> Iterator[str]:
    """Yield the members of a row in lines: `dump_yaml` writes the same, and takes far longer."""
    for key, value in row.items():
        if isinstance(value, str):
            yield f"{indent}{key}: {_written(value, len(indent))}\n"
        elif key == "fields":
            yield f"{indent}{key}:\n"
            for field in value:
                lines = "".join(_members(field, f"{indent}{_INNER}"))
                yield f"{indent}-{lines[len(indent) + 1 :]}"
        else:
            yield _LINE_START.sub(indent, dump_yaml({key: value}))

"""The reports for programs: one JSON object with every result, or a line for each; JSON as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from chartkit.documents.json_text import without_surrogates
from chartkit.model import Body, Json, Resource, RuleResult, Status
from chartkit.report.finding import diagnostic_body
from chartkit.report.findings import NONE_ACCEPTED, Acceptance, Accepted, FieldPlace, field_places
from chartkit.report.model import SCHEMA_VERSION, ReportOptions, ResultCache, summary
from chartkit.report.spool import Spool

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
_MARK: Final = "##"


def quoted(text: str) -> str:
    """Return a text between quotes."""
    return _without_marks(_encode(text))


def json_text(value: Json, indent: int | None = 2) -> str:
    """Return a value as JSON, in lines or on one line (indent: None); half a surrogate pair, which
    UTF-8 does not have, becomes U+FFFD."""
    written = _encode(value) if indent is None else _in_lines(value, " " * indent, "\n")
    text: str = without_surrogates(_without_marks(written))
    return text


def _in_lines(value: Json, step: str, newline: str) -> str:
    """Return a value as `json.dumps(value, indent=len(step))` does: that is in Python, and slow."""
    if isinstance(value, str) or not value or not isinstance(value, (dict, list, tuple)):
        return _encode(value)
    inner = newline + step
    parts: list[str] = []
    if isinstance(value, dict):
        for key, each in value.items():
            name = _encode(key) if isinstance(key, str) else _encode({key: 0})[1:-4]
            parts.append(f"{name}: {_in_lines(each, step, inner)}")
        return f"{{{inner}{f',{inner}'.join(parts)}{newline}}}"
    for each in value:
        parts.append(_in_lines(each, step, inner))
    return f"[{inner}{f',{inner}'.join(parts)}{newline}]"


def _without_marks(text: str) -> str:
    """Return JSON with the same values without `##`, with which commands begin in Azure's logs."""
    return text.replace(_MARK, "#\\u0023") if _MARK in text else text


@dataclass(frozen=True, slots=True)
class _Layout:
    """The white space of a row: before its first member, before the others, and at its end;
    indent: of nested values; place, between: a field with its place, and what separates two of
    them."""

    first: str
    step: str
    end: str
    indent: int | None
    place: str
    between: str

    def nested(self, value: Json) -> str:
        """Return a value that is a member of a row."""
        text = json_text(value, self.indent)
        return text if self.indent is None else text.replace("\n", self.step)

    def places(self, places: Sequence[FieldPlace]) -> str:
        """Return fields with their places, as `nested` returns what they are for programs."""
        if any(field_place.value is not None for field_place in places):
            return self.nested(place_rows(places))
        rows = [self.place % (quoted(each.field), quoted(str(each.location))) for each in places]
        text: str = without_surrogates(self.between.join(rows))
        return f"[{self.between[1:] if self.first else ''}{text}{self.step if self.first else ''}]"


_LINES: Final = _Layout(
    first="\n      ",
    step="\n      ",
    end="\n    ",
    indent=2,
    place='{\n          "field": %s,\n          "location": %s\n        }',
    between=",\n        ",
)
_ONE_LINE: Final = _Layout(
    first="", step=" ", end="", indent=None, place='{"field": %s, "location": %s}', between=", "
)
_NEXT_LINE: Final = "\n  "
_NAMESPACES: Final = 64
"""The most namespaces whose rows are remembered."""


class _Rows:
    """The rows of results: `{policy, rule, resource, result, message, …}`."""

    def __init__(self, options: ReportOptions, layout: _Layout) -> None:
        self._options = options
        self._layout = layout
        self._known: dict[str, ResultCache[tuple[str, str]]] = {}

    def of(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted
    ) -> Iterator[str]:
        """Yield the text of each result of a resource."""
        identity = quoted(identity_text(resource))
        location = quoted(str(resource.location))
        end = f"{self._layout.end}}}"
        namespace = resource.namespace
        # The texts of results in a namespace, on which actions depend.
        known = self._known.get(namespace)
        if known is None:
            if len(self._known) >= _NAMESPACES:
                self._known.clear()
            known = self._known[namespace] = ResultCache(partial(self._parts, namespace))
        for position, result in enumerate(results):
            head, middle = known(result)
            place = location
            if result.fields:
                place = self._places(field_places(resource, result))
            if position in accepted:
                place += self._member("accepted", acceptance_body(accepted[position]))
            for each in other_members(result).items():
                place += self._member(*each)
            yield f"{head}{identity}{middle}{place}{end}"

    def _parts(self, namespace: str, result: RuleResult) -> tuple[str, str]:
        """Return a row's text up to the resource, and up to the location."""
        facts, step = self._options.facts(result), self._layout.step
        return (
            f'{{{self._layout.first}"policy": {quoted(result.policy)},'
            f'{step}"rule": {quoted(result.rule)},{step}"resource": ',
            f',{step}"result": "{result.status}",{step}"message": {quoted(result.message)},'
            f'{step}"action": "{facts.action(result.rule, namespace)}",'
            f'{step}"severity": {quoted(facts.severity)},'
            f'{step}"category": {quoted(facts.category)},{step}"location": ',
        )

    def _places(self, places: Sequence[FieldPlace]) -> str:
        """Return the location of a finding and its fields."""
        first, step = places[0], self._layout.step
        text = f'{quoted(str(first.location))},{step}"field": {quoted(first.field)}'
        if first.value is not None:
            text += self._member("value", first.value_key)
            text += self._member("valueLocation", str(first.value))
        if len(places) == 1:
            return text
        return f'{text},{step}"fields": {self._layout.places(places)}'

    def _member(self, name: str, value: Json) -> str:
        return f',{self._layout.step}"{name}": {self._layout.nested(value)}'


class JsonWriter:
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

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._spool = Spool()
        self._rows = _Rows(options, _LINES)

    def add(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted = NONE_ACCEPTED,
    ) -> None:
        """Add one resource's results."""
        rows = ",\n    ".join(self._rows.of(resource, results, accepted))
        if rows:
            self._spool.write(f",\n    {rows}")

    def part(self) -> bytes:
        return self._spool.part()

    def append(self, part: bytes) -> None:
        self._spool.append(part)

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


class NdjsonWriter:
    """A report of lines: an object for each result, as in the JSON report, and at the end one with
    `schemaVersion`, `summary` and any `deletions`.

    On standard output each line appears as soon as it is known.
    """

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._spool = Spool()
        self._rows = _Rows(options, _ONE_LINE)

    def add(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted = NONE_ACCEPTED,
    ) -> None:
        """Add one resource's results."""
        rows = self._rows.of(resource, results, accepted)
        write = self._options.live.write if self._options.live else self._spool.write
        write("".join(f"{row}\n" for row in rows))

    def part(self) -> bytes:
        return self._spool.part()

    def append(self, part: bytes) -> None:
        self._spool.append(part)

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


def identity_text(resource: Resource) -> str:
    """Return `apiVersion/kind/namespace/name`, empty for plain JSON."""
    if not resource.kind:
        return ""
    return "/".join((resource.api_version, resource.kind, resource.namespace, resource.name))


def other_members(result: RuleResult) -> Body:
    """Return what only some results have, by its key."""
    if not (result.properties or result.generated or result.updated or result.unmade or result.why):
        return {}
    members = {
        "properties": dict(result.properties),
        "generated": list(result.generated),
        "overwritten": list(result.updated),
        "refused": result.unmade,
        "why": list(result.why),
    }
    return {name: value for name, value in members.items() if value}


def place_rows(places: Sequence[FieldPlace]) -> list[Body]:
    """Return fields with their places for programs."""
    return [place.members for place in places]


def acceptance_body(acceptance: Acceptance) -> Body:
    """Return an acceptance for programs; an empty reason or date has no key."""
    body = {"state": acceptance.state, "reason": acceptance.reason, "until": acceptance.until}
    return {key: str(value) for key, value in body.items() if value}

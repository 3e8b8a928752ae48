"""The report for programs: one JSON object with every result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.model import Body, Json, Resource, RuleResult, Status
from chartkit.report.findings import (
    NONE_ACCEPTED,
    Acceptance,
    Accepted,
    FieldPlace,
    field_places,
)
from chartkit.report.model import ReportOptions, ResultCache, summary
from chartkit.report.spool import Spool

_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode
_STEP: Final = "\n      "
_NEXT_LINE: Final = "\n  "


class JsonWriter:
    """A report `{"summary": {…}, "results": [{policy, rule, resource, result, message, …}]}`.

    `resource` is `apiVersion/kind/namespace/name`, without a namespace for cluster-scoped objects,
    and empty for plain JSON. Where a failure names fields, `field` is the most telling one and
    `location` its place; `fields` has all if there are several: `[{field, location}]`. `accepted`
    has the state, reason and end of a violation that fails no run. With planned deletions there is
    also `deletions`, in order of time: `[{time, resource, cause, propagation}]`.
    """

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._rows = Spool()
        self._known = ResultCache(self._parts)

    def add(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        accepted: Accepted = NONE_ACCEPTED,
    ) -> None:
        """Add one resource's results."""
        identity = "/".join(
            (resource.api_version, resource.kind, resource.namespace, resource.name)
        )
        identity = _quoted(identity if resource.kind else "")
        location = _quoted(str(resource.location))
        for position, result in enumerate(results):
            head, middle, tail = self._known(result)
            action = self._options.action(resource, result)
            row = f'{head}{identity}{middle}"{action}"{tail}'
            row += _places(field_places(resource, result)) if result.fields else location
            if position in accepted:
                row += f',{_STEP}"accepted": {_nested(acceptance_body(accepted[position]))}'
            if result.properties:
                row += f',{_STEP}"properties": {_nested(dict(result.properties))}'
            if result.generated:
                row += f',{_STEP}"generated": {_nested(list(result.generated))}'
            if result.updated:
                row += f',{_STEP}"overwritten": {_nested(list(result.updated))}'
            if result.unmade:
                row += f',{_STEP}"refused": {_quoted(result.unmade)}'
            comma = "," if self._rows.size else ""
            self._rows.write(f"{comma}\n    {row}\n    }}")

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        """Yield the report, ending with a newline."""
        totals = json.dumps(summary(counts), indent=2).replace("\n", "\n  ")
        yield f'{{\n  "summary": {totals},\n  "results": ['
        yield from self._rows.pieces()
        yield f"{_NEXT_LINE if self._rows.size else ''}]"
        if self._options.deletions is not None:
            yield f',\n  "deletions": {_nested(list(self._options.deletions), _NEXT_LINE)}'
        yield "\n}\n"

    def _parts(self, result: RuleResult) -> tuple[str, str, str]:
        """Return a row's text up to the resource, up to the action, and up to the location."""
        facts = self._options.facts(result)
        return (
            f'{{{_STEP}"policy": {_quoted(result.policy)},{_STEP}"rule": {_quoted(result.rule)},'
            f'{_STEP}"resource": ',
            f',{_STEP}"result": "{result.status}",{_STEP}"message": {_quoted(result.message)},'
            f'{_STEP}"action": ',
            f',{_STEP}"severity": {_quoted(facts.severity)},'
            f'{_STEP}"category": {_quoted(facts.category)},{_STEP}"location": ',
        )


def _places(places: Sequence[FieldPlace]) -> str:
    """Return the location of a finding and its fields."""
    first = places[0]
    text = f'{_quoted(str(first.location))},{_STEP}"field": {_quoted(first.field)}'
    if len(places) == 1:
        return text
    rows = [{"field": place.field, "location": str(place.location)} for place in places]
    return f'{text},{_STEP}"fields": {_nested(rows)}'


def acceptance_body(acceptance: Acceptance) -> Body:
    """Return an acceptance for programs; an empty reason or date has no key."""
    body = {"state": acceptance.state, "reason": acceptance.reason, "until": acceptance.until}
    return {key: str(value) for key, value in body.items() if value}


def _nested(value: Json, step: str = _STEP) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", step)

"""The report of `chartkit diff`: changes by risk, as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import click

from chartkit.model import Body, Diagnostic, Json, Severity
from chartkit.render.compare.fields import ABSENT, Absent, ObjectChange, What, compare
from chartkit.render.compare.policy_risks import (
    is_form_change,
    is_policy,
    joined,
    policy_names,
    refuses,
)
from chartkit.render.compare.risk import Level, Risk, risk
from chartkit.render.environment import Side
from chartkit.report.command_report import Block, Code, CommandReport, Heading, Items, Markup, Table
from chartkit.safe_text import markdown_cell, shown
from chartkit.wording import abridged, counted, shortened

_SIGNS: Final = {What.ADDED: "+", What.REMOVED: "-", What.CHANGED: "~"}
_COLOURS: Final = {Level.HIGH: "red", Level.MEDIUM: "yellow", Level.LOW: "cyan"}
_FIELDS: Final = 12
"""The greatest number of fields to show of an object; JSON has all."""
_WIDTH: Final = 70


@dataclass(frozen=True, slots=True)
class RatedChange:
    """A change with its risk."""

    change: ObjectChange
    risk: Risk


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides and their differences, the highest risk first."""

    before: str
    after: str
    changes: tuple[RatedChange, ...]

    def at_least(self, level: Level) -> bool:
        """Report whether a change has this level of risk or a higher one."""
        return any(change.risk.level >= level for change in self.changes)


def comparison(before: Side, after: Side) -> Comparison:
    """Compare two sides."""
    changes = joined(compare(before.resources, after.resources))
    judged = [RatedChange(change, risk(change)) for change in changes]
    judged.sort(key=lambda change: -change.risk.level)
    return Comparison(before.name, after.name, tuple(judged))


def _text(comparisons: Sequence[Comparison]) -> Iterator[Block]:
    for number, compared in enumerate(comparisons):
        if number:
            yield ""
        yield f"{shown(compared.before)} → {shown(compared.after)}: {_totals(compared)}"
        yield from headlines(compared)
        for rated in compared.changes:
            sign = _SIGNS[rated.change.what]
            reason = f": {rated.risk.reason}" if rated.risk.reason else ""
            level = click.style(
                f"{rated.risk.level}".ljust(6), fg=_COLOURS[rated.risk.level], bold=True
            )
            shade = {"+": "green", "-": "red"}.get(sign)
            line = click.style(f"{sign} {shown(str(rated.change.identity))}", fg=shade)
            yield f"{level}  {line}{reason}"
            yield from (f"            {text}" for text in _fields(rated.change))


def _markdown(comparisons: Sequence[Comparison]) -> Iterator[Block]:
    for compared in comparisons:
        yield Heading(f"{compared.before} → {compared.after}", 3)
        yield Markup(_totals(compared))
        if lines := list(headlines(compared)):
            yield Items(lines)
        if compared.changes:
            rows = [
                (
                    str(rated.risk.level),
                    str(rated.change.identity),
                    str(rated.change.what),
                    rated.risk.reason,
                )
                for rated in compared.changes
            ]
            yield Table(("risk", "object", "change", "why"), rows)
        for rated in compared.changes:
            if fields := list(_fields(rated.change)):
                yield Markup(f"**{markdown_cell(str(rated.change.identity))}**")
                yield Code(fields)


def report(comparisons: Sequence[Comparison]) -> CommandReport:
    """Return the comparisons for every format."""
    return CommandReport(
        text=lambda _width: _text(comparisons),
        value=lambda: {
            "comparisons": [
                {"from": item.before, "to": item.after, "changes": list(map(_body, item.changes))}
                for item in comparisons
            ]
        },
        rows="comparisons",
        markdown=lambda: _markdown(comparisons),
        findings=lambda: _findings(comparisons),
    )


def _findings(comparisons: Sequence[Comparison]) -> Iterator[Diagnostic]:
    """Yield a warning for each change of high risk, a note for the others."""
    for comparison in comparisons:
        sides = f"{comparison.before} → {comparison.after}"
        for rated in comparison.changes:
            severity = Severity.WARNING if rated.risk.level is Level.HIGH else Severity.NOTE
            reason = f": {rated.risk.reason}" if rated.risk.reason else ""
            what = f"{sides}: {rated.change.identity} {rated.change.what}{reason}"
            text = "\n".join([what, *_fields(rated.change)])
            yield Diagnostic(f"{rated.risk.level}-risk", severity, text)


def headlines(comparison: Comparison) -> Iterator[str]:
    """Yield what the changes come to for users: policies that begin or cease to refuse, and those
    that only change their form."""
    changed = [change.change for change in comparison.changes if change.change.what is What.CHANGED]
    judging = [change for change in changed if is_policy(change)]
    weaker = [change for change in judging if refuses(change.before) and not refuses(change.after)]
    stronger = [item for item in judging if refuses(item.after) and not refuses(item.before)]
    same = [item for item in judging if is_form_change(item) and item not in weaker + stronger]
    for policies, single, more in (
        (stronger, "refuses what it only reported", "refuse what they only reported"),
        (weaker, "reports only what it refused", "report only what they refused"),
        (same, "changes its form, and refuses as", "change their form, and refuse as"),
    ):
        names = policy_names(change.identity.name for change in policies)
        if names:
            count = counted(len(names), f"policy {single}", f"policies {more}")
            yield f"{count} before: {abridged(names)}"


def _totals(compared: Comparison) -> str:
    if not compared.changes:
        return "no difference"
    what = Counter(change.change.what for change in compared.changes)
    levels = Counter(change.risk.level for change in compared.changes)
    parts = [f"{what[kind]} {kind}" for kind in What if what[kind]]
    graded = [f"{levels[level]} {level}" for level in reversed(Level) if levels[level]]
    return f"{', '.join(parts)} (risk: {', '.join(graded)})"


def _fields(change: ObjectChange) -> Iterator[str]:
    if is_form_change(change):
        return  # The reason names both kinds.
    for field in change.fields[:_FIELDS]:
        if isinstance(field.before, Absent):
            yield f"+ {shown(field.name)}: {_shown(field.after)}"
        elif isinstance(field.after, Absent):
            yield f"- {shown(field.name)}: {_shown(field.before)}"
        else:
            yield f"{shown(field.name)}: {_shown(field.before)} → {_shown(field.after)}"
    if len(change.fields) > _FIELDS:
        yield f"… and {len(change.fields) - _FIELDS} more fields"


def _shown(value: Json) -> str:
    text = shown(json.dumps(value, ensure_ascii=False))
    return shortened(text, _WIDTH)


def _body(rated: RatedChange) -> Body:
    identity = rated.change.identity
    fields: list[Body] = []
    for field in rated.change.fields:
        # A side without the field has no key.
        sides = {"before": field.before, "after": field.after}
        there = {name: value for name, value in sides.items() if value is not ABSENT}
        fields.append({"path": field.name, **there})
    return {
        "risk": str(rated.risk.level),
        "reason": rated.risk.reason or None,
        "change": str(rated.change.what),
        "group": identity.group,
        "kind": identity.kind,
        "namespace": identity.namespace or None,
        "name": identity.name,
        "fields": fields,
    }

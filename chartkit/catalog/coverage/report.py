"""The output of `policies coverage` as text, JSON and Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from chartkit.catalog.coverage.coverage import ControlCover, Coverage, PolicyCover, State
from chartkit.catalog.coverage.standards import CoverageLevel
from chartkit.catalog.markdown import cell_code, link, prose
from chartkit.model import Body
from chartkit.report.blocks import Block, Markup, Table
from chartkit.report.command_report import CommandReport
from chartkit.wording import counted

_WIDTH: Final = 120
_NARROW: Final = 30
_EXCLUDING: Final = "*"
_REASON: Final[Mapping[CoverageLevel, str]] = {
    CoverageLevel.PARTLY: "open: ",
    CoverageLevel.NOT: "no policy: ",
}
_IN_FORCE: Final[Mapping[State, str]] = {
    State.ENFORCE: "{} enforced",
    State.AUDIT: "{} audited",
    State.ON: "{} switched on",
    State.SOME: "{} in part",
    State.OFF: "{} not in force",
}


def _text(found: Coverage, width: int | None) -> Iterator[Block]:
    """Yield every control with its policies, section by section, what environments have of them,
    and counts; width: of the terminal, if it is one."""
    ids = max(len("CONTROL"), *(len(control_cover.control.id) for control_cover in found.controls))
    longest = max(map(len, State)) + len(_EXCLUDING)
    widths = [ids, len("COVERED"), *(max(len(name), longest) for name in found.environments)]
    yield from (_heading(found), found.standard.source)
    if found.environments:
        yield from ("", _row(["CONTROL", "COVERED", *found.environments, "TITLE"], widths))
    for section, controls in _sections(found):
        yield from ("", section)
        for cover in controls:
            yield from _control_lines(found, cover, widths, min(width or _WIDTH, _WIDTH))
    yield from ("", *_totals(found))


def _heading(found: Coverage) -> str:
    version = found.standard.version
    return f"{found.standard.title}, {version}" if version else found.standard.title


def _sections(found: Coverage) -> Iterator[tuple[str, list[ControlCover]]]:
    for section, controls in groupby(found.controls, key=lambda each: each.control.section):
        yield section, list(controls)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Cells in columns, the last as it is."""
    start = "".join(f"{cell:{width}}  " for cell, width in zip(cells, widths, strict=False))
    return f"  {start}{cells[-1]}".rstrip()


def _control_lines(
    found: Coverage, cover: ControlCover, widths: Sequence[int], width: int
) -> Iterator[str]:
    control = cover.control
    states = _states(found, cover)
    yield _row([control.id, control.covered, *states, control.title], widths)
    for each in cover.policies:
        states = _states(found, each)
        policy_text = each.policy.reference if each.needed else f"{each.policy.reference} (helps)"
        yield _row(["", "", *states, f"  {policy_text}"], widths)
    blank = [""] * len(widths)
    if control.reason:
        text = f"{_REASON[control.covered]}{control.reason}"
        room = max(width - len(_row([*blank, "x"], widths)), _NARROW)
        for line in textwrap.wrap(text, room, break_long_words=False):
            yield _row([*blank, f"  {line}"], widths)


def _states(found: Coverage, cover: ControlCover | PolicyCover) -> list[str]:
    """Return the state in each environment, marked where something is excluded."""
    return [
        f"{cover.states.get(name, '-')}{_EXCLUDING if name in cover.excluding else ''}"
        for name in found.environments
    ]


def _totals(found: Coverage) -> Iterator[str]:
    counts = found.by_cover()
    kinds = ", ".join(f"{counts[level]} {level}" for level in CoverageLevel)
    yield f"{counted(len(found.controls), 'control')}, covered by policies: {kinds}"
    for name in found.environments:
        states = found.by_state(name)
        texts = [text.format(states[state]) for state, text in _IN_FORCE.items() if states[state]]
        yield f"{name}: of {states.total()} that policies cover, {', '.join(texts)}"
    if any(control_cover.excluding for control_cover in found.controls):
        yield f"{_EXCLUDING} something is left out of the policy alone, by its 'exclude'"


def _value(found: Coverage) -> Body:
    """Return the standard, its controls with their policies and states, and the counts."""
    return {
        "standard": found.standard.name,
        "title": found.standard.title,
        "version": found.standard.version,
        "source": found.standard.source,
        "controls": [_control_body(control_cover) for control_cover in found.controls],
        "covered": {str(level): found.by_cover()[level] for level in CoverageLevel},
        "environments": {
            name: {str(state): found.by_state(name)[state] for state in State}
            for name in found.environments
        },
    }


def _control_body(cover: ControlCover) -> Body:
    control = cover.control
    return {
        "id": control.id,
        "title": control.title,
        "section": control.section,
        "source": control.source,
        "covered": str(control.covered),
        "reason": control.reason,
        "policies": [
            {
                "reference": policy_cover.policy.reference,
                "needed": policy_cover.needed,
                "environments": {name: str(state) for name, state in policy_cover.states.items()},
                "excluding": sorted(policy_cover.excluding),
            }
            for policy_cover in cover.policies
        ],
        "environments": {name: str(state) for name, state in cover.states.items()},
    }


def _markdown(found: Coverage) -> Iterator[Block]:
    """Yield the counts, and a table for each section."""
    yield Markup(f"# {prose(_heading(found))}")
    yield Markup(f"<{found.standard.source}>")
    if found.standard.description:
        yield Markup(prose(found.standard.description))
    yield Markup("\n".join(f"- {prose(line)}" for line in _totals(found)))
    head = ["Control", "Title", "Covered", *map(prose, found.environments), "Policies"]
    for section, controls in _sections(found):
        yield Markup(f"## {prose(section)}")
        yield Table(head, [_cells(found, cover) for cover in controls], is_markup=True)


def _cells(found: Coverage, cover: ControlCover) -> list[str]:
    control = cover.control
    texts = []
    for policy_cover in cover.policies:
        text = cell_code(policy_cover.policy.reference)
        if policy_cover.states != cover.states:
            states = zip(found.environments, _states(found, policy_cover), strict=True)
            listed = ", ".join(f"{name} {state}" for name, state in states)
            text += f": {prose(listed)}"
        texts.append(text if policy_cover.needed else f"{text} (helps)")
    if control.reason:
        texts.append(prose(f"{_REASON[control.covered]}{control.reason}"))
    shown = [prose(state) for state in _states(found, cover)]
    title = link(prose(control.title), control.source)
    return [prose(control.id), title, str(control.covered), *shown, "<br>".join(texts)]


def report(found: Coverage) -> CommandReport:
    """Return a standard's coverage for every format."""
    return CommandReport(
        text=lambda width: _text(found, width),
        value=lambda: _value(found),
        rows="controls",
        markdown=lambda: _markdown(found),
    )

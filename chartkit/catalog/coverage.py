"""Coverage of a standard: controls that policies cover, those in force in an environment, and the
report of both."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Final

from chartkit.catalog.entries import libraries, read_catalogue
from chartkit.catalog.markdown import cell_code, link, prose
from chartkit.catalog.model import Kind
from chartkit.catalog.standards import CoverageLevel, Standard, StandardControl
from chartkit.charts.policies.chart import read_libraries
from chartkit.errors import InputError
from chartkit.library.policies import LibraryPolicy
from chartkit.library.profiles import resolve_environment
from chartkit.model import Body
from chartkit.project.project import Project
from chartkit.project.settings import Action
from chartkit.report.command_report import Block, CommandReport, Markup, Table
from chartkit.wording import counted

_REFUSING: Final = frozenset({Kind.VALIDATE, Kind.IMAGE})
_WIDTH: Final = 120
_NARROW: Final = 30
_EXCLUDING: Final = "*"
_REASON: Final[Mapping[CoverageLevel, str]] = {
    CoverageLevel.PARTLY: "open: ",
    CoverageLevel.NOT: "no policy: ",
}


class State(StrEnum):
    """The state of a policy or a control in an environment.

    ON: a policy that refuses nothing (it changes, generates or deletes) is switched on; SOME: some
    of a control's policies are switched on, and not all.
    """

    ENFORCE = "Enforce"
    AUDIT = "Audit"
    ON = "on"
    SOME = "some"
    OFF = "off"


_Key = tuple[Path, str]
"""A policy by its folder and name, however it was named."""
_InForce = Mapping[_Key, tuple[State, bool]]
"""The policies that an environment switches on: how, and whether it leaves something out of it."""
_NOT_THERE: Final = (State.OFF, False)


@dataclass(frozen=True, slots=True)
class PolicyCover:
    """A policy that covers a control. needed: False where it only helps; states: by environment;
    excluding: the environments that leave something out of this policy alone."""

    policy: LibraryPolicy
    needed: bool
    states: Mapping[str, State] = field(default_factory=dict)
    excluding: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ControlCover:
    """A control with its policies, the needed ones first; states: by environment."""

    control: StandardControl
    policies: tuple[PolicyCover, ...]
    states: Mapping[str, State] = field(default_factory=dict)

    @property
    def excluding(self) -> frozenset[str]:
        """The environments that leave something out of a policy that is needed."""
        return frozenset().union(*(policy.excluding for policy in self.policies if policy.needed))


@dataclass(frozen=True, slots=True)
class Coverage:
    """A standard's controls with the policies that cover them. environments: in the project's
    order; empty without a project."""

    standard: Standard
    environments: tuple[str, ...]
    controls: tuple[ControlCover, ...]

    def by_cover(self) -> Counter[CoverageLevel]:
        """The number of controls by their cover."""
        return Counter(control_cover.control.covered for control_cover in self.controls)

    def by_state(self, environment: str) -> Counter[State]:
        """Return the number of covered controls by their state in an environment."""
        return Counter(control.states[environment] for control in self.controls if control.policies)


def coverage(standard: Standard, project: Project | None = None) -> Coverage:
    """A standard against the libraries, and against a project's environments if there is one.
    Raises InputError for a policy that no library has, and for what is wrong with the project."""
    library = read_libraries(project)
    in_force: dict[str, _InForce] = {}
    if project is not None:
        entries = read_catalogue(libraries(project.root)).entries
        for name in project.environments:
            # The state of each policy that an environment switches on
            environment = project.environments[name]
            refusing = {
                (Path(entry.file).parent.resolve(), entry.name)
                for entry in entries
                if _REFUSING.intersection(entry.kinds)
            }
            by_policy: dict[_Key, tuple[State, bool]] = {}
            for given in resolve_environment(environment, library, project.root).policies.values():
                if not given.enabled:
                    continue
                state = State.ON
                if _key(given.policy) in refusing:
                    action = given.action or environment.action
                    state = State.ENFORCE if action is Action.ENFORCE else State.AUDIT
                by_policy[_key(given.policy)] = state, bool(given.exclude)
            in_force[name] = by_policy
    covers: list[ControlCover] = []
    for control in standard.controls:
        policies: list[PolicyCover] = []
        for position, reference in enumerate((*control.policies, *control.also)):
            try:
                policy = library.find(reference)
            except InputError as error:
                # Looked up only for an error, as a standard names hundreds of policies.
                location = control.locate_policy(position)
                raise InputError(error.message, location, error.hint) from None
            here = {name: own.get(_key(policy), _NOT_THERE) for name, own in in_force.items()}
            states = {name: state for name, (state, _) in here.items()}
            excluding = frozenset(name for name, (_, excludes) in here.items() if excludes)
            is_needed = position < len(control.policies)
            policies.append(PolicyCover(policy, is_needed, states, excluding))
        states = {name: _together(policies, name) for name in in_force if policies}
        covers.append(ControlCover(control, tuple(policies), states))
    return Coverage(standard, tuple(in_force), tuple(covers))


def _key(policy: LibraryPolicy) -> _Key:
    return policy.folder.resolve(), policy.name


def _together(policies: Sequence[PolicyCover], environment: str) -> State:
    """All that are needed, at the weakest of their actions; some, or none."""
    needed = [policy_cover.states[environment] for policy_cover in policies if policy_cover.needed]
    if State.OFF not in needed:
        for state in (State.AUDIT, State.ENFORCE):
            if state in needed:
                return state
        return State.ON
    on = any(policy_cover.states[environment] is not State.OFF for policy_cover in policies)
    return State.SOME if on else State.OFF


_IN_FORCE: Final[Mapping[State, str]] = {
    State.ENFORCE: "{} enforced",
    State.AUDIT: "{} audited",
    State.ON: "{} switched on",
    State.SOME: "{} in part",
    State.OFF: "{} not in force",
}


def _text(coverage: Coverage, width: int | None) -> Iterator[Block]:
    """Yield every control with its policies, section by section, what environments have of them,
    and counts; width: of the terminal, if it is one."""
    ids = max(len("CONTROL"), *(len(cover.control.id) for cover in coverage.controls))
    longest = max(map(len, State)) + len(_EXCLUDING)
    widths = [ids, len("COVERED"), *(max(len(name), longest) for name in coverage.environments)]
    yield from (_heading(coverage), coverage.standard.source)
    if coverage.environments:
        yield from ("", _row(["CONTROL", "COVERED", *coverage.environments, "TITLE"], widths))
    for section, controls in _sections(coverage):
        yield from ("", section)
        for cover in controls:
            line_width = min(width or _WIDTH, _WIDTH)
            control = cover.control
            states = _states(coverage, cover)
            yield _row([control.id, control.covered, *states, control.title], widths)
            for policy in cover.policies:
                states = _states(coverage, policy)
                reference = policy.policy.reference
                policy_text = reference if policy.needed else f"{reference} (helps)"
                yield _row(["", "", *states, f"  {policy_text}"], widths)
            blank = [""] * len(widths)
            if control.reason:
                text = f"{_REASON[control.covered]}{control.reason}"
                room = max(line_width - len(_row([*blank, "x"], widths)), _NARROW)
                for line in textwrap.wrap(text, room, break_long_words=False):
                    yield _row([*blank, f"  {line}"], widths)
    yield from ("", *_totals(coverage))


def _heading(coverage: Coverage) -> str:
    version = coverage.standard.version
    return f"{coverage.standard.title}, {version}" if version else coverage.standard.title


def _sections(coverage: Coverage) -> Iterator[tuple[str, list[ControlCover]]]:
    for section, controls in groupby(coverage.controls, key=lambda cover: cover.control.section):
        yield section, list(controls)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Cells in columns, the last as it is."""
    start = "".join(f"{cell:{width}}  " for cell, width in zip(cells, widths, strict=False))
    return f"  {start}{cells[-1]}".rstrip()


def _states(coverage: Coverage, cover: ControlCover | PolicyCover) -> list[str]:
    """Return the state in each environment, marked where something is excluded."""
    return [
        f"{cover.states.get(name, '-')}{_EXCLUDING if name in cover.excluding else ''}"
        for name in coverage.environments
    ]


def _totals(coverage: Coverage) -> Iterator[str]:
    counts = coverage.by_cover()
    kinds = ", ".join(f"{counts[level]} {level}" for level in CoverageLevel)
    yield f"{counted(len(coverage.controls), 'control')}, covered by policies: {kinds}"
    for name in coverage.environments:
        states = coverage.by_state(name)
        texts = [text.format(states[state]) for state, text in _IN_FORCE.items() if states[state]]
        yield f"{name}: of {states.total()} that policies cover, {', '.join(texts)}"
    if any(control_cover.excluding for control_cover in coverage.controls):
        yield f"{_EXCLUDING} something is left out of the policy alone, by its 'exclude'"


def _value(coverage: Coverage) -> Body:
    """Return the standard, its controls with their policies and states, and the counts."""
    controls: list[Body] = []
    for cover in coverage.controls:
        policies = [
            {
                "reference": policy_cover.policy.reference,
                "needed": policy_cover.needed,
                "environments": {name: str(state) for name, state in policy_cover.states.items()},
                "excluding": sorted(policy_cover.excluding),
            }
            for policy_cover in cover.policies
        ]
        control = cover.control
        controls.append(
            {
                "id": control.id,
                "title": control.title,
                "section": control.section,
                "source": control.source,
                "covered": str(control.covered),
                "reason": control.reason,
                "policies": policies,
                "environments": {name: str(state) for name, state in cover.states.items()},
            }
        )
    return {
        "standard": coverage.standard.name,
        "title": coverage.standard.title,
        "version": coverage.standard.version,
        "source": coverage.standard.source,
        "controls": controls,
        "covered": {str(level): coverage.by_cover()[level] for level in CoverageLevel},
        "environments": {
            name: {str(state): coverage.by_state(name)[state] for state in State}
            for name in coverage.environments
        },
    }


def _markdown(coverage: Coverage) -> Iterator[Block]:
    """Yield the counts, and a table for each section."""
    yield Markup(f"# {prose(_heading(coverage))}")
    yield Markup(f"<{coverage.standard.source}>")
    if coverage.standard.description:
        yield Markup(prose(coverage.standard.description))
    yield Markup("\n".join(f"- {prose(line)}" for line in _totals(coverage)))
    head = ["Control", "Title", "Covered", *map(prose, coverage.environments), "Policies"]
    for section, controls in _sections(coverage):
        yield Markup(f"## {prose(section)}")
        yield Table(head, [_cells(coverage, cover) for cover in controls], is_markup=True)


def _cells(coverage: Coverage, cover: ControlCover) -> list[str]:
    control = cover.control
    texts = []
    for policy_cover in cover.policies:
        text = cell_code(policy_cover.policy.reference)
        if policy_cover.states != cover.states:
            states = zip(coverage.environments, _states(coverage, policy_cover), strict=True)
            listed = ", ".join(f"{name} {state}" for name, state in states)
            text += f": {prose(listed)}"
        texts.append(text if policy_cover.needed else f"{text} (helps)")
    if control.reason:
        texts.append(prose(f"{_REASON[control.covered]}{control.reason}"))
    shown = [prose(state) for state in _states(coverage, cover)]
    title = link(prose(control.title), control.source)
    return [prose(control.id), title, str(control.covered), *shown, "<br>".join(texts)]


def report(result: Coverage) -> CommandReport:
    """Return a standard's coverage for every format."""
    return CommandReport(
        text=lambda width: _text(result, width),
        value=lambda: _value(result),
        rows="controls",
        markdown=lambda: _markdown(result),
    )

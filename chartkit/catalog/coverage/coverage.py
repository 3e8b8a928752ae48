"""Coverage of a standard: controls that policies cover, and those in force in an environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.catalog.coverage.standards import CoverageLevel, Standard, StandardControl
from chartkit.catalog.entries import libraries, read_catalogue
from chartkit.catalog.model import Entry, Kind
from chartkit.charts.policies.chart import read_libraries
from chartkit.errors import InputError
from chartkit.library.policies import Library
from chartkit.library.policy import LibraryPolicy
from chartkit.library.profiles import resolve_environment
from chartkit.project.project import Project
from chartkit.project.settings import Action

_REFUSING: Final = frozenset({Kind.VALIDATE, Kind.IMAGE})


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
    """A policy that covers a control.

    needed: False where it only helps; states: by environment; excluding: the environments that
    leave something out of this policy alone.
    """

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
    """A standard's controls with what covers them.

    environments: those that were looked at, in the project's order; none without a project.
    """

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

    Raises InputError for a policy that no library has, and for what is wrong with the project.
    """
    library = read_libraries(project)
    in_force: dict[str, _InForce] = {}
    if project is not None:
        entries = read_catalogue(libraries(project.root)).entries
        for name in project.environments:
            in_force[name] = _in_force(project, name, library, entries)
    covers = tuple(_cover(control, library, in_force) for control in standard.controls)
    return Coverage(standard, tuple(in_force), covers)


def _in_force(project: Project, name: str, library: Library, entries: Iterable[Entry]) -> _InForce:
    """The state of each policy that an environment switches on."""
    environment = project.environments[name]
    refusing = {
        (Path(entry.file).parent.resolve(), entry.name)
        for entry in entries
        if _REFUSING.intersection(entry.kinds)
    }
    found: dict[_Key, tuple[State, bool]] = {}
    for policy in resolve_environment(environment, library, project.root).policies.values():
        if not policy.enabled:
            continue
        state = State.ON
        if _key(policy.policy) in refusing:
            action = policy.action or environment.action
            state = State.ENFORCE if action is Action.ENFORCE else State.AUDIT
        found[_key(policy.policy)] = state, bool(policy.exclude)
    return found


def _key(policy: LibraryPolicy) -> _Key:
    return policy.folder.resolve(), policy.name


def _cover(
    control: StandardControl, library: Library, in_force: Mapping[str, _InForce]
) -> ControlCover:
    named = (*control.policies, *control.also)
    policies: list[PolicyCover] = []
    for position, reference in enumerate(named):
        policy = _find(control, position, reference, library)
        here = {name: found.get(_key(policy), _NOT_THERE) for name, found in in_force.items()}
        states = {name: state for name, (state, _) in here.items()}
        excluding = frozenset(name for name, (_, excludes) in here.items() if excludes)
        policies.append(PolicyCover(policy, position < len(control.policies), states, excluding))
    states = {name: _together(policies, name) for name in in_force if policies}
    return ControlCover(control, tuple(policies), states)


def _find(
    control: StandardControl, position: int, reference: str, library: Library
) -> LibraryPolicy:
    try:
        return library.find(reference)
    except InputError as error:
        # Places are looked for only where they are told: a standard names hundreds of policies.
        location = control.locate_policy(position)
        raise InputError(error.message, location, error.hint) from None


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

"""Coverage of a standard: controls that policies cover, and those in force in an environment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit import bundled
from chartkit.bundled import library_dir
from chartkit.catalog.entries import libraries, read_catalogue
from chartkit.catalog.model import Entry, Kind
from chartkit.charts.policies.chart import read_libraries
from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.library.policies import Library
from chartkit.library.policy import LibraryPolicy
from chartkit.library.profiles import resolve_environment
from chartkit.model import Body, Location, mapping_at
from chartkit.project.project import Project
from chartkit.project.settings import Action
from chartkit.report.model import Guidance
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion

SCHEMA: Final = "standard.schema.json"
_SUFFIXES: Final = (".yaml", ".yml")
_NAMING: Final = ("policies", "also", "partly")
"""Keys of a control that policies cover."""


class CoverageLevel(StrEnum):
    """The part of a control that policies can cover."""

    WHOLLY = "wholly"
    PARTLY = "partly"
    NOT = "not"


@dataclass(frozen=True, slots=True)
class StandardControl:
    """One control of a standard.

    section, source: the part that it belongs to, and where it is written down; policies: the
    references of those that together cover it; also: of those that help with it and are not
    needed; reason: what the policies leave open, or why none can cover it, empty where they cover
    all of it; document, path: where it stands.
    """

    id: str
    title: str
    section: str
    source: str
    covered: CoverageLevel
    reason: str
    policies: tuple[str, ...]
    also: tuple[str, ...]
    document: Document = field(repr=False, compare=False)
    path: tuple[str | int, ...] = field(repr=False)

    def locate(self, *path: str | int) -> Location:
        """The place of one of its keys in the file."""
        return self.document.locate(*self.path, *path)

    def locate_policy(self, position: int) -> Location:
        """The place of a policy's name; position: among `policies` and `also`, one after the
        other."""
        count = len(self.policies)
        if position < count:
            return self.locate("policies", position)
        return self.locate("also", position - count)


@dataclass(frozen=True, slots=True)
class Standard:
    """A standard with its controls, in its order; version: empty where it has none."""

    name: str
    title: str
    version: str
    description: str
    source: str
    controls: tuple[StandardControl, ...]


def built_in_standards() -> list[str]:
    """The names of the standards that ship with chartkit."""
    return sorted(file.stem for file in bundled.standards_dir().glob("*.yaml"))


def read_standard(reference: str) -> Standard:
    """A built-in standard by name, or a file by its path; raises InputError."""
    if "/" in reference or reference.endswith(_SUFFIXES):
        file = Path(reference)
    else:
        known = built_in_standards()
        if reference not in known:
            listed = f"built in are {', '.join(known)}; a file of your own is named by its path"
            hint = suggestion(reference, known) or listed
            raise InputError(f"there is no standard '{reference}'", hint=hint)
        file = bundled.standards_dir() / f"{reference}.yaml"
    documents = read_file(file)
    if len(documents) != 1:
        raise InputError("a standard is one YAML document", Location(str(file)))
    json_schema.require_single_keys(documents[0])
    document = documents[0]
    json_schema.require(document, json_schema.load(SCHEMA))
    spec = document.body["spec"]
    standard = Standard(
        name=document.body["metadata"]["name"],
        title=spec["title"],
        version=spec.get("version", ""),
        description=spec.get("description", ""),
        source=spec["source"],
        controls=tuple(_controls(document)),
    )
    first: dict[str, StandardControl] = {}
    for control in standard.controls:
        other = first.setdefault(control.id, control)
        if other is not control:
            hint = f"the other is at {other.locate('id')}"
            raise InputError(f"there are two controls '{control.id}'", control.locate("id"), hint)
        twice = set(control.policies).intersection(control.also)
        if twice:
            what = f"'{min(twice)}' is in 'policies' and in 'also'"
            raise InputError(what, control.locate("also"))
    return standard


def _controls(document: Document) -> Iterator[StandardControl]:
    spec = document.body["spec"]
    for at, section in enumerate(spec["sections"]):
        source = section.get("source", spec["source"])
        for position, body in enumerate(section["controls"]):
            place = ("spec", "sections", at, "controls", position)
            yield _control(document, place, body, section["title"], source)


def _control(
    document: Document, place: tuple[str | int, ...], body: Body, section: str, source: str
) -> StandardControl:
    covered = CoverageLevel.PARTLY if "partly" in body else CoverageLevel.WHOLLY
    if "not" in body:
        covered = CoverageLevel.NOT
        for key in _NAMING:
            if key in body:
                what = f"control '{body['id']}' has both 'not' and '{key}'"
                hint = "say what covers it, or why nothing can"
                raise InputError(what, document.locate(*place, key), hint)
    return StandardControl(
        id=body["id"],
        title=body["title"],
        section=section,
        source=body.get("source", source),
        covered=covered,
        reason=body.get("not") or body.get("partly") or "",
        policies=tuple(body.get("policies", ())),
        also=tuple(body.get("also", ())),
        document=document,
        path=place,
    )


class BuiltInStandards:
    """The built-in standards, with controls as selectors name them (`cis:5.2.3`)."""

    def names(self) -> Collection[str]:
        return built_in_standards()

    def controls(self, standard: str) -> Mapping[str, Collection[str]]:
        """Return the names of the policies that cover each control of a standard; raise
        InputError."""
        return {
            control.id: [reference.rpartition("/")[2] for reference in control.policies]
            for control in read_standard(standard).controls
        }


_METADATA = "metadata.yaml"


def guidance(names: Collection[str]) -> Mapping[str, Guidance]:
    """Return the guidance for policies by their names; raise InputError.

    What to change is known of built-in policies, and controls of the built-in standards.
    """
    controls: dict[str, list[str]] = defaultdict(list)
    for standard in built_in_standards():
        for control in read_standard(standard).controls:
            for reference in control.policies:
                name = reference.rpartition("/")[2]
                if name in names:
                    controls[name].append(f"{standard.upper()} {control.id}")
    found: dict[str, Guidance] = {}
    for file in sorted(library_dir().glob(f"*/*/{_METADATA}")):
        name = file.parent.name
        if name in names:
            body = read_file(file)[0].body
            source = mapping_at(body, "control").get("source")
            found[name] = Guidance(
                _text(mapping_at(body).get("remediation")), _text(source), tuple(controls[name])
            )
    others = {name: Guidance(controls=tuple(each)) for name, each in controls.items()}
    return {**others, **found}


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


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
        return frozenset().union(*(each.excluding for each in self.policies if each.needed))


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
        return Counter(each.control.covered for each in self.controls)

    def by_state(self, environment: str) -> Counter[State]:
        """Return the number of covered controls by their state in an environment."""
        return Counter(each.states[environment] for each in self.controls if each.policies)


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
    for each in resolve_environment(environment, library, project.root).policies.values():
        if not each.enabled:
            continue
        state = State.ON
        if _key(each.policy) in refusing:
            action = each.action or environment.action
            state = State.ENFORCE if action is Action.ENFORCE else State.AUDIT
        found[_key(each.policy)] = state, bool(each.exclude)
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
        place = control.locate_policy(position)
        raise InputError(error.message, place, error.hint) from None


def _together(policies: Sequence[PolicyCover], environment: str) -> State:
    """All that are needed, at the weakest of their actions; some, or none."""
    needed = [each.states[environment] for each in policies if each.needed]
    if State.OFF not in needed:
        for state in (State.AUDIT, State.ENFORCE):
            if state in needed:
                return state
        return State.ON
    on = any(each.states[environment] is not State.OFF for each in policies)
    return State.SOME if on else State.OFF

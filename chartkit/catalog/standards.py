"""Standards and guides: their controls, and the policies that cover each of them.

A file's format is `schemas/standard.schema.json`; the built-in ones stand in `profiles/standards/`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from chartkit import bundled
from chartkit.bundled import library_dir
from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.model import Body, Location, mapping_at
from chartkit.report.model import Guidance
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion

SCHEMA: Final = "standard.schema.json"
_SUFFIXES: Final = (".yaml", ".yml")
_NAMING: Final = ("policies", "also", "partly")
"""Keys of a control that policies cover."""
_METADATA = "metadata.yaml"


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
        """The place of a policy's name; position: in `policies` and `also`, one after the other."""
        count = len(self.policies)
        if position < count:
            return self.locate("policies", position)
        return self.locate("also", position - count)


class Standard(NamedTuple):
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
    """A built-in standard by name, which needs no check, or a file by its path; raises
    InputError."""
    is_file = "/" in reference or reference.endswith(_SUFFIXES)
    if is_file:
        file = Path(reference)
    else:
        names = built_in_standards()
        if reference not in names:
            listed = f"built in are {', '.join(names)}; a file of your own is named by its path"
            hint = suggestion(reference, names) or listed
            raise InputError(f"there is no standard '{reference}'", hint=hint)
        file = bundled.standards_dir() / f"{reference}.yaml"
    documents = read_file(file)
    if len(documents) != 1:
        raise InputError("a standard is one YAML document", Location(str(file)))
    document = documents[0]
    if is_file:
        json_schema.require_single_keys(document)
        json_schema.require(document, json_schema.load(SCHEMA))
    spec = document.body["spec"]
    controls: list[StandardControl] = []
    control_spec = document.body["spec"]
    for at, section in enumerate(control_spec["sections"]):
        source = section.get("source", control_spec["source"])
        for position, body in enumerate(section["controls"]):
            path = ("spec", "sections", at, "controls", position)
            controls.append(_control(document, path, body, section["title"], source))
    standard = Standard(
        name=document.body["metadata"]["name"],
        title=spec["title"],
        version=spec.get("version", ""),
        description=spec.get("description", ""),
        source=spec["source"],
        controls=tuple(controls),
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


def _control(
    document: Document, path: tuple[str | int, ...], body: Body, section: str, source: str
) -> StandardControl:
    covered = CoverageLevel.PARTLY if "partly" in body else CoverageLevel.WHOLLY
    if "not" in body:
        covered = CoverageLevel.NOT
        for key in _NAMING:
            if key in body:
                what = f"control '{body['id']}' has both 'not' and '{key}'"
                hint = "say what covers it, or why nothing can"
                raise InputError(what, document.locate(*path, key), hint)
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
        path=path,
    )


class BuiltInStandards:
    """The built-in standards, with controls as selectors name them (`cis:5.2.3`)."""

    def names(self) -> Collection[str]:
        return built_in_standards()

    def controls(self, standard: str) -> Mapping[str, Collection[str]]:
        """The names of the policies that cover each control of a standard; raises InputError."""
        return {
            control.id: [reference.rpartition("/")[2] for reference in control.policies]
            for control in read_standard(standard).controls
        }


def guidance(names: Collection[str]) -> Mapping[str, Guidance]:
    """Return the guidance for policies by their names; raise InputError. What to change is known of
    built-in policies, and controls of the built-in standards."""
    controls: dict[str, list[str]] = defaultdict(list)
    for standard in built_in_standards():
        for control in read_standard(standard).controls:
            for reference in control.policies:
                name = reference.rpartition("/")[2]
                if name in names:
                    controls[name].append(f"{standard.upper()} {control.id}")
    by_name: dict[str, Guidance] = {}
    for file in sorted(library_dir().glob(f"*/*/{_METADATA}")):
        name = file.parent.name
        if name in names:
            body = read_file(file)[0].body
            source = mapping_at(body, "control").get("source")
            by_name[name] = Guidance(
                _text(mapping_at(body).get("remediation")), _text(source), tuple(controls[name])
            )
    others = {name: Guidance(controls=tuple(ids)) for name, ids in controls.items()}
    return {**others, **by_name}


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""

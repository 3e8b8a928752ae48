"""One policy with everything about it: what it says, its parameters, what it needs, what it does to
examples."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.catalog.authoring.check import shared_parameters
from chartkit.catalog.entries import one_line
from chartkit.catalog.model import Entry, Kind
from chartkit.catalog.search import entry_body
from chartkit.charts.rbac.permissions import as_json as permissions_json
from chartkit.charts.rbac.permissions import definitions_beside, needs
from chartkit.charts.rbac.requirements import Needs
from chartkit.documents.reader import Source, read_file, read_source, resources
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import ChartkitError, InputError
from chartkit.library.parameters import filled_documents
from chartkit.library.policies import (
    BAD_FILE,
    CEL_FILE,
    GOOD_FILE,
    METADATA_FILE,
    PARAMETERS_FILE,
    Control,
    read_policy,
)
from chartkit.library.upstream import read_policy_text
from chartkit.model import Body, Resource, mapping_at, mappings_at, texts_of
from chartkit.report.command_report import Block, Code, CommandReport

_WIDTH: Final = 100
_ACTS: Final[Mapping[str, tuple[str, str]]] = {
    Kind.VALIDATE: ("refuses", "accepts"),
    Kind.IMAGE: ("refuses", "accepts"),
    Kind.MUTATE: ("changes", "leaves as it is"),
    Kind.GENERATE: ("generates for", "passes over"),
    Kind.CLEANUP: ("deletes", "keeps"),
}
"""The effects of each kind of policy on an object that it acts on, and on any other."""
_TESTS: Final = (".kyverno-test/kyverno-test.yaml", "kyverno-test.yaml")
_JUDGING: Final = frozenset({Kind.VALIDATE, Kind.IMAGE})


@dataclass(frozen=True, slots=True)
class Details:
    """parameters: JSON Schemas by name; sources: the policy's files; remediation, counterpart,
    control: what metadata.yaml says, empty or None where it says nothing."""

    entry: Entry
    parameters: Mapping[str, Body]
    sources: tuple[Source, ...]
    examples: ShownExample
    remediation: str = ""
    counterpart: tuple[str, ...] = ()
    control: Control | None = None


def does(entry: Entry) -> tuple[str, str]:
    """Return the verbs for an object that a policy acts on, and for one that it leaves alone."""
    return _ACTS[entry.kinds[0] if entry.kinds else Kind.VALIDATE]


def details(entry: Entry, root: Path) -> Details:
    """Everything about a policy; root: its library's folder. Raises InputError."""
    file = Path(entry.file)
    sources = [Source(entry.file, read_source(file))]
    parameters: dict[str, Body] = {}
    metadata: Body = {}
    if entry.own:
        metadata = _mapping(file.parent / METADATA_FILE)
        shared = _mapping(root / PARAMETERS_FILE) if (root / PARAMETERS_FILE).is_file() else {}
        named = texts_of(metadata.get("sharedParameters"))
        bodies = {name: shared[name] for name in named if name in shared}
        bodies.update(mapping_at(metadata, "parameters"))
        parameters = {str(name): body for name, body in bodies.items() if isinstance(body, dict)}
        cel = file.parent / CEL_FILE
        if cel.is_file():
            sources.append(Source(str(cel), read_source(cel)))
    about = mapping_at(metadata, "control")
    name, link = str(about.get("name")), str(about.get("source"))
    control = Control(one_line(name), one_line(link)) if link.startswith("https://") else None
    return Details(
        entry,
        parameters,
        tuple(sources),
        examples_of(entry, root),
        one_line(str(metadata.get("remediation") or "")),
        tuple(one_line(name) for name in texts_of(metadata.get("counterpart"))),
        control,
    )


def _mapping(file: Path) -> Body:
    documents = read_file(file)
    return mapping_at(documents[0].body) if documents else {}


def _text(shown: Details, width: int | None) -> Iterator[Block]:
    """Yield what a policy is, its parameters, what it needs, its text, and what it does to
    examples; width: of the terminal, if it is one."""
    most = min(width or _WIDTH, _WIDTH)
    entry, control = shown.entry, shown.control
    yield f"{entry.qualified}  {entry.title}"
    traits = {
        "name": entry.name,
        "category": entry.category,
        "severity": entry.severity,
        "subjects": ", ".join(entry.subjects),
        "kind": ", ".join(entry.kinds),
        "forms": ", ".join(entry.forms),
        "Kyverno": f"{entry.minimum} or newer" if entry.minimum else "",
        "control": f"{control.name}, {control.source}" if control else "",
        "file": str(entry.location),
    }
    for name, value in traits.items():
        if value:
            yield f"  {name:9} {value}"
    if entry.description:
        yield ""
        yield from textwrap.wrap(entry.description, most)
    if shown.remediation:
        yield "\nWhat to change:"
        yield from textwrap.wrap(
            shown.remediation, most, initial_indent="  ", subsequent_indent="  "
        )
    if shown.counterpart:
        yield "\nPolicies that help: " + ", ".join(shown.counterpart)
    if shown.parameters:
        yield "\nParameters:"
    for name, schema in shown.parameters.items():
        default = json.dumps(schema.get("default"), ensure_ascii=False)
        about = one_line(str(schema.get("description") or ""))
        yield f"  {name} ({one_line(str(schema.get('type')))}, default {default}): {about}"
    yield from needs_lines(shown.entry)
    code: list[str] = []
    for source in shown.sources:
        code += [f"\n# {source.file}", *_printable(source.text)]
    examples = (shown.examples.acts, shown.examples.leaves)
    for verb, resource in zip(does(entry), examples, strict=True):
        if resource is None:
            code.append(f"\n# no example that it {verb} stands beside it")
        else:
            code.append(f"\n# an example that it {verb}: {resource.location}")
            code += _printable(dump_yaml(resource.body))
    yield Code(code)


def _printable(text: str) -> Iterator[str]:
    """Lines that a terminal shows as they are."""
    for line in text.rstrip().splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        yield indent + "".join(char if char.isprintable() else "�" for char in line.lstrip())


def _value(shown: Details) -> Body:
    """Return a list's entry of the policy, and `parameters`, `needs`, `policies`, `examples`."""
    control = shown.control
    examples = {"acts": shown.examples.acts, "leaves": shown.examples.leaves}
    return {
        **entry_body(shown.entry),
        "control": {"name": control.name, "source": control.source} if control else None,
        "remediation": shown.remediation,
        "counterpart": list(shown.counterpart),
        "parameters": shown.parameters,
        "needs": needs_json(shown.entry),
        "policies": [{"file": source.file, "text": source.text} for source in shown.sources],
        "examples": {
            name: {"location": str(example.location), "object": example.body} if example else None
            for name, example in examples.items()
        },
    }


def report(shown: Details) -> CommandReport:
    """Return one policy for every format."""
    return CommandReport(
        text=lambda width: _text(shown, width), value=lambda: _value(shown), rows="policies"
    )


@dataclass(frozen=True, slots=True)
class ShownExample:
    """acts: an object that the policy refuses, changes, generates for or deletes; leaves: one that
    it accepts or passes over; None where none is known."""

    acts: Resource | None = None
    leaves: Resource | None = None


def examples_of(entry: Entry, root: Path) -> ShownExample:
    """A policy's examples; root: its library's folder, outside of which nothing is read.

    A policy of chartkit's format has `bad.yaml` and `good.yaml`; one as Kyverno reads it has
    Kyverno's own tests, whose results name objects.

    A file that cannot be read gives none: the policy can be shown without.
    """
    folder = Path(entry.file).parent
    if entry.own:
        return ShownExample(_first(folder / BAD_FILE, root), _first(folder / GOOD_FILE, root))
    for name in _TESTS:
        if (folder / name).is_file():
            # Of tests: where a policy judges, `fail` is what it refuses; where it changes or makes
            # something, `pass` is what it did.
            file = folder / name
            acting, leaving = "pass", "skip"
            if _JUDGING.intersection(entry.kinds):
                acting, leaving = "fail", "pass"
            try:
                bodies = [document.body for document in read_file(file)]
            except InputError:
                return ShownExample()
            by_result: dict[str, Resource] = {}
            for body in bodies:
                if not isinstance(body, dict):
                    continue
                objects = [
                    resource
                    for name in texts_of(body.get("resources"))
                    for resource in _objects(file.parent / name, root)
                ]
                for result, resource in _results(entry, body, objects):
                    by_result.setdefault(result, resource)
            return ShownExample(by_result.get(acting), by_result.get(leaving))
    return ShownExample()


def _first(file: Path, root: Path) -> Resource | None:
    return next(iter(_objects(file, root)), None)


def _objects(file: Path, root: Path) -> list[Resource]:
    if not (file.resolve().is_relative_to(root.resolve()) and file.is_file()):
        return []
    try:
        return resources(read_file(file))
    except InputError:
        return []


def _results(entry: Entry, test: Body, objects: list[Resource]) -> Iterator[tuple[str, Resource]]:
    """Return the results of a test with the objects that they are about."""
    for result in mappings_at(test, "results"):
        if str(result.get("policy")).rpartition("/")[2] != entry.name:
            continue
        for name in texts_of(result.get("resources")):
            short = name.rpartition("/")[2]
            for resource in objects:
                if resource.name == short and resource.kind == result.get("kind", resource.kind):
                    yield str(result.get("result")), resource


def needs_of(entry: Entry) -> Needs:
    """Return the needs of a policy in all its forms at its parameters' defaults; raise the error of
    a form that cannot be rendered."""
    file = Path(entry.file)
    if entry.own:
        policy = read_policy(file.parent, "", shared_parameters(file.parent))
        sources = [policy.template, *([policy.cel] if policy.cel else [])]
        parts = [part for source in sources for part in filled_documents(policy, source)]
        bodies = [resource.body for resource in resources(parts)]
    else:
        documents = read_policy_text(Source(entry.file, read_source(file)))[1]
        bodies = [document.body for document in documents if document.line == entry.line]
    return needs(bodies, definitions_beside(file.parent))


def needs_lines(entry: Entry) -> Iterator[str]:
    """Yield a section for people, nothing where the policy needs nothing, or why its needs are
    unknown, where a form cannot be rendered."""
    try:
        required = needs_of(entry)
    except ChartkitError as error:
        yield f"\nNeeds: unknown, {one_line(str(error))}"
        return
    lines: list[str] = []
    for permission in required.permissions:
        resource = f"{permission.resource}.{permission.group}".removesuffix(".")
        scan = ", for background scans" if permission.scan else ""
        lines.append(f"{permission.controller}: {', '.join(permission.verbs)} {resource}{scan}")
    lines += (f"ConfigMap {read}" for read in required.config_maps)
    lines += (f"GlobalContextEntry {entry}" for entry in required.global_entries)
    for unknown in required.unknown:
        path = ".".join(str(step) for step in unknown.path)
        lines.append(f"{unknown.message} ({path})" if path else unknown.message)
    if lines:
        yield "\nNeeds:"
        yield from (f"  {one_line(line)}" for line in lines)


def needs_json(entry: Entry) -> Body:
    """An object with permissions, configMaps, globalContextEntries and unknown; with error, where a
    form cannot be rendered."""
    try:
        required = needs_of(entry)
    except ChartkitError as error:
        return {"error": one_line(str(error))}
    return {
        "permissions": permissions_json(required),
        "configMaps": [
            {"namespace": read.namespace, "name": read.name} for read in required.config_maps
        ],
        "globalContextEntries": list(required.global_entries),
        "unknown": [{"message": row.message, "path": list(row.path)} for row in required.unknown],
    }

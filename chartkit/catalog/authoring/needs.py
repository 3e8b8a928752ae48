"""The needs of a library's policy, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chartkit.catalog.authoring.agreement import default_bodies
from chartkit.catalog.authoring.check import shared_parameters
from chartkit.catalog.entries import one_line
from chartkit.catalog.model import Entry
from chartkit.charts.rbac.permissions import as_json as permissions_json
from chartkit.charts.rbac.permissions import definitions_beside, needs
from chartkit.charts.rbac.requirements import Needs
from chartkit.documents.reader import Source, read_source
from chartkit.errors import ChartkitError
from chartkit.library.policies import read_policy
from chartkit.library.upstream import read_policy_text
from chartkit.model import Body


def needs_of(entry: Entry) -> Needs:
    """Return the needs of a policy in all its forms at its parameters' defaults; raise the error of
    a form that cannot be rendered."""
    return needs(_bodies(entry), definitions_beside(Path(entry.file).parent))


def _bodies(entry: Entry) -> list[Body]:
    file = Path(entry.file)
    if not entry.own:
        source = Source(entry.file, read_source(file))
        documents = read_policy_text(source)[1]
        return [document.body for document in documents if document.line == entry.line]
    policy = read_policy(file.parent, "", shared_parameters(file.parent))
    sources = [policy.template, *([policy.cel] if policy.cel else [])]
    return [body for source in sources for body in default_bodies(policy, source)]


def as_lines(entry: Entry) -> Iterator[str]:
    """Yield a section for people, nothing where the policy needs nothing, or why its needs are
    unknown, where a form cannot be rendered."""
    try:
        found = needs_of(entry)
    except ChartkitError as error:
        yield f"\nNeeds: unknown, {one_line(str(error))}"
        return
    lines = list(_lines(found))
    if lines:
        yield "\nNeeds:"
        yield from (f"  {one_line(line)}" for line in lines)


def _lines(found: Needs) -> Iterator[str]:
    for permission in found.permissions:
        resource = f"{permission.resource}.{permission.group}".removesuffix(".")
        scan = ", for background scans" if permission.scan else ""
        yield f"{permission.controller}: {', '.join(permission.verbs)} {resource}{scan}"
    yield from (f"ConfigMap {read}" for read in found.config_maps)
    yield from (f"GlobalContextEntry {entry}" for entry in found.global_entries)
    for unknown in found.unknown:
        place = ".".join(str(step) for step in unknown.path)
        yield f"{unknown.message} ({place})" if place else unknown.message


def as_json(entry: Entry) -> Body:
    """An object with permissions, configMaps, globalContextEntries and unknown; with error, where a
    form cannot be rendered."""
    try:
        found = needs_of(entry)
    except ChartkitError as error:
        return {"error": one_line(str(error))}
    return {
        "permissions": permissions_json(found),
        "configMaps": [
            {"namespace": read.namespace, "name": read.name} for read in found.config_maps
        ],
        "globalContextEntries": list(found.global_entries),
        "unknown": [{"message": each.message, "path": list(each.path)} for each in found.unknown],
    }

"""The output of `chartkit policies add`: files written, needs of the policy, notes."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.authoring.add import AddResult
from chartkit.catalog.authoring.needs import needs_of
from chartkit.catalog.entries import one_line
from chartkit.catalog.search import passed_over
from chartkit.errors import ChartkitError


def as_text(added: AddResult) -> str:
    """Lines for people."""
    return "".join(f"{one_line(line)}\n" for line in _lines(added))


def _lines(added: AddResult) -> Iterator[str]:
    name = added.entry.qualified
    for other in added.instead_of:
        yield passed_over(added.entry, other)
    if added.there is not None:
        yield f"{name} is in {added.profile} already: {added.there}"
    for file in added.written:
        what = f"has {name}" if file == added.profile else f"names {added.profile.name}"
        yield f"wrote {file}: it {what}"
    yield from _needs(added)
    if added.policy.counterpart:
        yield f"policies that help: {', '.join(added.policy.counterpart)}"
    if added.without:
        names = ", ".join(added.without)
        yield f"not in {names}: chartkit.yaml gives it other profiles; name {added.profile} there"
    if added.written:
        yield "next: chartkit render"


def _needs(added: AddResult) -> Iterator[str]:
    """Return the needs of the policy; a form that cannot be rendered has none that are known."""
    try:
        found = needs_of(added.entry)
    except ChartkitError as error:
        yield f"what it needs cannot be told: {error}"
        return
    for each in found.permissions:
        resource = f"{each.resource}.{each.group}".removesuffix(".")
        verbs = ", ".join(each.verbs)
        yield f"the chart lets Kyverno's {each.controller} {verbs} {resource} for it"
    for config_map in found.config_maps:
        yield f"it reads the ConfigMap {config_map}: make it, or give it in values as configMaps"
    for entry in found.global_entries:
        yield f"it reads the GlobalContextEntry {entry}: make it"
    for unknown in found.unknown:
        yield f"look at what it needs: {unknown.message}"

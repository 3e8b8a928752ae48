"""The section of a policy's page on its needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chartkit.catalog.authoring.needs import needs_of
from chartkit.catalog.markdown import cell_code, code, prose, table
from chartkit.catalog.model import Entry
from chartkit.charts.rbac.requirements import Permission

_HEAD = ("Controller", "API group", "Resources", "Verbs")


def needs_lines(entry: Entry) -> Iterator[str]:
    """A section for permissions, ConfigMaps and GlobalContextEntries; none where it needs none.

    Raises the error of a form that cannot be rendered.
    """
    found = needs_of(entry)
    if found.permissions:
        rows = [_row(each) for each in found.permissions]
        lead = "Beyond what Kyverno's chart gives its controllers; the policies chart adds it."
        yield f"## Permissions\n\n{lead}\n\n{table(_HEAD, rows)}"
    read = [f"ConfigMap {code(str(each))}" for each in found.config_maps]
    read += [f"GlobalContextEntry {code(name)}" for name in found.global_entries]
    if read:
        yield f"## What must be there\n\n{_bullets(read)}"
    if found.unknown:
        messages = dict.fromkeys(prose(each.message) for each in found.unknown)
        yield f"## What its needs do not show\n\n{_bullets(messages)}"


def _bullets(texts: Iterable[str]) -> str:
    return "".join(f"- {text}\n" for text in texts)


def _row(each: Permission) -> list[str]:
    controller = f"{each.controller}, for background scans" if each.scan else str(each.controller)
    group = cell_code(each.group) or "core"
    return [prose(controller), group, cell_code(each.resource), prose(", ".join(each.verbs))]

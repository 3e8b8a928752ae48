"""The reports of `chartkit exceptions list` and `check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from chartkit.model import Body, Diagnostic, Location, Severity
from chartkit.project.project import Project
from chartkit.project.settings import NamedFile
from chartkit.report.command_report import Block, CommandReport, Table
from chartkit.report.finding import diagnostic_entry, diagnostic_finding
from chartkit.safe_text import shown
from chartkit.scan.exceptions.files import read_files
from chartkit.scan.exceptions.model import FiledException, filed
from chartkit.scan.inputs import Note
from chartkit.wording import counted

_HEADINGS = ("NAME", "POLICIES", "ENDS", "ENVIRONMENTS", "LOCATION")


@dataclass(frozen=True, slots=True)
class ListedException:
    """An exception, the environments that have it, and its marks by name (empty: it has none)."""

    exception: FiledException
    environments: tuple[str, ...]
    marks: dict[str, str]


def listed_exceptions(
    files: Sequence[Path], project: Project | None, names: Sequence[str], note: Note
) -> list[ListedException]:
    """Return the exceptions of files, or of the project's environments (names: of these alone);
    note: called with a row for each file of a folder that cannot be read.

    Raise InputError.
    """
    if project is None:
        named = [NamedFile(file, Location(str(file))) for file in files]
        return [ListedException(filed(each), (), {}) for each in read_files(named, note)]
    chosen = [one for name in names for one in project.environments_of(name)]
    found: dict[tuple[str, int, str], tuple[FiledException, list[str]]] = {}
    for environment in chosen or project.environments.values():
        for resource in read_files(environment.exceptions, note):
            location = resource.location
            key = (location.file, location.line, location.path)
            found.setdefault(key, (filed(resource), []))[1].append(environment.name)
    wanted = project.exception_rules.annotations
    return [
        ListedException(
            each, tuple(names), {name: each.marked([name]).get(name, "") for name in wanted}
        )
        for each, names in found.values()
    ]


def listing(found: Sequence[ListedException], now: datetime) -> CommandReport:
    """Return the list for every format."""
    return CommandReport(
        text=lambda _width: _list_text(found, now),
        value=lambda: {"exceptions": [_list_body(exception, now) for exception in found]},
        rows="exceptions",
    )


def _list_text(found: Sequence[ListedException], now: datetime) -> Iterator[Block]:
    if not found:
        yield "no exceptions"
        return
    head = [*_HEADINGS[:3], *map(str.upper, found[0].marks), *_HEADINGS[3:]]
    yield Table(head, [_cells(listed, now) for listed in found])


def _cells(each: ListedException, now: datetime) -> list[str]:
    exception = each.exception
    end = exception.expires
    said = "never" if end is None else f"{end.date()}{' (ended)' if end <= now else ''}"
    return [
        shown(exception.resource.name),
        shown(", ".join(exception.policies)),
        said,
        *(shown(value or "-") for value in each.marks.values()),
        ", ".join(each.environments) or "-",
        str(exception.resource.location),
    ]


def _list_body(each: ListedException, now: datetime) -> Body:
    exception = each.exception
    end = exception.expires
    return {
        "name": exception.resource.name,
        "namespace": exception.resource.namespace,
        "apiVersion": exception.resource.api_version,
        "policies": list(exception.policies),
        "ends": end.isoformat() if end else None,
        "ended": end is not None and end <= now,
        "marks": each.marks,
        "environments": list(each.environments),
        "location": str(exception.resource.location),
    }


def check_report(filed_: Sequence[FiledException], found: Sequence[Diagnostic]) -> CommandReport:
    """Return what is wrong with exceptions for every format."""
    return CommandReport(
        text=lambda _width: _check_text(filed_, found),
        value=lambda: {
            "exceptions": len(filed_),
            "findings": list(map(diagnostic_entry, found)),
        },
        rows="findings",
        findings=lambda: map(diagnostic_finding, found),
    )


def _check_text(filed_: Sequence[FiledException], found: Sequence[Diagnostic]) -> Iterator[str]:
    for finding in found:
        place = f"{finding.location}: " if finding.location else ""
        yield f"{finding.severity}  {place}{shown(finding.message)} [{finding.rule_id}]"
        if finding.hint:
            yield f"  → {shown(finding.hint)}"
    counts = Counter(finding.severity for finding in found)
    errors, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
    yield (
        f"{counted(len(filed_), 'exception')}, {counted(errors, 'error')}, "
        f"{counted(warnings, 'warning')}"
    )

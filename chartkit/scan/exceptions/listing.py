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
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import diagnostic_finding
from chartkit.report.text.layout import Screen, table
from chartkit.safe_text import shown
from chartkit.scan.exceptions.files import read_files
from chartkit.scan.exceptions.model import FiledException, filed
from chartkit.scan.inputs import Note

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
        named = [NamedFile(each, Location(str(each))) for each in files]
        return [ListedException(filed(each), (), {}) for each in read_files(named, note)]
    chosen = [one for name in names for one in project.environments_of(name)]
    found: dict[tuple[str, int, str], tuple[FiledException, list[str]]] = {}
    for environment in chosen or project.environments.values():
        for resource in read_files(environment.exceptions, note):
            place = resource.location
            key = (place.file, place.line, place.path)
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
        text=lambda screen: _list_text(found, now, screen),
        value=lambda: {"exceptions": [_list_body(each, now) for each in found]},
        rows="exceptions",
    )


def _list_text(found: Sequence[ListedException], now: datetime, screen: Screen) -> str:
    if not found:
        return "no exceptions\n"
    marks = list(found[0].marks)
    head = [*_HEADINGS[:3], *(each.upper() for each in marks), *_HEADINGS[3:]]
    rows = [head, *(_cells(each, now) for each in found)]
    return "".join(f"{line.rstrip()}\n" for line in table(rows, screen.width))


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
        text=lambda _screen: _check_text(filed_, found),
        value=lambda: _check_json(filed_, found),
        rows="findings",
        findings=lambda: map(diagnostic_finding, found),
    )


def _check_text(filed_: Sequence[FiledException], found: Sequence[Diagnostic]) -> str:
    return "".join(f"{line}\n" for line in (*_lines(found), _totals(filed_, found)))


def _lines(found: Sequence[Diagnostic]) -> Iterator[str]:
    for each in found:
        place = f"{each.location}: " if each.location else ""
        yield f"{each.severity}  {place}{shown(each.message)} [{each.rule_id}]"
        if each.hint:
            yield f"  → {shown(each.hint)}"


def _totals(filed_: Sequence[FiledException], found: Sequence[Diagnostic]) -> str:
    counts = Counter(each.severity for each in found)
    parts = (
        (len(filed_), "exception"),
        (counts[Severity.ERROR], "error"),
        (counts[Severity.WARNING], "warning"),
    )
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in parts)


def _check_json(filed_: Sequence[FiledException], found: Sequence[Diagnostic]) -> Body:
    findings = [
        {
            "id": each.rule_id,
            "severity": str(each.severity),
            "message": each.message,
            "location": str(each.location) if each.location else None,
            "hint": each.hint,
        }
        for each in found
    ]
    return {"exceptions": len(filed_), "findings": findings}

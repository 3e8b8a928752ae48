"""The PolicyExceptions in files and folders of a project: when each ends, and what it lacks of what
the project wants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.documents.reader import read_file, resources
from chartkit.documents.unread import UNREADABLE, require_read
from chartkit.engine import is_exception, read_exceptions
from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP, group_of
from chartkit.engine.policies import EXCEPTION
from chartkit.errors import CompileError, InputError
from chartkit.model import Body, Diagnostic, Resource, Severity, mapping_at, mappings_at
from chartkit.project.project import ExceptionRules
from chartkit.scan.inputs import Note
from chartkit.scan.inputs.folders import unread_file, walk

if TYPE_CHECKING:
    from chartkit.project.settings import NamedFile


TTL: Final = "cleanup.kyverno.io/ttl"
"""The label by which Kyverno's cleanup controller deletes an object."""
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(T.*)?")
EXPIRED: Final = "expired"
SOON: Final = "expires-soon"
UNMARKED: Final = "without-mark"
ENDLESS: Final = "without-end"


@dataclass(frozen=True, slots=True)
class FiledException:
    """An exception of a file. forms: the objects that a cluster gets of it; the exception itself
    where nothing says otherwise."""

    resource: Resource
    forms: tuple[Resource, ...]

    @property
    def is_legacy(self) -> bool:
        """Report whether it is one of kyverno.io."""
        return group_of(self.resource) == KYVERNO_GROUP

    @property
    def policies(self) -> tuple[str, ...]:
        """Return the names of the policies that it names."""
        spec = mapping_at(self.resource.body, "spec")
        names = [str(exception.get("policyName")) for exception in mappings_at(spec, "exceptions")]
        names += [str(mapping.get("name")) for mapping in mappings_at(spec, "policyRefs")]
        return tuple(dict.fromkeys(names))

    @property
    def expires(self) -> datetime | None:
        """Return when it ends, None where it says no date."""
        return expiry(self.resource.body)

    def marked(self, names: Sequence[str]) -> dict[str, str]:
        """Return the annotations, or labels, of these names that it has."""
        metadata = mapping_at(self.resource.body, "metadata")
        given = {**mapping_at(metadata, "labels"), **mapping_at(metadata, "annotations")}
        return {name: str(given[name]) for name in names if str(given.get(name) or "").strip()}


def filed(resource: Resource) -> FiledException:
    """Return an exception that is installed as it is."""
    return FiledException(resource, (resource,))


def expiry(body: Body) -> datetime | None:
    """Return the time at which an exception ends: its `expiresAt`, or the label of the cleanup
    controller; None if there is none, and for a time to live, which begins when it is created."""
    labels = mapping_at(body, "metadata", "labels")
    given = mapping_at(body, "spec").get("expiresAt") or labels.get(TTL)
    if not isinstance(given, str | date) or not _DATE.fullmatch(str(given)):
        return None
    try:
        time = datetime.fromisoformat(str(given))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def lifetime(
    exception: FiledException, rules: ExceptionRules, now: datetime, soon_days: int
) -> Iterator[Diagnostic]:
    """Yield what is wrong with an exception's time and marks; soon_days: the days before its end
    from which it is worth a note."""
    resource, end = exception.resource, exception.expires
    name = f"exception {resource.name}"
    hint = f"take it out, or give it another end (label {TTL})"
    if end is not None and end <= now:
        message = f"{name} ended on {end.date()}"
        yield Diagnostic(EXPIRED, Severity.ERROR, message, resource.location, hint)
    elif end is not None and end <= now + timedelta(days=soon_days):
        message = f"{name} ends on {end.date()}"
        yield Diagnostic(SOON, Severity.WARNING, message, resource.location)
    missing = [annotation for annotation in rules.annotations if not exception.marked([annotation])]
    if missing:
        message = f"{name} has no {', '.join(missing)}"
        hint = "give it the annotation; exceptionRules of the project wants it"
        yield Diagnostic(UNMARKED, Severity.ERROR, message, resource.location, hint)
    if rules.longest_days is not None:
        latest = now + timedelta(days=rules.longest_days)
        if end is None or end > latest:
            said = "has no end" if end is None else f"ends on {end.date()}"
            message = f"{name} {said}, and the project wants one by {latest.date()}"
            hint = f"give it the label {TTL}: {latest.date()}"
            yield Diagnostic(ENDLESS, Severity.ERROR, message, resource.location, hint)


def read_files(files: Sequence[NamedFile], note: Note | None = None) -> list[Resource]:
    """Return the exceptions of files and folders, each object once; note: called with a row for
    each file of a folder that cannot be read, without it raise InputError. Raise InputError for a
    path that is not there or has no exception, and for an exception that Kyverno refuses."""
    by_name: dict[tuple[str, str, str], Resource] = {}
    for file in files:
        is_named = file.location is not None and file.location.file == str(file.path)
        if not file.path.exists():
            if is_named:
                raise InputError("no such file or folder", file.location)
            hint = "paths start at the folder of chartkit.yaml"
            raise InputError(f"there is no '{file.path}'", file.location, hint)
        here = exceptions_at(file.path, note)
        if not here:
            hint = "write PolicyExceptions of kyverno.io/v2 or policies.kyverno.io/v1"
            named = "" if is_named else f"'{file.path}' "
            raise InputError(f"{named}has no PolicyException", file.location, hint)
        for resource in here:
            try:
                read_exceptions([resource])
            except CompileError as error:
                first = error.diagnostics[0] if error.diagnostics else None
                message = first.message if first else error.message
                at = first.location if first and first.location else resource.location
                text = f"Kyverno refuses the exception: {message}"
                raise InputError(text, at, error.hint) from None
            key = (resource.api_version.partition("/")[0], resource.namespace, resource.name)
            by_name[key] = resource
    return list(by_name.values())


def exceptions_at(path: Path, note: Note | None) -> list[Resource]:
    """Return the exceptions of a file or folder; note: called with a row for each file of a folder
    that cannot be read. Without it, and where there is no exception, raise InputError for one."""
    if not path.is_dir():
        return list(_exceptions(path))
    rows: list[Diagnostic] = []
    exceptions: list[Resource] = []
    for file in filter(Path.is_file, walk(path, rows.append)):
        try:
            exceptions += _exceptions(file)
        except UNREADABLE as error:
            rows.append(unread_file(file, error))
    if note is None or not exceptions:
        require_read(rows)
    else:
        for row in rows:
            note(row)
    return exceptions


def _exceptions(file: Path) -> Iterator[Resource]:
    for document in read_file(file):
        body = document.body
        if isinstance(body, dict) and body.get("kind") in (EXCEPTION, "List"):
            yield from filter(is_exception, resources([document]))

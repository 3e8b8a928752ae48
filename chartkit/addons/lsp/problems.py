"""Problems in files, and their ranges in the texts that editors have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.documents.input_files import read_text
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Resource, RuleResult, Severity

if TYPE_CHECKING:
    from chartkit.addons.lsp.judging import Policies
    from chartkit.scan.requests import Requests

MOST: Final = 500
"""The problems of one file that are sent to the editor."""
_CONTENT: Final = re.compile(r"\S.*?(?=\s+#|\s*$)")


@dataclass(frozen=True, slots=True)
class Violation:
    """A failure of an object. policies, requests: that it was judged by and with."""

    resource: Resource
    result: RuleResult
    policies: Policies
    requests: Requests


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at a place of a file. code: the ID of a diagnostic, or `policy/rule`; others:
    further fields of a violation with their places; violation: None for what no policy says."""

    location: Location
    severity: Severity
    code: str
    message: str
    others: Sequence[tuple[Location, str]] = ()
    violation: Violation | None = field(default=None, compare=False)


def problem_of(diagnostic: Diagnostic, file: str) -> Problem:
    """Return a diagnostic as a problem; file: where it is shown if it names no other."""
    location = diagnostic.location or Location(file)
    message = diagnostic.message + (f" ({diagnostic.hint})" if diagnostic.hint else "")
    return Problem(location, diagnostic.severity, diagnostic.rule_id, message)


def note(code: str, message: str, file: str) -> Problem:
    """Return a note about a whole file."""
    return Problem(Location(file, 1), Severity.NOTE, code, message)


def by_file(found: Iterable[Problem], file: str) -> dict[str, list[Problem]]:
    """Return problems by their files, each once. file: the one that was checked, which those of
    no file are in, too."""
    names: dict[str, list[Problem]] = {}
    for each in dict.fromkeys(found):
        names.setdefault(each.location.file, []).append(each)
    files: dict[str, list[Problem]] = {file: []}
    for name, problems in names.items():
        is_file = not name.startswith("<") and Path(name).is_file()
        files.setdefault(str(Path(name).resolve()) if is_file else file, []).extend(problems)
    return files


def span_of(location: Location, lines: Sequence[str]) -> tuple[int, int, int]:
    """Return the line of what stands at a location, and its columns in characters, all from 0: up
    to the end of the line's content, comments aside."""
    number = min(max(location.line - 1, 0), max(len(lines) - 1, 0))
    text = lines[number] if lines else ""
    start = max(location.column - 1, 0)
    match = _CONTENT.search(text, start) if start < len(text) else _CONTENT.search(text)
    return (number, match.start(), match.end()) if match else (number, 0, len(text))


def lines_of(path: str) -> list[str]:
    """Return the lines of a file as the editor has it; none for one that cannot be read."""
    with suppress(InputError):
        return read_text(path).split("\n")
    return []

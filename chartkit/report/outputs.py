"""Reports to where the user wants them: `FORMAT` to standard output, `FORMAT=FILE` to a file."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from chartkit.errors import InputError
from chartkit.model import Location, Resource, RuleResult, Status
from chartkit.report import FORMATS, ReportOptions, Writer


@dataclass(frozen=True, slots=True)
class Output:
    """One report: its format, and the file it goes to (None: standard output)."""

    format: str
    file: Path | None = None

    @classmethod
    def parse(cls, text: str) -> Output:
        """Reads `FORMAT` or `FORMAT=FILE`; raises InputError for a format that is not known."""
        name, equals, file = text.partition("=")
        if name not in FORMATS:
            known = ", ".join(FORMATS)
            raise InputError(f"unknown report format '{name}'", hint=f"one of {known}")
        if equals and not file:
            raise InputError(f"'{text}' names no file", hint=f"write {name} or {name}=FILE")
        return cls(name, Path(file) if file else None)


class Outputs:
    """All the reports of one run; every result goes to each."""

    def __init__(self, outputs: Sequence[Output], options: ReportOptions, stdout: TextIO) -> None:
        self._stdout = stdout
        self._writers: list[tuple[Output, Writer]] = [
            (output, FORMATS[output.format](options)) for output in outputs
        ]

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Hands one resource's results to every report."""
        for _, writer in self._writers:
            writer.add(resource, results)

    def finish(self, counts: Counter[Status]) -> None:
        """Writes every report; a file appears whole or not at all."""
        for output, writer in self._writers:
            text = writer.finish(counts)
            if output.file is None:
                self._stdout.write(text)
            else:
                write_whole(output.file, text)


def write_whole(path: Path, text: str) -> None:
    """Puts text in the place of path in one step; raises InputError where that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
            temporary.chmod(0o644)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}", Location(str(path))
        ) from None

"""The destinations of reports: `FORMAT` for standard output, `FORMAT=FILE` for a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TextIO, cast

from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Resource, RuleResult, Status
from chartkit.report.formats import QUERIED, MakeWriter, writer_of
from chartkit.report.model import NONE_ACCEPTED, Accepted, Divisible, ReportOptions, Writer


class Output(NamedTuple):
    """One report: its format and its file (None: standard output, unless it has a URL)."""

    format: str
    file: Path | None = None
    url: str = ""

    @classmethod
    def parse(cls, text: str) -> Output:
        """Parse `FORMAT` or `FORMAT=FILE`; raise InputError for an unknown format."""
        name, equals, file = text.partition("=")
        writer_of(name)
        if equals and not file:
            raise InputError(f"'{text}' names no file", hint=f"write {name} or {name}=FILE")
        if "://" in file:
            return cls(name, None, file)
        return cls(name, Path(file) if file else None)


def parse_all(texts: Sequence[str], is_store: Callable[[str], bool] | None = None) -> list[Output]:
    """Parse every `FORMAT` and `FORMAT=FILE`; is_store: whether a URL can be written to. Raise
    InputError also for two with the same destination, and for other URLs."""
    outputs = [Output.parse(text) for text in texts]
    for index, output in enumerate(outputs):
        if output.url and not (is_store is not None and is_store(output.url)):
            raise InputError(f"-o cannot write to {output.url}", hint="name a file")
        before = [(other.file, other.url) for other in outputs[:index]]
        if (output.file, output.url) in before:
            target = output.file or output.url or "standard output"
            hint = f"write another FILE: {output.format}=FILE"
            raise InputError(f"{target} takes one report, not two", hint=hint)
    return outputs


class Outputs:
    """All the reports of one run; every result goes to each."""

    def __init__(
        self,
        outputs: Sequence[Output],
        options: ReportOptions,
        stdout: TextIO,
        query: str | None = None,
        is_live: bool = True,
        upload: Callable[[str, Iterable[str]], None] | None = None,
    ) -> None:
        """query: a JMESPath expression over the JSON report; is_live: whether formats that write
        each result at once may do so; upload: writes to URLs. Raise InputError for a wrong
        query."""
        self._course = options.course
        self._upload = upload
        self._stdout = stdout
        if query is None:
            self._query = None
        else:
            from chartkit.report.command_report import queried

            self._query = queried([output.format for output in outputs], query)
        uncoloured = replace(options, colour=False, width=None)
        shown = replace(options, live=stdout) if is_live else options
        self._writers: list[tuple[Output, Writer]] = [
            (output, self._writer_of(output)(uncoloured if output.file or output.url else shown))
            for output in outputs
        ]

    def _writer_of(self, output: Output) -> MakeWriter:
        is_queried = self._query is not None and output.format in QUERIED
        return writer_of("json" if is_queried else output.format)

    def add(
        self, resource: Resource, results: Sequence[RuleResult], accepted: Accepted = NONE_ACCEPTED
    ) -> None:
        """Add one resource's results to every report; accepted: those that fail no run."""
        for _, writer in self._writers:
            writer.add(resource, results, accepted)

    @property
    def are_divisible(self) -> bool:
        """Report whether several processes can write the reports."""
        return all(isinstance(writer, Divisible) for _, writer in self._writers)

    def part(self) -> list[Any]:
        """Return the content of every report, for another process, and begin anew."""
        return [cast(Divisible, writer).part() for _, writer in self._writers]

    def append(self, parts: Sequence[Any]) -> None:
        """Add the parts of every report that another process wrote."""
        for (_, writer), part in zip(self._writers, parts, strict=True):
            cast(Divisible, writer).append(part)

    def finish(
        self,
        counts: Counter[Status],
        is_incomplete: bool = False,
        timings: Sequence[Body] | None = None,
        unread: Sequence[Diagnostic] = (),
    ) -> None:
        """Write every report; a file appears whole or not at all. is_incomplete: whether the run
        was interrupted; timings: what policies took, where it was measured; unread: rows about
        inputs that could not be read, which are findings in the formats of findings."""
        self._course.is_incomplete = is_incomplete
        self._course.timings = timings
        self._course.unread = unread
        if unread:
            from chartkit.report.finding import FindingSink, diagnostic_finding

            findings = list(map(diagnostic_finding, unread))
            for _, writer in self._writers:
                if isinstance(writer, FindingSink):
                    for finding in findings:
                        writer.write(finding)
        for output, writer in self._writers:
            pieces: Iterable[str] = writer.finish(counts)
            if self._query is not None and output.format in QUERIED:
                pieces = [self._query.written(pieces, output.format)]
            if output.url and self._upload is not None:
                self._upload(output.url, pieces)
            elif output.file is None:
                self._stdout.writelines(pieces)
            else:
                from chartkit.report.files import write_pieces

                write_pieces(output.file, pieces)


def with_query(outputs: tuple[str, ...], query: str | None) -> tuple[str, ...]:
    """Return the formats, JSON in place of the default where there is a query."""
    return ("json",) if query is not None and outputs == ("text",) else outputs

"""The tests and rows that a run is about: by policy, policy and rule, or name of the test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import ChartkitError, InputError
from chartkit.suggestions import suggestion
from chartkit.testing.model import Expectation, TestFile
from chartkit.testing.reader import read_test_file

Case = tuple[str, Path]
"""The name of a test, which is its folder, and its file."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that any of some patterns matches; all of them without a pattern.

    A pattern is POLICY, POLICY/RULE, or the name of a test; `*` and `?` are wildcards.
    """

    patterns: tuple[str, ...] = ()

    def selected(self, groups: Sequence[Sequence[Case]]) -> Iterator[Sequence[Case]]:
        """Yield the cases with selected rows, and files that cannot be read; raise InputError for
        a pattern that selects nothing."""
        if not self.patterns:
            yield from groups
            return
        kept: list[list[Case]] = []
        names: set[str] = set()
        for cases in groups:
            kept.append([])
            for case, file in cases:
                try:
                    tests = read_test_file(file)
                except ChartkitError:
                    kept[-1].append((case, file))
                    continue
                for test in tests:
                    names.update(_names_of(case, test, test.expectations))
                if any(self.of(case, tests)):
                    kept[-1].append((case, file))
        for pattern in self.patterns:
            if not any(map(compile_wildcard(pattern), names)):
                hint = suggestion(pattern, names) or "name a policy, POLICY/RULE or a test's folder"
                raise InputError(f"--select {pattern} selects no result of a test", hint=hint)
        yield from kept

    def of(self, case: str, tests: Iterable[TestFile]) -> Iterator[TestFile]:
        """Yield the tests with their selected rows; none where no row is selected."""
        for test in tests:
            rows = tuple(
                row
                for row in test.expectations
                if not self.patterns or self._has(_names_of(case, test, [row]))
            )
            if rows or not self.patterns:
                yield replace(test, expectations=rows, is_part=len(rows) < len(test.expectations))

    def _has(self, names: Iterable[str]) -> bool:
        known = list(names)
        return any(any(map(compile_wildcard(pattern), known)) for pattern in self.patterns)


def _names_of(case: str, test: TestFile, rows: Iterable[Expectation]) -> Iterator[str]:
    """Yield the names by which rows of a test can be selected."""
    yield case
    if test.name:
        yield test.name
    for row in rows:
        yield row.policy_name
        yield f"{row.policy_name}/{row.rule}"


EVERYTHING: Final = Selection()

"""Prints how many failures name a field that changes the verdict.

    python -m tests.conformance.fields [--list] [NAME…]

NAME: `library`, `real`, `tests`, or a file of recorded cases; all by default. A line for each
source and kind of policy: the failures, those with a field, and those whose fields change the
verdict. `--list` prints the others.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.conformance.field_cases import RECORDED, of_cases, of_library, of_real, of_tests
from tests.conformance.field_changes import Failure, Outcome, change
from tests.policy_forms import FORMS
from tests.shared import FOLDER


@dataclass(slots=True)
class Figures:
    """The outcomes of the failures of one kind of policy, and those that name no right field."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    wrong: list[Failure] = field(default_factory=list)

    def add(self, failure: Failure) -> None:
        """Judge a failure."""
        outcome = change(failure)
        self.outcomes[outcome] += 1
        if outcome in (Outcome.NONE, Outcome.UNCHANGED):
            self.wrong.append(failure)

    @property
    def total(self) -> int:
        return self.outcomes.total()

    @property
    def named(self) -> float:
        """Return the share of failures with a field."""
        return 1 - self.outcomes[Outcome.NONE] / self.total

    @property
    def right(self) -> float:
        """Return the share of failures whose field changes the verdict."""
        return 1 - len(self.wrong) / self.total

    def __str__(self) -> str:
        counts = ", ".join(f"{outcome}: {count}" for outcome, count in self.outcomes.items())
        shares = f"{self.named:.1%} with a field, {self.right:.1%} right"
        return f"{self.total} failures, {shares} ({counts})"


def figures(failures: Iterator[Failure]) -> dict[str, Figures]:
    """Judge failures, by the kind of their policy."""
    found: dict[str, Figures] = {}
    for failure in failures:
        found.setdefault(failure.kind, Figures()).add(failure)
    return found


def _library() -> Iterator[Failure]:
    for form in FORMS:
        yield from of_library(form)


SOURCES: Final[dict[str, Callable[[], Iterator[Failure]]]] = {
    "library": _library,
    "real": lambda: of_real(FOLDER),
    "tests": lambda: of_tests(FOLDER / "conformance" / "policy-library"),
    "cli-tests": lambda: of_tests(FOLDER / "conformance" / "kyverno-cli"),
    **{
        name: lambda name=name: of_cases(FOLDER / "conformance" / "engine", name)  # type: ignore[misc]
        for name in RECORDED
    },
}


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit code."""
    shows = "--list" in arguments
    names = [one for one in arguments if one != "--list"] or list(SOURCES)
    for name in names:
        for kind, found in figures(SOURCES[name]()).items():
            sys.stdout.write(f"{name} {kind}: {found}\n")
            for failure in found.wrong if shows else ():
                sys.stdout.write(f"  {failure}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""Runs recorded engine cases: `python -m tests.conformance.engine FOLDER` (`make conformance`).

Every file of the folder that has the name of one in the table is run, `.jsonl` or `.jsonl.gz`. A
line a file: how many of how many agree, and the ids that do not. Exit 1 below 99.5 % in any file.
Known deviations stand in `tests/conformance/deviations.py` and count as agreeing; a deviation that
agrees after all counts as failed, so that the list stays true. Where messages of errors are not
all judged, the line says how many agree to the letter.
"""

import gzip
import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tests.conformance.deviations import DEVIATIONS
from tests.data import tables

Case = dict[str, Any]
RunCase = Callable[[Case], str | None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What differs in a case (None: nothing), its messages of errors, and how many differ."""

    fault: str | None
    messages: int = 0
    reworded: int = 0


RUNNERS: Final = tables(__file__)["runners"]
"""The module whose `run_case` runs each file, or `judge` where it counts messages too."""

_ENOUGH: Final = 0.995
_SUFFIXES: Final = (".jsonl", ".jsonl.gz")


@dataclass(slots=True)
class Outcome:
    """A file's cases: how many agree, and the ids of those that do not (with why).

    messages, reworded: of errors, where they are counted.
    """

    passed: int = 0
    messages: int = 0
    reworded: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def is_enough(self) -> bool:
        """Whether as many agree as must."""
        total = self.passed + len(self.failed)
        return total == 0 or self.passed / total >= _ENOUGH


def read_cases(path: Path) -> list[Case]:
    """The cases of a file, one JSON object a line."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def run_file(path: Path) -> Outcome:
    """Runs every case of a file with the runner of its name."""
    name = path.name.partition(".")[0]
    module = importlib.import_module(RUNNERS[name])
    judge = _judge(module)
    known = DEVIATIONS.get(name, {})
    outcome = Outcome()
    for case in read_cases(path):
        verdict = judge(case)
        outcome.messages += verdict.messages
        outcome.reworded += verdict.reworded
        fault = verdict.fault
        if case["id"] in known:
            fault = None if fault else "agrees: take it off the list of known deviations"
        if fault:
            outcome.failed[case["id"]] = fault
        else:
            outcome.passed += 1
    return outcome


def _judge(module: ModuleType) -> Callable[[Case], Verdict]:
    if hasattr(module, "judge"):
        judge: Callable[[Case], Verdict] = module.judge
        return judge
    run_case: RunCase = module.run_case
    return lambda case: Verdict(run_case(case))


def files_of(folder: Path) -> list[Path]:
    """The files of a folder that a runner knows, by name."""
    found = [folder / f"{name}{suffix}" for name in RUNNERS for suffix in _SUFFIXES]
    return sorted(path for path in found if path.is_file())


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit code."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.stderr.write("usage: make conformance DATA=FOLDER\n")
        return 2
    paths = files_of(Path(arguments[0]))
    if not paths:
        sys.stderr.write(f"{arguments[0]} holds none of: {', '.join(RUNNERS)}\n")
        return 2
    enough = True
    for path in paths:
        outcome = run_file(path)
        enough = enough and outcome.is_enough
        sys.stdout.write(f"{path.name}: {_line(outcome)}\n")
    return 0 if enough else 1


def _line(outcome: Outcome) -> str:
    line = f"{outcome.passed} of {outcome.passed + len(outcome.failed)}"
    if outcome.messages:
        same = outcome.messages - outcome.reworded
        line += (
            f"; {same} of {outcome.messages} messages ({same / outcome.messages:.1%}) to the letter"
        )
    return f"{line}; failing: {' '.join(outcome.failed)}" if outcome.failed else line


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

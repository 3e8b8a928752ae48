"""Feeds mutated inputs to every command, and shows those that break one.

    python -m tools.fuzz_commands [--seconds 3600] [--count N] [--jobs 2] [--seed 1] [--out FOLDER]

A command may succeed, find violations or refuse its input: exit 0, 1 or 2. A finding is any other
end, more than 5 seconds of processor, more than 500 MB, a control character in the output, and JSON
that is none. Each is written to a folder of its own, with `finding.json` and the input's files.
What Helm's own process takes is limited by chartkit, and not counted here.

Many inputs run in one process that was forked from one that has everything imported; one that broke
something runs again alone before it counts. `--seed N --count 1` is the input of number N. Totals
are printed each minute, and at the end: after the last input, the time, Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, Final

from tools.fuzz_mutations import argument, mutated
from tools.fuzz_projects import PROJECT_SCENARIOS
from tools.fuzz_reached import REACHED_SCENARIOS
from tools.fuzz_run import Ended, Input, judged, prepare
from tools.fuzz_scenarios import ENGINE_SCENARIOS, Scenario
from tools.fuzz_servers import REVIEW

SCENARIOS: Final = (*ENGINE_SCENARIOS, *PROJECT_SCENARIOS, *REACHED_SCENARIOS)
"""Every command."""
_GROUPS: Final = frozenset(
    ("policies", "values", "eval", "facts", "vendor", "migrate", "report", "exceptions")
)


def _name_of(arguments: Sequence[str]) -> str:
    """Return the words of a command; `test new` is one below another."""
    is_below = arguments[:1] and (arguments[0] in _GROUPS or list(arguments[:2]) == ["test", "new"])
    return " ".join(arguments[: 2 if is_below else 1])


_COMMANDS: Final = frozenset(_name_of(each) for one in SCENARIOS for each in one.arguments)
_BATCH: Final = 2_000
_MINUTE: Final = 60.0
_LARGEST: Final = 2_000_000
"""Letters of a mutated file, about what an API server takes of an object."""


@dataclass
class Totals:
    """What was run so far; until: the number of the input that comes next."""

    inputs: int = 0
    until: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    largest: int = 0
    findings: Counter[str] = field(default_factory=Counter)

    def add(self, one: Input, ended: Ended) -> None:
        """Count an input."""
        self.inputs += 1
        self.codes[str(ended.code)] += 1
        self.commands[command_of(one.arguments)] += 1
        self.slowest = max(self.slowest, ended.seconds)
        self.largest = max(self.largest, ended.megabytes)
        if ended.wrong:
            self.findings[ended.wrong] += 1

    def line(self, seconds: float) -> str:
        """Return all but commands and findings."""
        codes = ", ".join(f"{code}: {count:,}" for code, count in sorted(self.codes.items()))
        rate = self.inputs / max(seconds, 0.001)
        return (
            f"{self.inputs:,} inputs in {seconds:.0f} s ({rate:.0f}/s), next is number "
            f"{self.until}; exits {codes}; at most {self.slowest:.1f} s and {self.largest} MB; "
            f"{self.findings.total()} findings"
        )


class Stop:
    """Ctrl-C and SIGTERM end the fuzzer after the input that runs; all its processes get it."""

    def __init__(self) -> None:
        self.asked = False
        self.workers: list[int] = []
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, _signal: int, _frame: FrameType | None) -> None:
        self.asked = True
        for each in self.workers:
            os.kill(each, signal.SIGTERM)


def make_input(seed: int, scenarios: Sequence[Scenario] = SCENARIOS) -> Input:
    """Return the input of a number, always the same for it."""
    pick = random.Random(seed)
    [one] = pick.choices(scenarios, [each.weight for each in scenarios])
    arguments = list(pick.choice(one.arguments))
    files = dict(one.files)
    if one.changes_arguments and pick.random() < 0.8:
        at = _changed_argument(arguments, files, pick)
        arguments[at] = argument(arguments[at], pick)
    changeable = [name for name in files if name not in one.fixed]
    if changeable and (not one.changes_arguments or pick.random() < 0.3):
        others = list(pick.choice(scenarios).files.values())
        for _ in range(pick.choice((1, 1, 2))):
            name = pick.choice(changeable)
            made = mutated(files[name], others, pick)
            while len(made) > _LARGEST:
                made = mutated(files[name], others, pick)
            files[name] = made
    return Input(seed, one.name, arguments, files, dict(one.environment), one.left_out)


def command_of(arguments: Sequence[str]) -> str:
    """Return the name of a command; of what is none the text `another`."""
    name = _name_of(arguments)
    if name == REVIEW:
        return "serve"
    return name if name in _COMMANDS else "another"


def _changed_argument(arguments: Sequence[str], files: dict[str, str], pick: random.Random) -> int:
    """Return the place of an argument that is not a file; seldom of a command's or an option's
    name, with which few inputs get far."""
    places = [at for at, each in enumerate(arguments) if at > 0 and each not in files]
    words = len(command_of(arguments).split())
    values = [at for at in places if at >= words and not arguments[at].startswith("-")]
    return pick.choice(values if values and pick.random() < 0.9 else places)


def _keep(out: Path, one: Input, ended: Ended) -> None:
    folder = out / re.sub(r"\W+", "-", f"{one.scenario}-{ended.wrong}")[:80] / str(one.seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in one.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
    body: dict[str, Any] = {
        "arguments": one.arguments,
        "environment": one.environment,
        **asdict(ended),
    }
    (folder / "finding.json").write_text(json.dumps(body, indent=1))


class Work:
    """Runs the inputs of numbers, counts them, and keeps what broke."""

    def __init__(self, given: argparse.Namespace, scenarios: Sequence[Scenario], job: int) -> None:
        self.totals = Totals()
        self._given, self._scenarios = given, scenarios
        self._seeds = iter(range(given.seed + job, given.seed + given.count, given.jobs))
        self._start = self._shown = time.monotonic()

    def run(self, stop: Stop) -> None:
        """Run until no number is left, the time is over or it is to stop; print the totals."""
        with (
            tempfile.TemporaryDirectory(dir=self._given.scratch) as folder,
            contextlib.closing(self._judged(Path(folder))) as results,
        ):
            for one, ended in results:
                self._count(one, ended)
                if stop.asked or time.monotonic() - self._start > self._given.seconds:
                    break
        self._show()

    def _judged(self, folder: Path) -> Generator[tuple[Input, Ended], None, None]:
        while inputs := [make_input(each, self._scenarios) for each in islice(self._seeds, _BATCH)]:
            yield from judged(inputs, folder)

    def _count(self, one: Input, ended: Ended) -> None:
        totals, out = self.totals, self._given.out
        totals.add(one, ended)
        totals.until = one.seed + self._given.jobs
        if ended.wrong and out and totals.findings[ended.wrong] <= 3:
            _keep(out, one, ended)
        now = time.monotonic()
        if now - self._shown > _MINUTE:
            self._shown = now
            sys.stderr.write(f"{totals.line(now - self._start)}\n")

    def _show(self) -> None:
        totals = self.totals
        lines = [totals.line(time.monotonic() - self._start)]
        lines += [f"{count:9,}  {name}" for name, count in totals.commands.most_common()]
        lines += [f"{count:9,}  {wrong}" for wrong, count in totals.findings.most_common()]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=1 << 62)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="the number of the first input")
    parser.add_argument("--only", default="", help="scenarios with this in their name")
    parser.add_argument("--out", type=Path, help="where findings are written")
    memory = Path("/dev/shm")
    default = memory if memory.is_dir() else None
    parser.add_argument("--scratch", type=Path, default=default, help="where commands run")
    return parser.parse_args()


def main() -> int:
    """Run as the options say; 1 where something was found."""
    given = _options()
    scenarios = [one for one in SCENARIOS if given.only in one.name]
    prepare(scenarios)
    stop = Stop()
    job = 0
    for number in range(1, given.jobs):
        process = os.fork()
        if process == 0:
            stop.workers, job = [], number
            break
        stop.workers.append(process)
    mine = Work(given, scenarios, job)
    mine.run(stop)
    codes = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in stop.workers]
    return max([1 if mine.totals.findings else 0, *codes])


if __name__ == "__main__":
    raise SystemExit(main())

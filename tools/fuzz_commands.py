"""Feeds mutated inputs to every command, and shows those that break one.

    python -m tools.fuzz_commands [--seconds 3600] [--count N] [--jobs 2] [--seed 1] [--out FOLDER]

A command may succeed, find violations or refuse its input: exit 0, 1 or 2. A finding is any other
end, more than 5 seconds of processor, more than 500 MB, a control character in the output, and JSON
that is none. Each is written to a folder of its own, with `finding.json` and the input's files.

Many inputs run in one process that was forked from one that has everything imported; one that broke
something runs again alone before it counts. `--seed N --count 1` is the input of number N.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from chartkit.cli.main import main as chartkit
from tools.fuzz_mutations import argument, mutated
from tools.fuzz_scenarios import FAST, WITH_HELM, Scenario

SECONDS: Final = 5.0
MEGABYTES: Final = 500
_WALL: Final = 90
_BATCH: Final = 50
_HARD_SECONDS: Final = 60
_HARD_BYTES: Final = 4 << 30
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_GOOD: Final = frozenset((0, 1, 2))


@dataclass(frozen=True, slots=True)
class Input:
    """One input: a scenario with what was changed in it."""

    seed: int
    scenario: str
    arguments: list[str]
    files: dict[str, str]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (None: not by itself), seconds of processor, memory in MB,
    and what was wrong, empty for nothing."""

    code: int | None
    seconds: float
    megabytes: int
    wrong: str = ""
    said: str = ""


@dataclass
class Totals:
    """What was run so far."""

    inputs: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    largest: int = 0
    findings: Counter[str] = field(default_factory=Counter)


def make_input(seed: int, scenarios: Sequence[Scenario] = FAST) -> Input:
    """Return the input of a number, always the same for it."""
    pick = random.Random(seed)
    one = pick.choice(scenarios)
    arguments = list(pick.choice(one.arguments))
    files = dict(one.files)
    if one.changes_arguments and pick.random() < 0.8:
        options = [at for at, each in enumerate(arguments) if at > 0 and each not in files]
        at = pick.choice(options)
        arguments[at] = argument(arguments[at], pick)
    changeable = [name for name in files if name not in one.fixed]
    if changeable and (not one.changes_arguments or pick.random() < 0.3):
        others = list(pick.choice(scenarios).files.values())
        for _ in range(pick.choice((1, 1, 2))):
            name = pick.choice(changeable)
            files[name] = mutated(files[name], others, pick)
    return Input(seed, one.name, arguments, files, dict(one.environment))


def run_here(one: Input, folder: Path) -> Ended:
    """Run an input in this process, with its files in a folder of its own."""
    place = folder / str(one.seed)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in one.files.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
    os.chdir(place)
    os.environ.update(
        {"HOME": str(place), "XDG_CACHE_HOME": str(folder / "cache"), **one.environment}
    )
    written = io.BytesIO(), io.BytesIO()
    streams = [io.TextIOWrapper(each, "utf-8", write_through=True) for each in written]
    start = time.process_time()
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        code, fault = _run(one.arguments)
    seconds = time.process_time() - start
    out, err = (each.getvalue() for each in written)
    os.chdir(folder)
    shutil.rmtree(place, ignore_errors=True)
    for name in one.environment:
        os.environ.pop(name, None)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    wrong = fault or _fault_of(one, code, out, err)
    return Ended(code, seconds, megabytes, wrong, err.decode("utf-8", "replace")[:2_000])


def _run(arguments: Sequence[str]) -> tuple[int | None, str]:
    try:
        chartkit(list(arguments))
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0, ""
    except BaseException as error:  # noqa: BLE001 - whatever leaves the command is a finding
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        return None, f"{type(error).__name__} left the command at {where}"
    return 0, ""


def _fault_of(one: Input, code: int | None, out: bytes, err: bytes) -> str:
    if code not in _GOOD:
        said = re.sub(r"'[^']*'|\"[^\"]*\"|\d{3,}", "…", err.decode("utf-8", "replace"))
        return f"exit {code}: {said[:300]}"
    try:
        text = (out + err).decode("utf-8")
    except UnicodeDecodeError:
        return "output is not UTF-8"
    if _CONTROL.search(text):
        return "a control character in the output"
    if one.arguments[-2:] == ["-o", "json"] and out and code != 2:
        try:
            json.loads(out, parse_constant=_no_constant)
        except ValueError as error:
            return f"JSON that is none: {type(error).__name__}"
    return ""


def _no_constant(text: str) -> None:
    raise ValueError(text)


def run_batch(inputs: Sequence[Input], folder: Path) -> list[Ended]:
    """Run inputs in one forked process; the answer is shorter where it ended before the last."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        _limit()
        with os.fdopen(writer, "w", encoding="utf-8") as results:
            for one in inputs:
                json.dump(asdict(run_here(one, folder)), results)
                results.write("\n")
                results.flush()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as results:
        found = [Ended(**json.loads(line)) for line in results if line.endswith("\n")]
    _, status, used = os.wait4(process, 0)
    if len(found) < len(inputs):
        code = os.waitstatus_to_exitcode(status)
        seconds = used.ru_utime + used.ru_stime
        found.append(Ended(None, seconds, used.ru_maxrss // 1024, f"the process ended with {code}"))
    return found


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_HARD_SECONDS, _HARD_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_HARD_BYTES, _HARD_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    signal.alarm(_WALL)
    devnull = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(devnull, number)


def judged(inputs: Sequence[Input], folder: Path) -> Iterator[tuple[Input, Ended]]:
    """Run inputs; what seems to break something runs again alone, and is judged by that."""
    rest = list(inputs)
    while rest:
        ended = run_batch(rest, folder)
        over = False
        for one, each in zip(rest, ended, strict=False):
            # The memory is that of all before it, too.
            over = over or each.megabytes > MEGABYTES
            if each.wrong or each.seconds > SECONDS or over:
                [each] = run_batch([one], folder)
            yield one, _with_limits(each)
        rest = rest[len(ended) :]


def _with_limits(ended: Ended) -> Ended:
    if ended.wrong:
        return ended
    wrong = ""
    if ended.seconds > SECONDS:
        wrong = f"more than {SECONDS:.0f} s of processor"
    elif ended.megabytes > MEGABYTES:
        wrong = f"more than {MEGABYTES} MB"
    return Ended(ended.code, ended.seconds, ended.megabytes, wrong, ended.said)


def prepare(scenarios: Sequence[Scenario]) -> None:
    """Import what commands need, by running each as it stands, so that forks share it."""
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(scenarios):
            given = Input(
                -number, one.name, list(one.arguments[0]), dict(one.files), dict(one.environment)
            )
            run_here(given, Path(folder))
    threads = Path("/proc/self/task")
    if threads.exists() and len(list(threads.iterdir())) > 1:
        raise RuntimeError("a command has started a thread, which no fork has")
    gc.collect()
    gc.freeze()


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


def work(
    seeds: Iterator[int], scenarios: Sequence[Scenario], until: float, out: Path | None
) -> Totals:
    """Run the inputs of numbers until none is left, or the time is over."""
    totals = Totals()
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < until:
            batch = [seed for seed, _ in zip(seeds, range(_BATCH), strict=False)]
            if not batch:
                break
            inputs = [make_input(seed, scenarios) for seed in batch]
            for one, ended in judged(inputs, Path(folder)):
                totals.inputs += 1
                totals.codes[str(ended.code)] += 1
                totals.slowest = max(totals.slowest, ended.seconds)
                if ended.megabytes <= MEGABYTES or ended.wrong:
                    totals.largest = max(totals.largest, ended.megabytes)
                if ended.wrong:
                    totals.findings[ended.wrong] += 1
                    if out is not None and totals.findings[ended.wrong] <= 3:
                        _keep(out, one, ended)
    return totals


def _show(totals: Totals, seconds: float) -> None:
    codes = ", ".join(f"{code}: {count:,}" for code, count in sorted(totals.codes.items()))
    sys.stdout.write(
        f"{totals.inputs:,} inputs in {seconds:.0f} s; exits {codes}; "
        f"at most {totals.slowest:.1f} s and {totals.largest} MB\n"
    )
    for wrong, count in totals.findings.most_common():
        sys.stdout.write(f"{count:6}  {wrong}\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=1 << 62)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="the number of the first input")
    parser.add_argument("--helm", action="store_true", help="those that start Helm alone")
    parser.add_argument("--only", default="", help="scenarios with this in their name")
    parser.add_argument("--out", type=Path, help="where findings are written")
    return parser.parse_args()


def main() -> int:
    """Run as the options say; 1 where something was found."""
    given = _options()
    scenarios = [one for one in (WITH_HELM if given.helm else FAST) if given.only in one.name]
    prepare(() if given.helm else scenarios)
    start = time.monotonic()
    workers: list[int] = []
    for job in range(given.jobs - 1):
        process = os.fork()
        if process == 0:
            return _job(given, scenarios, job + 1, start)
        workers.append(process)
    code = _job(given, scenarios, 0, start)
    codes = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in workers]
    return max([code, *codes])


def _job(given: argparse.Namespace, scenarios: Sequence[Scenario], job: int, start: float) -> int:
    seeds = iter(range(given.seed + job, given.seed + given.count, given.jobs))
    totals = work(seeds, scenarios, start + given.seconds, given.out)
    _show(totals, time.monotonic() - start)
    return 1 if totals.findings else 0


if __name__ == "__main__":
    raise SystemExit(main())

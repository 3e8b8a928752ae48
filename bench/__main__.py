"""`python -m bench`: the table of targets, each workload measured several times in one run.

Prints a line a measurement, and at the end a row of Markdown for each target. Targets next to
reading are next to one by libyaml, by which they were set; the ratio to chartkit's own reader,
which takes half of that, is printed, too.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from bench.cel import measure_cel
from bench.load import Target, put_load
from bench.measure import BIN, ROOT, Measured, measure
from bench.pods import write_pods, write_repository
from bench.policies import write_policies
from bench.serve import FIXTURES, exchanges, reviews, say, served
from bench.serve import write_policies as write_enforced
from chartkit.report import FORMATS

_CONFORMANCE: Final = ROOT.parent / "shared" / "conformance"
_REAL: Final = ROOT.parent / "shared" / "real"
_LIBRARY: Final = _CONFORMANCE / "policy-library"
_CEL_CASES: Final = _CONFORMANCE / "engine" / "cel.jsonl"
_CHARTKIT: Final = BIN / "chartkit"
_RUNS: Final = 3
_CLIENTS: Final = 100
_SECONDS: Final = 10.0
Command = list[str | Path]


@dataclass(slots=True)
class Table:
    """The rows of the targets: workload, figure, target, and whether it is reached."""

    rows: list[str] = field(default_factory=list)

    def add(self, workload: str, value: float, limit: float, unit: str = "s") -> None:
        """Add the row of a figure that is to be at most the limit."""
        verdict = "reached" if value <= limit else "not reached"
        self.rows.append(f"| {workload} | {value:.3g} {unit} | ≤ {limit:g} {unit} | {verdict} |")

    def __str__(self) -> str:
        head = ["| workload | median | target | |", "|---|---|---|---|"]
        return "\n".join([*head, *self.rows])


def main() -> None:
    """Print a line a measurement, then the table."""
    table = Table()
    measure_small(table)
    measure_render(table)
    measure_if_there(_LIBRARY, measure_library, table)
    measure_if_there(_REAL, measure_real, table)
    if FIXTURES.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            measure_pods(table, Path(folder))
            measure_serve(table, Path(folder))
    else:
        say(f"Pods: skipped, the fixtures are not here ({FIXTURES.name})")
    measure_if_there(_CEL_CASES, measure_recorded, table)
    say(table)


def measure_if_there(needed: Path, measured: Callable[[Table], None], table: Table) -> None:
    """Measure a workload of recorded facts, or say that they are not here."""
    if needed.exists():
        measured(table)
    else:
        say(f"skipped: {needed.name} is not here")


def measure_small(table: Table) -> None:
    """Measure the start, a scan of one Deployment, and one of what changed in a repository."""
    start = timed("chartkit --version", ["--version"], runs=10)
    table.add("`chartkit --version`", start.median, 0.05)
    policies: Command = ["-p", "pss-restricted"]
    with tempfile.TemporaryDirectory() as folder:
        write_repository(Path(folder))
        one = timed(
            "scan, one Deployment", ["scan", Path(folder, "app-0.yaml"), *policies], runs=10
        )
        table.add("`chartkit scan` of one Deployment", one.median, 0.35)
        changed: Command = ["scan", folder, "--changed-since", "HEAD", *policies]
        found = timed("scan --changed-since, 3 of 500 files", changed, runs=10)
        table.add("`chartkit scan --changed-since`, 3 of 500 files", found.median, 0.5)


def measure_render(table: Table) -> None:
    """Measure the check of this repository's charts, computed and kept."""
    check: Command = ["render", "--check"]
    computed = timed("render --check --no-cache", [*check, "--no-cache"])
    table.add("`chartkit render --check --no-cache`", computed.median, 3)
    table.add("the same, of processors", computed.work, 5)
    kept = timed("render --check, nothing changed", check)
    table.add("`chartkit render --check`, nothing changed", kept.median, 0.6)


def measure_recorded(table: Table) -> None:
    """Measure the evaluation of recorded CEL expressions next to another interpreter's."""
    found = measure_cel(_CEL_CASES)
    say(found)
    table.add("an expression of CEL, next to cel-expr-python", found.ours / found.reused, 0.67, "×")


def measure_library(table: Table) -> None:
    """Measure the tests of the public library, in one command."""
    found = timed("test, the public library", ["test", _LIBRARY])
    table.add("`chartkit test` of the public library", found.median, 1.5)


def measure_real(table: Table) -> None:
    """Measure the public library's policies over the objects of real charts."""
    found = timed("scan, the public library over real charts", ["scan", _REAL, "-p", _LIBRARY])
    table.add("the public library's policies × real charts", found.median, 1.5)


def measure_pods(table: Table, folder: Path) -> None:
    """Measure scans of 10,000 Pods next to reading them: as they repeat, and no two alike."""
    in_cel = folder / "policies.yaml"
    apart(write_policies, in_cel)
    for name, are_distinct in (("10,000 Pods that repeat", False), ("10,000 Pods", True)):
        pods = folder / f"{are_distinct}.yaml"
        apart(write_pods, FIXTURES, pods, 10_000, are_distinct)
        say(f"{name}: {pods.stat().st_size / 1e6:.1f} MB of YAML")
        reading = Reading.of(pods)
        for form, policies, limit in (("", "pss-restricted", 1.8), (" in CEL", in_cel, 2.0)):
            for jobs in ("1", "2"):
                scan: Command = ["scan", pods, "-p", policies, "--jobs", jobs]
                found = timed(f"scan{form}, --jobs {jobs}", scan, reading)
                workload = f"{name}, `pss-restricted`{form}, `--jobs {jobs}`"
                reading.expect(table, workload, found, limit)
    scan = ["scan", pods, "-p", "pss-restricted"]
    for output in [*([name] for name in FORMATS), ["policyreport", "--report-per", "object"]]:
        named = " ".join(output)
        found = timed(f"report: {named}", [*scan, "-o", *output], reading)
        reading.expect(table, f"{name}, `-o {named}`", found, 1.8)
        table.add("its memory, the largest process", found.megabytes, 250, "MB")
    measure_dask(table, scan)


@dataclass(frozen=True, slots=True)
class Reading:
    """The times of reading a file: by libyaml, and by chartkit."""

    by_libyaml: Measured
    by_chartkit: Measured

    @classmethod
    def of(cls, file: Path) -> Reading:
        """Return the times of a file."""
        command: Command = [sys.executable, "-m", "bench.read_only", file]
        found = cls(
            measure("reading by libyaml alone", [*command, "--libyaml"], _RUNS),
            measure("reading", command, _RUNS),
        )
        say(f"{found.by_libyaml}\n{found.by_chartkit}")
        return found

    def expect(self, table: Table, workload: str, found: Measured, limit: float) -> None:
        """Add the row of a scan that is to take at most some times the reading."""
        table.add(workload, found.median / self.by_libyaml.median, limit, "× libyaml")

    def ratios(self, found: Measured) -> str:
        """Return what a measurement takes next to both."""
        pairs = (("libyaml", self.by_libyaml), ("reading", self.by_chartkit))
        return ", ".join(f"{found.median / each.median:.2f} × {name}" for name, each in pairs)


def measure_dask(table: Table, scan: Sequence[str | Path]) -> None:
    """Measure two workers of Dask on this machine next to two processes."""
    try:
        from distributed import LocalCluster
    except ImportError:
        say("Dask: skipped, it is not installed (chartkit[dask])")
        return
    here = timed("scan, --jobs 2", [*scan, "--jobs", "2"])
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster:
        address = str(cluster.scheduler_address).replace("tcp://", "dask://")
        there = timed("scan, two workers of Dask", [*scan, "--executor", address])
    ratio = there.median / here.median
    table.add("two workers of Dask, next to `--jobs 2`", ratio, 1.3, "×")


def measure_serve(table: Table, folder: Path) -> None:
    """Measure `chartkit serve` under 100 clients, and count errors under 500."""
    policies = folder / "enforced.yaml"
    write_enforced(policies)
    sent = exchanges(policies, reviews())
    with served(policies, 2) as (port, _):
        target = Target("127.0.0.1", port, "/validate?timeout=10s")
        runs = [put_load(target, sent, _CLIENTS, _SECONDS, 0.0) for _ in range(_RUNS)]
        many = put_load(target, sent, 5 * _CLIENTS, _SECONDS, 0.0)
    for each in (*runs, many):
        answers = (
            f"status {dict(each.statuses)}, failures {dict(each.failures)}, {each.wrong} wrong"
        )
        say(f"serve: {each.rate:.0f} requests/s, p50 {each.percentile(50):.1f} ms, {answers}")
    middle = sorted(runs, key=lambda each: each.percentile(50))[_RUNS // 2]
    table.add("`chartkit serve`, 100 clients: median", middle.percentile(50), 15, "ms")
    table.add("the same: p99", middle.percentile(99), 60, "ms")
    errors = many.failures.total() + many.statuses.total() - many.statuses[200] + many.wrong
    table.add("the same, 500 clients", errors, 0, "errors")


def apart(write: Callable[..., None], *given: object) -> None:
    """Write files in a process of its own: the memory of this one counts as that of commands that
    it starts."""
    writer = get_context("spawn").Process(target=write, args=given)
    writer.start()
    writer.join()


def timed(
    name: str, arguments: Sequence[str | Path], reading: Reading | None = None, runs: int = _RUNS
) -> Measured:
    """Return what a command of chartkit takes, after its line is printed."""
    found = measure(name, [_CHARTKIT, *arguments], runs)
    say(f"{found}  {reading.ratios(found)}" if reading else found)
    return found


if __name__ == "__main__":
    main()

"""`python -m bench`: start-up, rendering, CEL, and scanning 10,000 Pods into each report."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.cel import measure_cel
from bench.measure import BIN, ROOT, Measured, measure
from bench.pods import write_pods, write_repository
from bench.policies import write_policies
from chartkit.report import FORMATS

CONFORMANCE = ROOT.parent / "shared" / "conformance"
FIXTURES = CONFORMANCE / "psa" / "v1.35"
CEL_CASES = CONFORMANCE / "engine" / "cel.jsonl"


def main() -> None:
    """Prints a line a measurement."""
    chartkit = BIN / "chartkit"
    say(measure("chartkit --version", [chartkit, "--version"], runs=10))
    measure_small(chartkit)
    measure_render(chartkit)
    if CEL_CASES.is_file():
        say(measure_cel(CEL_CASES))
    else:
        say(f"CEL: skipped, the recorded cases are not here ({CEL_CASES.name})")
    if not FIXTURES.is_dir():
        say(f"scan: skipped, the fixtures are not here ({FIXTURES.name})")
        return
    with tempfile.TemporaryDirectory() as folder:
        measure_scans(chartkit, Path(folder))
        measure_jobs(chartkit, Path(folder))


def measure_scans(chartkit: Path, folder: Path) -> None:
    """Prints lines for scans of 10,000 Pods in one process, next to the time of reading them."""
    in_cel = folder / "policies.yaml"
    write_policies(in_cel)
    for name, are_distinct in (("10,000 Pods", False), ("10,000 Pods, no two alike", True)):
        pods = folder / f"{are_distinct}.yaml"
        write_pods(FIXTURES, pods, are_distinct=are_distinct)
        say(f"{name}: {pods.stat().st_size / 1e6:.1f} MB of YAML")
        reading: list[str | Path] = [sys.executable, "-m", "bench.read_only", pods]
        read = measure(f"read {name}", reading, runs=3)
        parsed = measure("the same by libyaml alone", [*reading, "--libyaml"], runs=3)
        say(read)
        say(parsed)
        for form, policies in (("pss-restricted", "pss-restricted"), ("in CEL", in_cel)):
            command: list[str | Path] = [chartkit, "scan", pods, "--policies", policies]
            scan = measure(f"scan {name}, {form}", [*command, "--jobs", "1"], runs=3)
            ratios = (
                f"{scan.work / read.work:.2f} × reading, {scan.work / parsed.work:.2f} × libyaml"
            )
            say(f"{scan}  {ratios}")
            say(measure("the same in several processes", command, runs=3))
    measure_formats([chartkit, "scan", pods, "--policies", "pss-restricted", "--jobs", "1"], read)


def measure_jobs(chartkit: Path, folder: Path) -> None:
    """Prints lines for 10,000 and ten times as many Pods, no two alike, in one process and two."""
    for count in (10_000, 100_000):
        pods = folder / f"{count}.yaml"
        write_pods(FIXTURES, pods, count, are_distinct=True)
        for jobs in ("1", "2"):
            command: list[str | Path] = [chartkit, "scan", pods, "-p", "pss-restricted"]
            say(measure(f"scan {count:,} Pods, --jobs {jobs}", [*command, "--jobs", jobs], runs=3))


def measure_render(chartkit: Path) -> None:
    """Prints lines for the check of this repository's charts, computed and kept."""
    check: list[str | Path] = [chartkit, "render", "--check"]
    computed = measure("chartkit render --check (three environments)", [*check, "--no-cache"])
    alone = measure("the same, one process of Helm", [*check, "--no-cache", "--jobs", "1"], runs=3)
    kept = measure("the same, nothing changed", check)
    say(f"{computed}\n{alone}")
    say(f"{kept}  {kept.work / computed.work:.3f} × computing")


def measure_small(chartkit: Path) -> None:
    """Prints a line for a scan of one Pod, and for one of what changed in a repository."""
    policies: list[str | Path] = ["--policies", "pss-restricted"]
    with tempfile.TemporaryDirectory() as folder:
        write_repository(Path(folder))
        one: list[str | Path] = [chartkit, "scan", Path(folder) / "app-0.yaml", *policies]
        say(measure("chartkit scan, one Deployment", one, runs=10))
        changes: list[str | Path] = [chartkit, "scan", folder, "--changed-since", "HEAD", *policies]
        say(measure("chartkit scan --changed-since, 3 of 500 files", changes, runs=10))


def measure_formats(scan: Sequence[str | Path], read: Measured) -> None:
    """Prints a line a report format, next to the text report and the time of reading."""
    in_text = measure("report: text", [*scan, "-o", "text"], runs=3)
    say(f"{in_text}  {in_text.work / read.work:.2f} × reading")
    others: list[list[str]] = [[name] for name in FORMATS if name != "text"]
    for output in [*others, ["policyreport", "--report-per", "object"]]:
        name = " ".join(output)
        took = measure(f"report: {name}", [*scan, "-o", *output], runs=3)
        ratios = f"{took.work / read.work:.2f} × reading, {took.work / in_text.work:.2f} × text"
        say(f"{took}  {ratios}")


def say(line: object) -> None:
    """Prints at once, so that a long run shows where it is."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

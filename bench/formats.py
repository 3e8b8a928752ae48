"""`python -m bench.formats [FORMAT…]`: a scan of 10,000 Pods into each report format, next to
reading them and to text, in one process and in two.

The rows are medians of rounds in which each command runs once, so that what else the machine does
hits all of them. Ratios are of elapsed time. By default all formats as ClusterPolicies, and text
and JSON as ValidatingPolicies.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

from bench.measure import BIN, Measured, measure
from bench.pods import write_pods
from bench.serve import FIXTURES, say
from chartkit.report import FORMATS

_JOBS = (1, 2)
_IN_CEL = ("text", "json")
_LIBYAML, _READING = "reading by libyaml", "reading"
Row = tuple[str, str, int]
"""A form of policies, a format, and the number of processes."""


def _write(pods: Path, in_cel: Path, count: int) -> None:
    from bench.policies import write_policies

    write_pods(FIXTURES, pods, count, are_distinct=True)
    write_policies(in_cel)


def _commands(
    formats: Sequence[str], pods: Path, in_cel: Path
) -> dict[str | Row, list[str | Path]]:
    read: list[str | Path] = [sys.executable, "-m", "bench.read_only", pods]
    commands: dict[str | Row, list[str | Path]] = {_LIBYAML: [*read, "--libyaml"], _READING: read}
    forms = (("", "pss-restricted", formats), ("in CEL", in_cel, _IN_CEL))
    for form, policies, names in forms:
        for name in names:
            for jobs in _JOBS:
                scan: list[str | Path] = [BIN / "chartkit", "scan", pods, "-p", policies]
                commands[form, name, jobs] = [*scan, "-o", name, "--jobs", str(jobs)]
    return commands


def _joined(runs: Sequence[Measured]) -> Measured:
    return Measured(
        runs[0].name,
        tuple(each.median for each in runs),
        tuple(each.work for each in runs),
        max(each.megabytes for each in runs),
    )


def _table(found: Mapping[str | Row, Measured]) -> None:
    """Print a row for each command; the targets are 1.8 × and 2 × reading, and 250 MB."""
    libyaml, reading = found[_LIBYAML].median, found[_READING].median
    head = ("", "elapsed", "processors", "× libyaml", "× reading", "× text", "MB")
    say("{:<28}{:>10}{:>12}{:>11}{:>11}{:>9}{:>6}".format(*head))
    for key, each in found.items():
        text = found.get((key[0], "text", key[2])) if isinstance(key, tuple) else None
        name = key if isinstance(key, str) else f"{key[1]} {key[0]}".strip() + f", --jobs {key[2]}"
        to_text = f"{each.median / text.median:.2f}" if text else ""
        say(
            f"{name:<28}{each.median:>8.2f} s{each.work:>10.2f} s{each.median / libyaml:>11.2f}"
            f"{each.median / reading:>11.2f}{to_text:>9}{each.megabytes:>6.0f}"
        )


def main() -> None:
    """Measure in rounds, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=10_000, help="of Pods")
    options = parser.parse_args()
    if not FIXTURES.is_dir():
        sys.exit(f"the fixtures are not here ({FIXTURES.name})")
    formats = list(dict.fromkeys(["text", *(options.formats or FORMATS)]))
    with tempfile.TemporaryDirectory() as folder:
        pods, in_cel = Path(folder, "pods.yaml"), Path(folder, "policies.yaml")
        # In a process of its own: what is started here counts with the memory of this one.
        writer = get_context("spawn").Process(target=_write, args=(pods, in_cel, options.count))
        writer.start()
        writer.join()
        commands = _commands(formats, pods, in_cel)
        runs: dict[str | Row, list[Measured]] = {key: [] for key in commands}
        for at in range(options.rounds + 1):
            for key, command in commands.items():
                done = measure(str(key), command, runs=1, warm=False)
                # The first round warms up what is cached.
                runs[key] += [done] if at else []
    _table({key: _joined(each) for key, each in runs.items()})


if __name__ == "__main__":
    main()

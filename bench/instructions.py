"""Count the instructions of fixed workloads with callgrind, against slow drift.

`python -m bench.instructions` compares them with `instructions.yaml` and exits 1 if one takes a
twentieth more; `--write` keeps what is counted. A count hardly varies between runs, and not with
the load of the machine. Work per Pod is the difference between two scans, so that it is without
start-up, and stands as a multiple of reading the same YAML, so that it is hardly another on
another build of Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.measure import BIN, ROOT
from bench.pods import write_pods
from bench.policies import write_policies
from bench.serve import say
from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_documents

KEPT: Final = ROOT / "bench" / "instructions.yaml"
_TOLERANCE: Final = 1.05
_FEW, _MANY = 100, 400
_COLLECTED: Final = re.compile(r"Collected : (\d+)")
_READ: Final = "read a Pod"


@dataclass(frozen=True, slots=True)
class Workload:
    """A command to which the file with the Pods is added."""

    name: str
    command: Sequence[str | Path]


def main() -> None:
    """Print each count and ratio; exit 1 if one has grown."""
    if shutil.which("valgrind") is None:
        say("instructions: skipped, there is no valgrind here")
        return
    counts = dict(counted())
    ratios = {name: round(count / counts[_READ], 2) for name, count in counts.items()}
    kept = read_file(KEPT)[0].body if KEPT.is_file() else {}
    for name, count in counts.items():
        before = f", {kept[name]:.2f} kept" if name in kept else ""
        say(f"{name:<44} {count:>13,} instructions  {ratios[name]:.2f} × {_READ}{before}")
    if "--write" in sys.argv[1:]:
        KEPT.write_text(dump_documents([ratios]), "utf-8")
        return
    grown = [name for name, ratio in ratios.items() if ratio > kept.get(name, 0) * _TOLERANCE]
    if grown:
        sys.exit(f"more instructions than in {KEPT.name}: {', '.join(grown)}")


def counted() -> Iterator[tuple[str, int]]:
    """Yield the name and the instructions of each workload."""
    chartkit = BIN / "chartkit"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few, many, in_cel = (folder / each for each in ("few.yaml", "many.yaml", "cel.yaml"))
        write_pods(_examples(folder / "examples"), few, _FEW, are_distinct=True)
        write_pods(folder / "examples", many, _MANY, are_distinct=True)
        write_policies(in_cel)
        reading = Workload(_READ, [sys.executable, "-m", "bench.read_only"])
        # In one process: callgrind counts each by itself.
        scan: list[str | Path] = [chartkit, "scan", "--jobs", "1", "--policies"]
        classic = Workload("scan a Pod, pss-restricted", [*scan, "pss-restricted"])
        cel = Workload("scan a Pod, the same in CEL", [*scan, in_cel])
        for each in (reading, classic, cel):
            more = _instructions([*each.command, many]) - _instructions([*each.command, few])
            yield each.name, more // (_MANY - _FEW)
        yield "chartkit --version", _instructions([chartkit, "--version"])
        yield "chartkit scan, 100 Pods", _instructions([*classic.command, few])


def _examples(folder: Path) -> Path:
    """Write the Pods among the examples of the Pod Security Standards to a folder."""
    folder.mkdir()
    policies = ROOT / "profiles" / "policies"
    files = [
        each for room in ("baseline", "restricted") for each in (policies / room).glob("*/*d.yaml")
    ]
    pods = [
        document.body
        for file in sorted(files)
        for document in read_file(file)
        if document.body["kind"] == "Pod"
    ]
    (folder / "pods.yaml").write_text(dump_documents(pods), "utf-8")
    return folder


def _instructions(command: Sequence[str | Path]) -> int:
    """Return the instructions of a command; it is run once before, so that its code is compiled."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
    program = [str(each) for each in command]
    counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *program]
    for each in (program, counting):
        done = subprocess.run(
            each, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
    found = _COLLECTED.search(done.stderr)
    if found is None:
        sys.exit(f"{program}: callgrind counts nothing\n{done.stderr[-500:]}")
    return int(found[1])


if __name__ == "__main__":
    main()

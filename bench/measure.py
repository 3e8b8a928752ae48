"""Times whole processes: several runs, the median, and the largest resident size."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Measured:
    """seconds: wall time of each run; processor: processor time of each run, in seconds;
    megabytes: the largest resident size of any run."""

    name: str
    seconds: tuple[float, ...]
    processor: tuple[float, ...]
    megabytes: float

    @property
    def median(self) -> float:
        """The median of the wall times, in seconds."""
        return statistics.median(self.seconds)

    @property
    def work(self) -> float:
        """The median of the processor times, in seconds: what ratios are of, since it depends less
        on what else the machine does."""
        return statistics.median(self.processor)

    def __str__(self) -> str:
        low, high = min(self.seconds), max(self.seconds)
        times = f"{self.median:8.3f} s  ({low:.3f}–{high:.3f}, n={len(self.seconds)})"
        processor = f"{self.work:8.3f} s of processors"
        return f"{self.name:<44} {times}  {processor}  {self.megabytes:6.0f} MB"


def measure(
    name: str,
    command: Sequence[str | Path],
    runs: int = 5,
    cwd: Path = ROOT,
    warm: bool = True,
) -> Measured:
    """Runs a command runs times, after one run to warm up unless it is to be cold; its exit code
    does not matter."""
    seconds: list[float] = []
    processor: list[float] = []
    largest = 0
    for run in range(runs + warm):
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, _, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - started
        process.returncode = 0
        if run >= warm:
            seconds.append(elapsed)
            processor.append(usage.ru_utime + usage.ru_stime)
            largest = max(largest, usage.ru_maxrss)
    return Measured(name, tuple(seconds), tuple(processor), largest / 1024)

"""Counts what `chartkit scan --fix` does to copies of manifests, charts and kustomizations.

    python -m tools.fix_table PROFILE[,PROFILE…] PATH…

For each profile and path a line: the violations before, those that are gone, those of which a
person decides or for which no change is known, the others that stay, those that are new, and the
seconds. The diff of each stands in `--diffs FOLDER`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

_LEFT = re.compile(r"^  \S+ (\S+): (.*)$", re.MULTILINE)
_OPEN = "no change of fields is known"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--diffs", type=Path)
    given = parser.parse_args()
    sys.stdout.write("profile path before gone decided stays new seconds\n")
    for profile in given.profiles.split(","):
        for path in given.paths:
            row = (profile, path, *_row(profile, path, given.diffs))
            sys.stdout.write(" ".join(map(str, row)) + "\n")
            sys.stdout.flush()


def _row(profile: str, path: Path, diffs: Path | None) -> tuple[object, ...]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        if path.is_dir():
            shutil.copytree(path, copy)
        else:
            shutil.copy(path, copy)
        for file in (copy, *copy.rglob("*")):
            file.chmod(file.stat().st_mode | 0o200)
        before = _violations(profile, copy)
        diff = _chartkit(copy, "-p", profile, "--fix", "--diff")
        if diffs is not None:
            diffs.mkdir(parents=True, exist_ok=True)
            (diffs / f"{profile}-{path.name}.diff").write_text(diff.stdout + diff.stderr)
        start = time.monotonic()
        said = _chartkit(copy, "-p", profile, "--fix")
        seconds = f"{time.monotonic() - start:.1f}"
        after = _violations(profile, copy)
        decisions, _, others = said.stdout.partition("not fixed:\n")
        decided = len(_LEFT.findall(decisions.partition("a person decides:\n")[2]))
        decided += sum(_OPEN in reason for _, reason in _LEFT.findall(others))
        left = (before & after).total()
        new = (after - before).total()
        return before.total(), before.total() - left, decided, left - decided, new, seconds


def _violations(profile: str, path: Path) -> Counter[tuple[str, str]]:
    done = _chartkit(path, "-p", profile, "-o", "json")
    rows = json.loads(done.stdout)["results"]
    bad = (row for row in rows if row["result"] in ("fail", "warn", "error"))
    return Counter((f"{row['policy']}/{row['rule']}", str(row["resource"])) for row in bad)


def _chartkit(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "chartkit", "scan", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.stderr.write(done.stderr)
    return done


if __name__ == "__main__":
    main()

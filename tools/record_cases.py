"""Compares `chartkit test` with Kyverno's own test command, or records what that answers.

    python -m tools.record_cases --kyverno CHECKOUT FOLDER …
    python -m tools.record_cases --kyverno CHECKOUT --record

CHECKOUT is Kyverno's source (`git clone --branch v1.19.1`); Go builds `tools/kyverno_tests` in it
without a change to it. Folders hold test files, one each; rows that differ are printed. `--record`
writes the answers to the project's own cases to `tests/cases/expected.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from chartkit.testing.report import Options, to_json
from chartkit.testing.runner import run_tests
from tests.shared import ROOT

_CASES: Final = ROOT / "tests" / "cases"
_SOURCE: Final = ROOT / "tools" / "kyverno_tests" / "main.go"
_PLACE: Final = Path("cmd", "chartkit-tests")
_KEYS: Final = ("policy", "rule", "resource", "result", "reason", "message")
_OWN_WORDS: Final = ("Resource diff", "Resource error")
"""Reasons whose message each program has in its own words, or with a path."""

Row = dict[str, Any]


def kyverno_answers(checkout: Path, folders: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the answers of Kyverno's test command to folders, in order."""
    with tempfile.TemporaryDirectory() as scratch:
        program, overlay = Path(scratch, "tests"), Path(scratch, "overlay.json")
        place = checkout.resolve() / _PLACE / "main.go"
        overlay.write_text(json.dumps({"Replace": {str(place): str(_SOURCE)}}))
        build = ["go", "build", "-buildvcs=false", "-overlay", str(overlay), "-o", str(program)]
        subprocess.run([*build, f"./{_PLACE}"], cwd=checkout, check=True)
        given = "".join(f"{folder.resolve()}\n" for folder in folders)
        done = subprocess.run(
            [program], input=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        for line in done.stdout.splitlines():
            yield json.loads(line)


def recorded(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer in the shape of `expected.jsonl`."""
    rows = [{key: row.get(_column(key)) for key in _KEYS} for row in answer["rows"]]
    for row in rows:
        if row["reason"] in _OWN_WORDS and "not found in manifest" not in row["message"]:
            row["message"] = None
    return {"case": name, "exit_code": 1 if answer.get("error") else 0, "rows": rows}


def _column(key: str) -> str:
    return "Message" if key == "message" else key.upper()


def difference(folder: Path, answer: dict[str, Any]) -> str:
    """Return what differs between both programs' rows of a folder; empty for nothing."""
    if answer.get("panic"):
        return f"Kyverno's program ended: {answer['panic']}"
    (case,) = to_json(list(run_tests([folder])), Options())["cases"]
    theirs, own = (Counter(map(_comparable, rows)) for rows in (answer["rows"], case["rows"]))
    if theirs == own:
        return ""
    error = f" ({answer.get('error') or case.get('error')})" if not (theirs and own) else ""
    return f"Kyverno only: {[*(theirs - own)]}; chartkit only: {[*(own - theirs)]}{error}"


def _comparable(row: Row) -> tuple[str, ...]:
    values = [str(row.get(key, row.get(_column(key), ""))) for key in _KEYS]
    return tuple(values[:-1] if values[4] in _OWN_WORDS else values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kyverno", type=Path, required=True)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("folders", type=Path, nargs="*")
    options = parser.parse_args()
    own = sorted(file.parent for file in _CASES.rglob("kyverno-test.yaml"))
    folders = own if options.record else options.folders
    answers = list(kyverno_answers(options.kyverno, folders))
    if options.record:
        lines = (recorded(each.name, one) for each, one in zip(folders, answers, strict=True))
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (_CASES / "expected.jsonl").write_text(text, "utf-8")
        return
    for folder, answer in zip(folders, answers, strict=True):
        sys.stdout.write(f"{folder}: {difference(folder, answer) or 'equal'}\n")


if __name__ == "__main__":
    main()

"""`chartkit scan --watch`: what changes is judged again, and nothing else."""

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.data import beside
from tests.e2e.command import PROGRAM, chartkit

POLICY = beside(__file__)["policy"]
POD = (
    "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: gold%s}, spec: {containers: []}}\n"
)
NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: gold, labels: {tier: %s}}}\n"
_LIMIT = 60


class _Watch:
    """A scan that watches; the lines that it writes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.Queue[str] = queue.Queue()
        assert process.stdout is not None
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line.rstrip("\n"))

    def until(self, part: str) -> list[str]:
        """The lines up to the first with a part."""
        found: list[str] = []
        while not found or part not in found[-1]:
            found.append(self._lines.get(timeout=_LIMIT))
        return found


@contextmanager
def _watching(folder: Path) -> Iterator[_Watch]:
    command = [str(PROGRAM), "scan", "manifests", "-p", "policy.yaml", "--watch"]
    # Through one pipe, lines keep the order in which they are written.
    with subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            yield _Watch(process)
        finally:
            process.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a policy, a Namespace and two Pods without a team."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "a.yaml").write_text(POD % ("a", ""))
    (manifests / "b.yaml").write_text(POD % ("b", ""))
    (manifests / "namespace.yaml").write_text(NAMESPACE % "gold")
    return tmp_path


def _write(file: Path, text: str) -> None:
    """Replaces a file in one step, as editors do."""
    new = file.with_suffix(".new")
    new.write_text(text)
    os.replace(new, file)


def test_files_that_change_are_judged_again(folder: Path) -> None:
    manifests = folder / "manifests"
    with _watching(folder) as watch:
        first = watch.until("pass: 0, fail: 2")
        assert any("Pod/gold/a" in line for line in first)

        _write(manifests / "b.yaml", POD % ("b", ", labels: {team: x}"))
        again = watch.until("pass: 1, fail: 0")
        assert any(line.startswith("--- ") and line.endswith("manifests/b.yaml") for line in again)
        assert any("judged 1 object of files that changed" in line for line in again)

        _write(manifests / "namespace.yaml", NAMESPACE % "silver")
        everything = watch.until("pass: 0, fail: 0")
        assert any("judged all 3 objects: a file with a Namespace" in each for each in everything)

        _write(manifests / "namespace.yaml", NAMESPACE % "gold")
        watch.until("pass: 1, fail: 1")

        _write(manifests / "a.yaml", "apiVersion: v1\nkind: [\n")
        watch.until("manifests/a.yaml:3:1: error unread: is not YAML")
        _write(manifests / "a.yaml", POD % ("a", ", labels: {team: own}"))
        watch.until("pass: 1, fail: 0")

        _write(folder / "policy.yaml", POLICY.replace("?*", "own"))
        watch.until("policy.yaml has changed")
        watch.until("pass: 1, fail: 1")

        (manifests / "b.yaml").unlink()
        watch.until("b.yaml was removed")
        watch.until("pass: 1, fail: 0")

        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(timeout=_LIMIT) == 130


@pytest.mark.parametrize(
    "option",
    [("--cluster",), ("-",), ("--json",), ("-o", "json=x"), ("--changed-since", "HEAD")],
    ids=" ".join,
)
def test_watch_is_about_files(folder: Path, option: tuple[str, ...]) -> None:
    done = chartkit(folder, "scan", "manifests", "-p", "policy.yaml", "--watch", *option)
    assert done.code == 2
    assert "--watch" in done.line

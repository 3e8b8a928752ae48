"""`chartkit scan --executor dask://…`: workers elsewhere find what one process here does."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.data import beside
from tests.e2e.command import PROGRAM, chartkit

pytestmark = pytest.mark.slow

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
EXCEPTION = _TEXTS["exception"]
POD = _TEXTS["pod"]
NAMESPACE = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: gold, labels: {tier: gold}}}\n"


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Any]:
    """A cluster with two workers."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a policy, an exception, and a file of many Pods."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "exception.yaml").write_text(EXCEPTION)
    pods = "".join(POD % (number, "x" * 2000) for number in range(1000))
    (tmp_path / "pods.yaml").write_text(pods + NAMESPACE)
    return tmp_path


_OPTIONS = ("scan", "pods.yaml", "-p", "policy.yaml", "-p", "pss-restricted")


def _address(cluster: Any) -> str:
    return str(cluster.scheduler_address).replace("tcp://", "dask://")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-o", "json"),
        ("-o", "sarif"),
        ("--exceptions", "exception.yaml"),
        ("--select", "policy:team"),
    ],
    ids=" ".join,
)
def test_workers_find_what_one_process_finds(
    scheduler: Any, folder: Path, options: tuple[str, ...]
) -> None:
    here = chartkit(folder, *_OPTIONS, *options, "--jobs", "1")
    there = chartkit(folder, *_OPTIONS, *options, "--executor", _address(scheduler))
    assert there == here
    assert here.code == 1


@pytest.mark.filterwarnings("default")
def test_killed_worker_of_dask_loses_and_doubles_nothing(scheduler: Any, folder: Path) -> None:
    here = chartkit(folder, *_OPTIONS, "-o", "ndjson", "--jobs", "1")
    command = [str(PROGRAM), *_OPTIONS, "-o", "ndjson", "--executor", _address(scheduler)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        time.sleep(2.5)
        os.kill(next(iter(scheduler.workers.values())).pid, signal.SIGKILL)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (here.code, here.out), err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--executor", "dask://"), "write dask://HOST:PORT"),
        (("--executor", "ray://host:1"), "write dask://HOST:PORT"),
        (("--executor", "dask://h:1", "--cluster"), "--executor and --cluster"),
        (("--executor", "dask://h:1", "-o", "html"), "--executor and -o html"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_executor_that_cannot_be_used(folder: Path, options: tuple[str, ...], message: str) -> None:
    done = chartkit(folder, *_OPTIONS, *options)
    assert done.code == 2
    assert message in done.line


def test_executor_needs_dask_and_a_scheduler(folder: Path) -> None:
    done = chartkit(folder, *_OPTIONS, "--executor", "dask://127.0.0.1:9")
    assert done.code == 2
    assert "not installed" in done.line or "does not answer" in done.line

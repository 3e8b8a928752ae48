"""`chartkit scan --cluster` as a user starts it."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api_server import Request
from tests.e2e.command import PROGRAM
from tests.loopback import LONGEST
from tests.unit.network.cluster.server import PagedServer, labelled, namespace, pod


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PagedServer]:
    with PagedServer() as running:
        running.add(namespace("shop"), pod("a"))
        (tmp_path / "kubeconfig").write_text(running.kubeconfig)
        (tmp_path / "policy.json").write_text(json.dumps(labelled()))
        yield running


SCAN = ("scan", "--cluster", "-p", "policy.json")


@pytest.mark.slow
def test_a_scan_that_ctrl_c_ends(server: PagedServer, tmp_path: Path) -> None:
    reached, released = threading.Event(), threading.Event()

    def hold(request: Request) -> None:
        if request.path == "/api/v1/pods":
            reached.set()
            released.wait(LONGEST)

    server.before = hold
    running = subprocess.Popen(
        [PROGRAM, *SCAN, "--record", "rec"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KUBECONFIG": "kubeconfig"},
    )
    try:
        assert reached.wait(LONGEST)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=LONGEST)
    finally:
        released.set()
    assert (running.returncode, out, err.strip()) == (130, "", "interrupted")
    assert not list(tmp_path.glob("*rec*"))

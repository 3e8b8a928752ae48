"""What commands write to a terminal fits it; what they write to a pipe has whole lines."""

import os
import pty
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import PROGRAM, chartkit
from tests.shared import ROOT

_TEXTS = beside(__file__)

fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

POLICY = _TEXTS["policy"]
PODS = "".join(
    f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"
    "spec: {containers: [{name: c, image: nginx}]}\n---\n"
    for name in ("first", "a-second-one-with-a-rather-long-name-as-generators-give-them")
)
TEST = _TEXTS["test"]
COMMANDS = {
    "scan": ["scan", "pods.yaml", "-p", "policy.yaml"],
    "scan of profiles": ["scan", "pods.yaml", "-p", "pss-restricted", "--detailed"],
    "test": ["test", ".", "--coverage"],
    "policies list": ["policies", "list"],
    "policies search": ["policies", "search", "probes"],
    "policies coverage": ["policies", "coverage", "--standard", "cis"],
    "policies check": ["policies", "check", str(ROOT / "profiles/policies/baseline")],
    "values lint": ["values", "lint", "values.yaml"],
    "plan": ["plan", "--from", "1.12/1.27", "--to", "1.18/1.34", "--eks"],
    "check-compat": ["check-compat", "--kyverno", "1.12", "--kubernetes", "1.34"],
    "migrate plan": ["migrate", "plan", "policy.yaml"],
    "report diff": ["report", "diff", "old.json", "new.json"],
    "report merge": ["report", "merge", "production=old.json", "new.json"],
    "explain": ["explain"],
    "explain an id": ["explain", "CK001"],
    "schema": ["schema"],
    "an error": ["scan", "pods.yaml", "-p", "pss-basline"],
    "a usage error": ["scan", "pods.yaml", "--policie", "pss-baseline"],
    "help": ["scan", "--help"],
}
DATA = {
    "json": ["scan", "pods.yaml", "-p", "policy.yaml", "-o", "json"],
    "csv": ["scan", "pods.yaml", "-p", "policy.yaml", "-o", "csv"],
    "yaml": ["policies", "search", "probes", "-o", "yaml"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("terminal")
    texts = {"policy.yaml": POLICY, "pods.yaml": PODS, "kyverno-test.yaml": TEST}
    texts["values.yaml"] = "config: {webhook: {}}\nreplicaCount: 3\nfeatures: {x: 1}\n"
    for name, text in texts.items():
        (root / name).write_text(text)
    for name, policy in {"old": "pss-baseline", "new": "policy.yaml"}.items():
        chartkit(root, "scan", "pods.yaml", "-p", policy, "-o", f"json={name}.json")
    return root


def shown(folder: Path, columns: int, *arguments: str, messages: bool = True) -> str:
    """Return what a terminal of so many columns is given, without colours; messages: whether
    standard error goes there, too."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    for name in ("COLUMNS", "NO_COLOR"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal if messages else subprocess.DEVNULL,
        close_fds=True,
    )
    os.close(terminal)
    text = b"".join(_pieces(main)).decode()
    assert process.wait(30) in (0, 1, 2)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")


def _pieces(main: int) -> Iterator[bytes]:
    try:
        while piece := os.read(main, 1 << 16):
            yield piece
    except OSError:
        pass
    finally:
        os.close(main)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_wider_than_the_terminal(folder: Path, name: str, columns: int) -> None:
    lines = shown(folder, columns, *COMMANDS[name]).splitlines()
    assert lines
    assert not [line for line in lines if len(line) > columns and " " in line.strip()]


@pytest.mark.parametrize("name", DATA)
def test_data_is_not_folded(folder: Path, name: str) -> None:
    assert shown(folder, 80, *DATA[name], messages=False) == chartkit(folder, *DATA[name]).out


def test_a_pipe_has_whole_lines(folder: Path) -> None:
    out = chartkit(folder, *COMMANDS["scan"]).out
    assert any(len(line) > 80 for line in out.splitlines())
    assert chartkit(folder, *COMMANDS["scan"], COLUMNS="60").out == out


_WRITER = """\
import signal, sys
from chartkit.cli.terminal import guarded
signal.signal(signal.SIGTERM, lambda *_: None)
with guarded():
    for letter in "abcdefg":
        sys.stdout.write(f"{letter * 8907}\\n")
    sys.stdout.write("end\\n")
"""


def test_signal_in_a_write_that_waits_for_its_reader_loses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", _WRITER], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        before, waiting = -1, 0
        while waiting != before or not waiting:
            time.sleep(0.2)
            before = waiting
            waiting = struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0]
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        text = process.stdout.read().decode()
    assert text == "".join(f"{letter * 8907}\n" for letter in "abcdefg") + "end\n"

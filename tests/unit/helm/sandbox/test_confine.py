"""What the system takes from a child: the network, files that are not its own, time and memory."""

import ctypes
import platform
import sys
from pathlib import Path

import pytest

from chartkit.helm.sandbox.process import (
    FileAccess,
    Limits,
    ProgramResult,
    Programs,
    StoppedError,
    size,
)
from tests.data import from_table
from tests.errors import error_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone enforces it")
_LIMITS = Limits(seconds=20, cpu_seconds=1, memory=64 * 1024 * 1024, output=100_000)


def _has_landlock() -> bool:
    return sys.platform == "linux" and bool(ctypes.CDLL(None).syscall(444, None, 0, 1) > 0)


def run(tmp_path: Path, script: str, readable: tuple[str, ...] | None = ()) -> ProgramResult:
    temporary = tmp_path / "tmp"
    temporary.mkdir(exist_ok=True)
    access = FileAccess(readable, str(temporary))
    return Programs().run("/bin/bash", ["-c", script], access, _LIMITS, {})


@pytest.mark.skipif(not _has_landlock(), reason="this kernel has no Landlock")
def test_files_of_others_are_out_of_reach(tmp_path: Path) -> None:
    chart, secret = tmp_path / "chart", tmp_path / "secret"
    chart.mkdir()
    (chart / "a").write_text("of the chart")
    secret.write_text("of the user")
    script = f"cat {chart}/a {secret} /etc/passwd; echo > {chart}/b; echo mine > {tmp_path}/tmp/c"
    done = run(tmp_path, script, (str(chart),))
    assert done.out == "of the chart"
    assert done.err.count("Permission denied") == 3
    assert not (chart / "b").exists()
    assert (tmp_path / "tmp" / "c").read_text() == "mine\n"


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no filter for it")
@pytest.mark.parametrize("readable", [(), None])
def test_there_is_no_network(tmp_path: Path, readable: tuple[str, ...] | None) -> None:
    done = run(tmp_path, "exec 3<>/dev/tcp/127.0.0.1/9", readable)
    assert "Permission denied" in done.err
    done = run(tmp_path, "exec 3<>/dev/udp/127.0.0.1/9", readable)
    assert "Permission denied" in done.err


@from_table("script", "reason")
def test_confine_limits(tmp_path: Path, script: str, reason: str) -> None:
    assert error_of(StoppedError, run, tmp_path, script).message == reason


def test_an_answer_takes_too_long(tmp_path: Path) -> None:
    access = FileAccess(None, str(tmp_path))
    limits = Limits(seconds=0.2)
    with pytest.raises(StoppedError, match=r"it gives no answer within 0\.2 s"):
        Programs().run("/bin/sleep", ["60"], access, limits, {})


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Programs().run("/nowhere/helm", [], FileAccess((), str(tmp_path)), _LIMITS, {})


def test_helms_own_variables_stay_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELM_KUBETOKEN", "secret")
    assert "secret" not in run(tmp_path, "export").out


@pytest.mark.parametrize(
    ("number", "text"), [(2**31, "2 GiB"), (3 * 2**20, "3 MiB"), (1001, "1,001 bytes")]
)
def test_confine_sizes(number: int, text: str) -> None:
    assert size(number) == text

"""Helm with the rights of its user: started for each call."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chartkit.helm import backend
from chartkit.helm.backend import VARIABLE, HelmCallError, HelmClient, HelmRefusedError

WARNING = 'I1121 20:14:39.148627    2465 warnings.go:107] "Warning: old kind"'
INFO = "I1121 20:14:39.148627    2465 reflector.go:107] listing"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes a program in Python and makes it the Helm to use."""

    def write(code: str) -> None:
        file = tmp_path / "helm"
        file.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{code}\n")
        file.chmod(0o755)
        monkeypatch.setenv(VARIABLE, str(file))

    return write


def test_warnings_of_the_api_server_are_printed_once(
    program: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    program(f"sys.stderr.write('''{WARNING}\n{INFO}\n{WARNING}\n'''); print(sys.argv[1:])")
    helm = HelmClient(60, ["--namespace", "x"])
    assert helm.run(["list"])[0] == "['list', '--namespace', 'x']\n"
    helm.run(["list"])
    assert capsys.readouterr().err == "warning of the API server: old kind\n"


def test_an_error_is_what_helm_says_last(program: Callable[[str], None]) -> None:
    text = rf"{WARNING}\nError: denied \xff\n by it\n\nUse --debug flag to see more"
    program(f"sys.stderr.buffer.write(b'''{text}'''); sys.exit(1)")
    with pytest.raises(HelmRefusedError, match=r"^denied \ufffd by it$"):
        HelmClient(60).run(["push"])


def test_what_gives_no_answer_is_ended(program: Callable[[str], None]) -> None:
    program("time.sleep(60)")
    with pytest.raises(HelmCallError, match=r"^Helm gave no answer within 0\.1 s$"):
        HelmClient(0.1).run(["list"])


def test_a_program_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/no/such/helm")
    with pytest.raises(HelmCallError, match="'/no/such/helm' cannot be started: No such file"):
        HelmClient(60).run(["list"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a program at once")
def test_ctrl_c_lets_helm_end_its_work(program: Callable[[str], None], tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    program(
        f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(open({str(ended)!r}, 'w').close()))\n"
        f"open({str(begun)!r}, 'w').close(); time.sleep(60)"
    )

    def interrupt() -> None:
        while not begun.exists():
            time.sleep(0.01)
        # The caller waits for the program by then.
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            HelmClient(60).run(["install"])
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows how a process is called")
def test_the_library_writes_to_clusters_as_helm_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "library")
    code = "print(open('/proc/self/cmdline', 'rb').read().split(b'\\0')[0].decode(), end='')"
    monkeypatch.setattr(backend, "_CODE", code)
    assert Path(HelmClient(60).run([])[0]).name == "helm"

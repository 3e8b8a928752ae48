"""Helm with the rights of its user: started for each call, and what it warns of."""

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
from chartkit.helm.model import warnings
from chartkit.helm.render import WARNING_RULE, lint_chart, render_chart
from chartkit.model import Severity
from tests.unit.helm.conftest import Write

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


_SKIPPED = "skipped value for demo.l: Not a table."
_IGNORED = "destination for l is a table. Ignoring non-table value (3)"


@pytest.mark.usefixtures("backend")
def test_a_value_of_another_type(chart: Write) -> None:
    folder = chart({"values.yaml": "l: 3\nm: 4\n"})
    for _ in range(2):
        (found,) = render_chart(folder, [{"l": {"a": 1}}]).warnings
        assert (found.rule_id, found.severity) == (WARNING_RULE, Severity.NOTE)
        assert found.message == f"Helm warns: {_SKIPPED}"
        assert found.location is not None
        assert found.location.file == str(folder)
    assert render_chart(folder, [{"l": 5}]).warnings == ()


@pytest.mark.usefixtures("backend")
def test_lint_warns_of_more(chart: Write) -> None:
    folder = chart({"values.yaml": "l: 3\n"})
    found = [one for one in lint_chart(folder, [{"l": {"a": 1}}]) if one.rule_id == WARNING_RULE]
    assert {one.message for one in found} >= {f"Helm warns: {_SKIPPED}", f"Helm warns: {_IGNORED}"}


@pytest.mark.usefixtures("backend")
def test_a_value_is_shown_as_text(chart: Write) -> None:
    folder = chart({"values.yaml": 'l: "x\\u001b[31m\\n::error::forged"\n'})
    found = lint_chart(folder, [{"l": {"a": 1}}])
    text = "".join(one.message for one in found if one.rule_id == WARNING_RULE)
    assert "Ignoring non-table value (x" in text
    assert text.isprintable()


def test_the_forms_of_a_line() -> None:
    for line in (
        "2026/01/02 03:04:05 warning: a b",
        "2026/01/02 03:04:05 WARN a b",
        "coalesce.go:286: warning: a b",
        "2026/01/02 03:04:05 coalesce.go:286: warning: a b",
        'level=INFO msg="warning: a b"',
        'level=WARN msg="a b"',
        'time=2026-01-02T03:04:05.000Z level=WARN msg="a b"',
        "WARNING: a b",
    ):
        assert warnings(f"x\n{line}\nError: y\n") == ("a b",), line
    assert warnings('level=WARN msg="a b" path="c d"') == ('a b path="c d"',)
    assert warnings('level=WARN msg="a \\x1b b"') == ("a \\x1b b",)
    for line in (
        'level=INFO msg="a b"',
        "walk.go:75: found symbolic link",
        "Error: warning: a",
        "",
    ):
        assert warnings(line) == ()


def test_they_are_bounded_sorted_and_shown() -> None:
    log = "".join(f"WARNING: {number:03}\n" for number in reversed(range(500))) * 2
    found = warnings(log)
    assert found[0] == "000"
    assert found[-1] == "and 480 more"
    assert len(found) == 21
    (long,) = warnings(f"WARNING: {'x' * 10_000}")
    assert len(long) == 301
    (hostile,) = warnings("WARNING: a\x1b[31m::b\u202e")
    assert hostile == "a\\u001b[31m::b\\u202e"

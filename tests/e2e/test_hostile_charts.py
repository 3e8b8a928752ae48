"""Charts of strangers through the command: one line, exit 2, no request, and Ctrl-C works."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.command import PROGRAM, chartkit, started
from tests.files import write_files
from tests.loopback import LoopbackServer, QuietHandler, running

_FOREVER = "a: {{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}\n"
_SECOND = 1.0
_PATIENCE = 30
_ENDS = {signal.SIGINT: (130, b"interrupted"), signal.SIGTERM: (143, b"terminated")}
_POD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    def made(files: dict[str, str]) -> Path:
        given = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "values.yaml": "a: 1\n"}
        return write_files(tmp_path / "c", given | files)

    return made


@pytest.fixture
def requests_seen() -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything, and what it was asked."""
    seen: list[str] = []

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.answer(200, b"{}")

    with running(LoopbackServer(("127.0.0.1", 0), Handler)) as place:
        yield f"http://{place}", seen


@pytest.mark.parametrize(
    "command", [["scan"], ["preview"], ["values", "lint", "c/values.yaml", "--chart"]]
)
def test_no_request_is_made_for_a_schema(
    write: Callable[[dict[str, str]], Path],
    requests_seen: tuple[str, list[str]],
    command: list[str],
    tmp_path: Path,
) -> None:
    url, seen = requests_seen
    write({"values.schema.json": f'{{"$ref": "{url}/x"}}'})
    done = chartkit(tmp_path, *command, "c")
    assert (done.code, seen) == (2, [])
    assert done.line.startswith(f"c/values.schema.json: its $ref leads out of the schema, to {url}")


@pytest.mark.parametrize("chosen", ["library", "program"])
def test_a_link_is_one_line(
    write: Callable[[dict[str, str]], Path], chosen: str, helm_program: str, tmp_path: Path
) -> None:
    (write({}) / "passwd").symlink_to("/etc/passwd")
    done = chartkit(
        tmp_path, "scan", "c", "--helm", helm_program if chosen == "program" else chosen
    )
    assert done.code == 2
    assert done.line.startswith("c/passwd: is a link that leads out of the chart, to /etc/passwd (")


@pytest.mark.parametrize("command", ["scan", "preview"])
@pytest.mark.parametrize("chosen", ["library", "program"])
def test_what_helm_warns_of_is_said_once(
    write: Callable[[dict[str, str]], Path],
    command: str,
    chosen: str,
    helm_program: str,
    tmp_path: Path,
) -> None:
    write({"templates/a.yaml": _POD, "values.yaml": "l: 3\n"})
    (tmp_path / "v.yaml").write_text("l: {a: 1}\n")
    backend = helm_program if chosen == "program" else chosen
    done = chartkit(tmp_path, command, "c", "-f", "v.yaml", "--helm", backend)
    assert done.code == 0
    warning = "c: note helm-warning: Helm warns: skipped value for c.l: Not a table."
    assert [line for line in done.err.splitlines() if "Helm" in line] == [warning]


def test_a_crash_is_one_line_with_the_template(
    write: Callable[[dict[str, str]], Path], tmp_path: Path
) -> None:
    write({"templates/a.yaml": '{{ repeat 4000000000000 "a" }}\n'})
    done = chartkit(tmp_path, "scan", "c")
    assert done.code == 2
    assert done.line == "c/templates/a.yaml: Helm was stopped: it needs more than 2 GiB of memory"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc to see processes")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("chosen", ["library", "program"])
def test_signals_end_everything_soon(
    write: Callable[[dict[str, str]], Path],
    chosen: str,
    helm_program: str,
    sent: signal.Signals,
    tmp_path: Path,
) -> None:
    write({"templates/a.yaml": _FOREVER})
    mark = f"{tmp_path}/only-here"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    backend = helm_program if chosen == "program" else chosen
    process = subprocess.Popen(
        [PROGRAM, "scan", "c", "--helm", backend],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "MARK": mark, "TMPDIR": str(temporary)},
    )
    try:
        _until(lambda: _computing(mark, process.pid))
        children = _processes(mark)
        process.send_signal(sent)
        _, err = process.communicate(timeout=_PATIENCE)
        _until(lambda: not children.intersection(_processes(mark)))
    finally:
        process.kill()
        process.wait()
    if sent is signal.SIGKILL:
        assert process.returncode == -sent
        # The next run clears what this one left.
        assert len(list(temporary.iterdir())) == 1
        write({"templates/a.yaml": _POD})
        assert started(tmp_path, "scan", "c", TMPDIR=str(temporary)).code == 0
    else:
        assert (process.returncode, err.strip()) == _ENDS[sent]
    assert not list(temporary.iterdir())


def _until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def _processes(mark: str) -> set[int]:
    """The processes that have a mark in their environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if mark.encode() in environment:
                found.add(int(folder.name))
    return found


def _computing(mark: str, parent: int) -> bool:
    """Whether a child has computed for as long as starting never takes."""
    ticks = os.sysconf("SC_CLK_TCK")
    for child in _processes(mark) - {parent}:
        try:
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if (int(fields[11]) + int(fields[12])) / ticks > _SECOND:
            return True
    return False

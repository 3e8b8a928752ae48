import subprocess
from pathlib import Path

from tests.e2e.command import PROGRAM, chartkit


def test_error_message_is_explained(tmp_path: Path) -> None:
    text = 'failed calling webhook "mutate.kyverno.svc-fail": no endpoints available for service'
    done = chartkit(tmp_path, "explain", text)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("No Kyverno Pod is ready.\n\nCause: ")


def test_error_message_from_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "explain", "-"],
        input=b"2m  Warning \xff etcdserver: mvcc: database space exceeded\n",
        capture_output=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout.startswith(b"etcd is full.\n")


def test_unknown_error_message_names_the_page(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "explain", "all is well, really")
    assert (done.code, done.out) == (2, "")
    assert "docs/troubleshooting.md" in done.err

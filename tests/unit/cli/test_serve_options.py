"""Options of `chartkit serve` that cannot be used: one line, and exit code 2."""

import socket
from contextlib import closing
from importlib import util
from pathlib import Path

import pytest

from chartkit.cli.main import main
from chartkit.errors import extra
from tests.addons.serve.admission.bodies import LABELS, TEAM
from tests.data import from_table
from tests.errors import error_of

_PRINTED = ("-p", "team.yaml", "--print-webhooks")


def _failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert error_of(SystemExit, main, ["serve", *arguments]).code == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1, text
    return text


@pytest.fixture(autouse=True)
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "team.yaml").write_text(TEAM)
    (tmp_path / "broken.yaml").write_text(TEAM.replace("pattern:", "pattrn:"))


def test_packages_that_are_missing_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "granian" else found(name))
    said = _failed(capsys, "-p", "team.yaml")
    assert said == f"granian is not installed ({extra('serve')})\n"


@from_table("arguments", "said")
def test_options_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert said in _failed(capsys, *arguments)


def test_an_address_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("granian")
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        said = _failed(capsys, "-p", "team.yaml", "--port", port)
    assert said == f"cannot listen at 127.0.0.1:{port}: Address already in use\n"


def test_certificates_are_used_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "labels.yaml").write_text(LABELS)
    command = ["serve", "-p", "labels.yaml", "--tls-folder", "certificates", "--print-webhooks"]

    def printed(*more: str) -> str:
        assert error_of(SystemExit, main, [*command, *more]).code == 0
        return capsys.readouterr().out

    first = printed()
    assert printed() == first
    assert printed("--name", "other.example") != first
    assert (tmp_path / "certificates" / "tls.key").stat().st_mode & 0o077 == 0

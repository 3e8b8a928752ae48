"""What strangers name never reaches a terminal as more than text."""

import io
import json
import sys
from pathlib import Path

import pytest

from chartkit.cli import main, terminal
from chartkit.model import Body
from tests.data import beside
from tests.errors import error_of

_TEXTS = beside(__file__)

FORGED = (
    "a\n\npass: 99, fail: 0, warn: 0, error: 0, skip: 0\n::error file=x::pwn\n\x1b[2J\u202e\x9b"
)
POD: Body = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": FORGED, "namespace": FORGED, "labels": {"l": FORGED}},
    "spec": {"containers": [{"name": FORGED, "image": FORGED}]},
}
POLICY = _TEXTS["policy"]
TEST = _TEXTS["test"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pod.json").write_text(json.dumps(POD))
    (tmp_path / "policy.yaml").write_text(POLICY)
    refused = POLICY.replace("{name: p}", '{name: "p\\n::error::policy"}')
    (tmp_path / "refused.yaml").write_text(refused)
    (tmp_path / "kyverno-test.yaml").write_text(TEST)
    (tmp_path / "a\n::error::file.yaml").write_text("x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("scan", "pod.json"),
        ("scan", "pod.json", "--detailed"),
        ("scan", "pod.json", "-p", "policy.yaml"),
        ("scan", "pod.json", "-p", "refused.yaml"),
        ("scan", "pod.json", "-p", "policy.yaml", "-o", "markdown"),
        ("scan", "pod.json", "-p", "policy.yaml", "-o", "json"),
        ("scan", "pod.json", "-p", "policy.yaml", "-o", "policyreport"),
        ("scan", "pod.json", "-p", "policy.yaml", "-o", "junit"),
        ("scan", "a\n::error::file.yaml"),
        ("scan", "no\n::error::file.yaml"),
        ("scan", "--no\n::error::option"),
        ("preview", "pod.json", "-p", "policy.yaml"),
        ("preview", "pod.json", "-p", "policy.yaml", "-o", "json"),
        ("why", "pod.json", "-p", "policy.yaml", "--all"),
        ("why", "pod.json", "-p", "policy.yaml", "-o", "json"),
        ("why", "pod.json", "a\n::error::x"),
        ("test", "."),
        ("test", ".", "--detailed", "--coverage"),
        ("test", ".", "-o", "markdown"),
        ("eval", "jmespath", "@", "-i", "pod.json"),
        ("eval", "jmespath", "metadata.name\n::error::x ! \x1b[2J"),
        ("eval", "cel", "object.metadata.name", "-i", "pod.json"),
        ("explain", "a\n::error::x"),
        ("policies", "show", "a\n::error::x"),
        ("policies", "search", "a\n::error::x\x1b[2J"),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("folder")
def test_no_output_holds_a_control_character_or_a_forged_line(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert error_of(SystemExit, main, arguments).code != 3
    out, err = capsys.readouterr()
    for line in (out + err).split("\n"):
        assert line.replace("\t", "").isprintable()
        assert not line.lstrip().startswith("::")
        assert "junit" in arguments or not line.startswith("pass: 99")
    assert out + err


def test_a_secret_is_previewed_without_its_values(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    (folder / "s.json").write_text(json.dumps({**secret, "stringData": {"q": "hush"}}))
    for form in ("text", "json"):
        with pytest.raises(SystemExit):
            main(["preview", "s.json", "-p", "policy.yaml", "-o", form])
        out = capsys.readouterr().out
        assert "hush" not in out
        assert "hidden" in out or form == "text"


@pytest.mark.parametrize(
    "arguments",
    [["explain", "\udcff"], ["scan", "\udcff.yaml"], ["eval", "jmespath", "'\udcff'"], ["\udcff"]],
)
def test_an_argument_that_is_no_text(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert error_of(SystemExit, main, arguments).code == 2
    assert "is not UTF-8 text" in capsys.readouterr().err


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "colour"), [(io.StringIO(), False), (_Terminal(), True)])
def test_our_own_colours_reach_a_terminal_alone(
    stream: io.StringIO, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", stream)
    with terminal.guarded():
        sys.stdout.write("\x1b[31mred\x1b[0m \x1b[2J")
    assert ("\x1b[31m" in stream.getvalue()) is colour
    assert "\x1b[2J" not in stream.getvalue()
    assert sys.stdout is stream


def test_what_an_encoding_lacks_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(content, "ascii", write_through=True))
    with terminal.guarded():
        sys.stdout.write("→ \udcff")
    assert content.getvalue() == b"\\u2192 \\udcff"

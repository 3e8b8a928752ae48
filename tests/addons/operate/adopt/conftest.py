import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chartkit.cli.main import main
from tests.data import beside

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
EXCEPTION = _TEXTS["exception"]
WORKLOAD = _TEXTS["workload"]


@dataclass
class Team:
    """A folder to work in, and the command."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    def write(self, **files: str) -> None:
        """Write files of `.yaml` by name; `__` stands for a slash."""
        for name, text in files.items():
            file = self.folder / f"{name.replace('__', '/')}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command."""
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        captured = self.capture.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    def adopt(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Exit code and JSON report of an adoption into `out`."""
        code, out, err = self.run("adopt", *arguments, "--folder", "out", "-o", "json")
        assert err == ""
        return code, json.loads(out)

    def rows(self, body: dict[str, Any], outcome: str) -> list[tuple[str, str]]:
        """Subject and message of the rows of an outcome."""
        return [
            (row["subject"], row["message"]) for row in body["rows"] if row["outcome"] == outcome
        ]


VERSIONS = ("--kyverno", "1.18.1", "--kubernetes", "1.34")
"""Versions whose engine chartkit's chart does not install, so that Helm renders policies alone."""


@pytest.fixture
def team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Team:
    monkeypatch.chdir(tmp_path)
    return Team(tmp_path, capsys)

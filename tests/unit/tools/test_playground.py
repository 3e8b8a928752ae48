"""The build of the playground."""

import json
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.shared import ROOT
from tools import playground


def test_without_node_there_is_no_page_and_a_notice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["playground.py", str(tmp_path / "page")])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert playground.main() == 0
    assert capsys.readouterr().err == "no playground: it is built with node and npm\n"
    assert not (tmp_path / "page").exists()


def test_packages_of_the_page_are_pinned() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    pinned = {name.lower().replace("_", "-") for name in re.findall(r"^([\w-]+)==", lock, re.M)}
    distributions = packages_distributions()
    for package in playground._PACKAGES:
        assert {name.lower().replace("_", "-") for name in distributions[package]} <= pinned


def test_the_lock_of_npm_names_no_host() -> None:
    text = (ROOT / "docs" / "playground" / "package-lock.json").read_text("utf-8")
    packages = json.loads(text)["packages"]
    assert "http" not in re.sub(r'"(funding|url)": "[^"]*"', "", text)
    assert all(each.get("integrity") for name, each in packages.items() if name)


def test_a_name_has_a_hash_of_the_content(tmp_path: Path) -> None:
    made = tmp_path / "made.js"
    made.write_text("1")
    first = playground._named(made, tmp_path / "main.js")
    made.write_text("2")
    assert re.fullmatch(r"main-[0-9a-f]{12}\.js", first)
    assert playground._named(made, tmp_path / "main.js") != first
    assert (tmp_path / first).read_text() == "1"

"""Without the folder of an add-on everything else works; what it brings says what is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import chartkit
from chartkit.addon import addons
from chartkit.bundled import library_dir
from tests.data import beside

_TEXTS = beside(__file__)

ROOT = Path(chartkit.__file__).parent
_POD = _TEXTS["pod"]
_SIGNED = _TEXTS["signed"]
_LABELLED = _TEXTS["labelled"]


@pytest.fixture
def without(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder with the package without an add-on, or without any for an empty name."""
    left_out = ROOT / "addons" / request.param

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(folder, name) == left_out or name == "__pycache__"]

    shutil.copytree(ROOT, tmp_path / "chartkit", ignore=ignored, copy_function=os.symlink)
    for name, text in {"pod": _POD, "signed": _SIGNED, "labelled": _LABELLED}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "chartkit", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "gone"),
    [
        ("migrate", ["migrate", "adopt"]),
        ("operate", ["promote"]),
        ("serve", ["serve", "estimate"]),
        ("playground", []),
        ("signatures", []),
        ("", ["migrate", "adopt", "serve", "install"]),
    ],
    indirect=["without"],
)
def test_a_tool_without_an_addon(without: Path, gone: list[str]) -> None:
    scan = ran(without, "scan", "pod.yaml", "-p", "labelled.yaml")
    assert (scan.returncode, scan.stderr) == (1, "")
    assert "labelled" in scan.stdout
    for command in gone:
        done = ran(without, command, "pod.yaml")
        assert done.returncode == 2
        assert f"the command '{command}' needs the add-on '" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    listed = ran(without, "--help")
    assert listed.returncode == 0
    assert not [name for name in gone if name != "adopt" and f"  {name} " in listed.stdout]


@pytest.mark.slow
@pytest.mark.parametrize("without", ["satisfy"], indirect=True)
def test_a_fix_without_the_addon(without: Path) -> None:
    scan = ran(without, "scan", "pod.yaml", "-p", "labelled.yaml", "--fix")
    assert scan.returncode == 2
    assert "--fix needs the add-on 'satisfy', which is not installed" in scan.stderr


@pytest.mark.slow
@pytest.mark.parametrize("without", ["mutation"], indirect=True)
def test_changed_policies_without_the_addon(without: Path) -> None:
    policy = str(library_dir() / "baseline" / "disallow-host-path")
    assert ran(without, "policies", "check", policy).returncode == 0
    done = ran(without, "policies", "check", policy, "--mutate")
    assert done.returncode == 2
    assert "--mutate needs the add-on 'mutation', which is not installed" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("without", ["signatures"], indirect=True)
def test_a_signature_without_the_addon(without: Path) -> None:
    scan = ran(without, "scan", "pod.yaml", "-p", "signed.yaml", "--registry")
    assert scan.returncode == 1
    assert "to verify an image needs the add-on 'signatures', which is not installed" in scan.stdout


def test_each_port_is_there() -> None:
    """The modules of the add-ons have what their declarations name."""
    from chartkit.addon import loaded

    brought = [place for addon in addons().values() for place in addon.ports.values()]
    assert all(callable(loaded(place)) for place in brought)

"""The Helm that a process has."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chartkit.bundled import library_dir
from chartkit.cli import main
from chartkit.errors import HelmMissingError
from chartkit.helm import backend
from tests.errors import error_of


class _Door:
    def close(self) -> None:
        """Ends nothing."""


def test_threads_that_ask_at_once_share_one_helm(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[_Door] = []

    def connect(_limits: object) -> _Door:
        time.sleep(0.01)  # Long enough for the other threads to ask.
        made.append(_Door())
        return made[-1]

    backend.close()
    monkeypatch.setattr(backend, "connect", connect)
    both = threading.Barrier(4)

    def asked() -> object:
        both.wait(10)
        return backend.helm()

    try:
        with ThreadPoolExecutor(4) as threads:
            doors = {each.result(10) for each in [threads.submit(asked) for _ in range(4)]}
    finally:
        backend.close()
    assert doors == set(made)
    assert len(made) == 1


@pytest.fixture
def no_helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with neither the library nor a program."""
    monkeypatch.setattr(backend, "library_folder", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    backend.close()
    yield
    backend.close()


def chart(folder: Path) -> Path:
    (folder / "shop/templates").mkdir(parents=True)
    (folder / "shop/Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    (folder / "shop/templates/a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    return folder / "shop"


@pytest.mark.usefixtures("no_helm")
@pytest.mark.parametrize("named", [None, "library", "program"])
def test_without_helm_both_ways_out_are_named(
    named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if named:
        monkeypatch.setenv(backend.VARIABLE, named)
    error = error_of(HelmMissingError, backend.chosen_program)
    assert "pip install '.[helm]'" in str(error.hint)
    assert "`helm`" in str(error.hint) or "`program`" in str(error.hint)


@pytest.mark.usefixtures("no_helm")
def test_a_chart_without_helm_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n"
        "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]},"
        " validate: {message: m, pattern: {spec: {hostname: a}}}}]}\n"
    )
    error = error_of(SystemExit, main, ["scan", str(chart(tmp_path)), "-p", str(policy)])
    said = "".join(capsys.readouterr())
    assert error.code == 2
    assert said.count("neither its library nor a `helm` program is installed") == 1
    assert "Traceback" not in said
    assert said.startswith(f"{tmp_path / 'shop'}: a chart needs Helm")


@pytest.mark.usefixtures("no_helm")
def test_a_library_is_checked_without_helm(capsys: pytest.CaptureFixture[str]) -> None:
    error = error_of(SystemExit, main, ["policies", "lint", str(library_dir() / "restricted")])
    assert error.code == 0
    said = capsys.readouterr()
    assert said.out.endswith("policies checked: 0 errors, 0 warnings\n")
    assert "Helm" not in said.err

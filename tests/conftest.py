"""Options and fixtures that all tests share."""

import gc
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.draws import draws

# A landing must not hang on a draw of the day: continuous integration always draws the same. Nor
# on time: a machine that stands still while something is drawn would look too slow. Nor on a few
# draws in a row that are too large or are discarded.
_UNTIMED = settings(
    draws(100),
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
settings.register_profile("default", _UNTIMED)
settings.register_profile("ci", _UNTIMED, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# A shell that runs the suite in the background has it ignore interrupts, and its children with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

GOLDEN = Path(__file__).parent / "golden"

Golden = Callable[[str, str], None]
"""Compares a text with the golden file of a name."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files anew instead of comparing"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays: the garbage collector need not look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """How `make test` gives files to its workers."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.scheduling import FileScheduling

    return FileScheduling(config, log)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes give a test no name: signatures and archives differ from worker to worker."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares with `tests/golden/<name>`, or writes it with --update-golden."""
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if update:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        assert file.exists(), f"{file} is missing: run pytest --update-golden and look at it"
        assert text == file.read_text("utf-8")

    return compare


@pytest.fixture(scope="session")
def helm_program() -> str:
    """The real `helm`, on PATH or where `go install` puts it; skips where there is none."""
    return _program("helm")


@pytest.fixture(scope="session")
def helm3_program() -> str:
    """Helm 3 as `helm3`, where `helm` is; skips where there is none."""
    return _program("helm3")


@pytest.fixture
def kustomize(monkeypatch: pytest.MonkeyPatch) -> str:
    """The real `kustomize`, on PATH from here on; skips where there is none."""
    found = _program("kustomize")
    monkeypatch.setenv("PATH", os.pathsep.join((os.environ["PATH"], str(Path(found).parent))))
    return found


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None and shutil.which("go"):
        done = subprocess.run(["go", "env", "GOPATH"], capture_output=True, text=True, check=False)
        found = shutil.which(name, path=str(Path(done.stdout.strip()) / "bin"))
    if found is None:
        pytest.skip(f"the program {name} is not here; `.ci/run` installs it")
    return found


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs keep their work elsewhere than in the user's cache, and dates of support do not end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHARTKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("CHARTKIT_TODAY", "2026-11-30")
        yield

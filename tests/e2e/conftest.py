import shutil
from pathlib import Path

import pytest

from tests.e2e.command import chartkit


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project as `init` writes it, rendered once; tests copy it."""
    folder = tmp_path_factory.mktemp("rendered")
    assert chartkit(folder, "init").code == 0
    done = chartkit(folder, "render")
    assert done.code == 0, done.out + done.err
    return folder


@pytest.fixture
def project(rendered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rendered, tmp_path / "project"))


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether the pages are written anew instead of compared."""
    return bool(request.config.getoption("--update-golden"))

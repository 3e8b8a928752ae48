from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(
    no_cache_of_the_users: None,  # noqa: ARG001 - it comes first
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A cache of the test's own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("CHARTKIT_CACHE", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What fixtures of a module read is remembered elsewhere than in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHARTKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


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

from collections.abc import Callable
from pathlib import Path

import pytest

from chartkit.helm.kustomize.kustomization import Tree
from tests.data import beside
from tests.files import write_files

Write = Callable[[dict[str, str]], Tree]

POD = beside(__file__)["pod"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes files into a repository; gives the tree of its kustomizations."""
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)

    def write(files: dict[str, str]) -> Tree:
        write_files(folder, files)
        found = sorted(each for each in Path().rglob("*") if each.is_file())
        return Tree.of(Path(), found)

    return write

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chartkit.helm import backend as choice
from chartkit.helm import backend as helm
from tests.files import write_files

BACKENDS = ("library", "helm_program", "helm3_program")
Write = Callable[..., Path]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every test runs with the library and with both versions of the program."""
    name = request.param
    monkeypatch.setenv(choice.VARIABLE, chosen(request, name))
    helm.close()
    yield name
    helm.close()


def chosen(request: pytest.FixtureRequest, name: str) -> str:
    """A backend as `CHARTKIT_HELM` names it; skips where it is not here."""
    found: str = name if name == "library" else request.getfixturevalue(name)
    return found


@pytest.fixture
def chart(tmp_path: Path) -> Write:
    """Writes a chart with these files besides its Chart.yaml and one Pod."""

    def write(files: dict[str, str | bytes] | None = None) -> Path:
        root = tmp_path / "demo"
        pod = (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
            "spec: {containers: [{name: a, image: b}]}\n"
        )
        given: dict[str, str | bytes] = {
            "Chart.yaml": "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
            "values.yaml": "a: 1\n",
            "templates/pod.yaml": pod,
        }
        return write_files(root, given | (files or {}))

    return write

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chartkit.chart import helm
from chartkit.chart.helm import choice

BACKENDS = ("library", "program")
Write = Callable[..., Path]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every test runs with both backends."""
    name = request.param
    chosen = request.getfixturevalue("helm_program") if name == "program" else name
    monkeypatch.setenv(choice.VARIABLE, chosen)
    helm.close()
    yield name
    helm.close()


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
        for name, content in (given | (files or {})).items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return write

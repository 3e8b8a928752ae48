"""The page about adopting the gate: 500 violations, one new, one fixed, one suppressed."""

import re
from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.transcript import DOCS, check_page

_TEXTS = beside(__file__)

_PAGE = "how-to/adopt-the-gate.md"
_DEPLOYMENT = _TEXTS["deployment"]


@pytest.mark.slow
def test_page_about_adopting_the_gate_is_true(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text = (DOCS / _PAGE).read_text("utf-8")
    files = re.findall(r"Write `([\w.]+)`:\n\n```yaml\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == ["agent.yaml", "suppressed.yaml"]
    for name, content in files:
        (tmp_path / name).write_text(content)
    (tmp_path / "manifests").mkdir()
    for number in range(500):
        name = f"web-{number:03}"
        (tmp_path / "manifests" / f"{name}.yaml").write_text(_DEPLOYMENT.replace("NAME", name))
    check_page(_PAGE, tmp_path, request.config.getoption("--update-golden"))

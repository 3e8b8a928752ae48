"""The page of a first scan: its files and its transcripts."""

import re
from pathlib import Path

import pytest

from tests.e2e.transcript import DOCS, check_page

_PAGE = "start/first-scan.md"


@pytest.mark.slow
def test_page_of_a_first_scan_is_true(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = (DOCS / _PAGE).read_text("utf-8")
    files = re.findall(r"Write `([\w.]+)`:\n\n```yaml\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == ["pod.yaml", "fixed.yaml"]
    for name, content in files:
        (tmp_path / name).write_text(content)
    check_page(_PAGE, tmp_path, request.config.getoption("--update-golden"))

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import chartkit
from tests.e2e.transcript import check_page


def test_plan_page_is_true(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    check_page("how-to/upgrade.md", tmp_path, request.config.getoption("--update-golden"))


def test_plan_refuses_wrong_input(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "plan", "--from", "1.12", "--to", "1.19/1.35")
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith("'1.12' is not a pair of versions")
    assert chartkit(tmp_path, "plan", "--from", "1.12/1.31", "--to", "1.12/1.31").code == 0

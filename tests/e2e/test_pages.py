"""Pages whose commands need no more than the files that they show: what they show is what comes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.data import beside, from_table
from tests.e2e.transcript import check_page, write_shown
from tests.files import write_files

_DEPLOYMENT = beside(__file__)["deployment"]


@pytest.mark.slow
@from_table("page", "files", named_by="page")
def test_a_page_is_true(tmp_path: Path, page: str, files: list[str], update: bool) -> None:
    assert write_shown(page, tmp_path) == files
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    check_page(page, tmp_path, update, scrub=lambda out: out.replace(today, "2026-11-23"))


@pytest.mark.slow
def test_page_about_adopting_the_gate_is_true(tmp_path: Path, update: bool) -> None:
    """500 violations, one new, one fixed, one suppressed."""
    page = "how-to/adopt-the-gate.md"
    assert write_shown(page, tmp_path) == ["agent.yaml", "suppressed.yaml"]
    names = [f"web-{number:03}" for number in range(500)]
    texts = {f"{name}.yaml": _DEPLOYMENT.replace("NAME", name) for name in names}
    write_files(tmp_path / "manifests", texts)
    check_page(page, tmp_path, update)

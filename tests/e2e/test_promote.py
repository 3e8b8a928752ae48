"""The page about promotion, from the files that it shows."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.e2e.transcript import DOCS, check_page

_PAGE = "how-to/promote.md"


@pytest.mark.slow
def test_page_about_promotion_is_true(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = (DOCS / _PAGE).read_text("utf-8")
    files = re.findall(r"`([\w/-]+\.yaml)`:\n\n```yaml\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == [
        "chartkit.yaml",
        "shop.yaml",
        "policies/require-team.yaml",
        "policies/require-contact.yaml",
        "apps/shop.yaml",
    ]
    for name, content in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    check_page(
        _PAGE,
        tmp_path,
        request.config.getoption("--update-golden"),
        scrub=lambda out: out.replace(today, "2026-11-23"),
    )

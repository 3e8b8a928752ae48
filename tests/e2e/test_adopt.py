"""The page about adopting an existing Kyverno, from the files that it shows."""

import re
from pathlib import Path

import pytest

from tests.e2e.transcript import DOCS, check_page

_PAGE = "how-to/adopt.md"


@pytest.mark.slow
def test_page_about_adoption_is_true(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = (DOCS / _PAGE).read_text("utf-8")
    files = re.findall(r"`([a-z]+/\w+\.yaml)`[^`]*:\n\n```yaml\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == [
        "legacy/policies.yaml",
        "legacy/exceptions.yaml",
        "legacy/values.yaml",
        "apps/shop.yaml",
    ]
    for name, content in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    check_page(_PAGE, tmp_path, request.config.getoption("--update-golden"))

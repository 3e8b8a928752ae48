import json
import re
from pathlib import Path

import pytest

from tests.data import from_table
from tests.e2e.command import chartkit, snapshot
from tests.e2e.transcript import DOCS, check_page

OLD = "# ours\n\nreplicaCount: 3  # one a zone\n"
NEW = "# ours\n\nadmissionController:\n  replicas: 3  # one a zone\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old.yaml").write_text(OLD)
    return tmp_path


def test_values_migrate_page_is_true(tmp_path: Path, update: bool) -> None:
    (old,) = re.findall(
        r"```yaml\n(.*?)```", (DOCS / "reference/migrate.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "old.yaml").write_text(old)
    check_page("reference/migrate.md", tmp_path, update)


def test_values_migrate_output(folder: Path) -> None:
    printed = chartkit(folder, "values", "migrate", "old.yaml", "--report", "json")
    assert (printed.code, printed.out) == (0, NEW)
    (step,) = json.loads(printed.err)["steps"]
    assert (step["key"], step["line"]) == ("replicaCount", 3)
    assert snapshot(folder) == {"old.yaml": OLD.encode()}
    assert chartkit(folder, "values", "migrate", "old.yaml", "-o", "new.yaml").out == ""
    assert chartkit(folder, "values", "migrate", "old.yaml", "--write").out == ""
    assert snapshot(folder) == {"old.yaml": NEW.encode(), "new.yaml": NEW.encode()}


def test_values_migrate_asks_the_user(folder: Path) -> None:
    (folder / "old.yaml").write_text("replicaCount: 2\n")
    done = chartkit(folder, "values", "migrate", "old.yaml", "--write")
    assert done.code == 1
    assert "To be decided by you:\n  line 1: replicaCount" in done.err
    assert (folder / "old.yaml").read_text() == "admissionController:\n  replicas: 2\n"


@from_table("text", "line", named_by="line")
def test_values_migrate_refuses_wrong_input(folder: Path, text: str, line: str) -> None:
    (folder / "old.yaml").write_text(text)
    done = chartkit(folder, "values", "migrate", "old.yaml", "--write")
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith(line)
    assert snapshot(folder) == {"old.yaml": text.encode()}


@from_table("arguments", "line")
def test_values_migrate_usage_errors(folder: Path, arguments: list[str], line: str) -> None:
    done = chartkit(folder, "values", "migrate", *arguments)
    assert (done.code, done.out) == (2, "")
    assert line in done.err

"""`chartkit test --watch`: the files whose changes run the tests again."""

from pathlib import Path

from chartkit.cli.test import watched_files
from chartkit.scan.changes import Past, repeat_on_changes
from tests.unit.testing.objects import write_test


def test_files_beside_a_test_and_elsewhere(tmp_path: Path) -> None:
    write_test(tmp_path / "shared")
    rows = "policies: [../shared/policies.yaml]\nresources: [objects.yaml]\nresults: []\n"
    write_test(tmp_path / "tests", rows=rows)
    write_test(tmp_path / "tests" / "wrong", rows="resultz: []\n")
    files = watched_files([tmp_path / "tests"], "kyverno-test.yaml")
    assert tmp_path / "tests" in files
    assert tmp_path / "shared" / "policies.yaml" in files


def test_a_change_runs_again(tmp_path: Path) -> None:
    write_test(tmp_path)
    said: list[str] = []
    runs: list[bool] = []

    def run(past: Past | None) -> int:
        runs.append(past is None)
        return 0 if len(runs) < 2 else 130

    def sleep(_: float) -> None:
        changed = tmp_path / "objects.yaml"
        if changed.read_text("utf-8") != "# changed\n":
            changed.write_text("# changed\n", "utf-8")

    def files() -> list[Path]:
        return watched_files([tmp_path], "kyverno-test.yaml")

    assert repeat_on_changes(files, run, said.append, sleep) == 130
    assert runs == [True, False]
    assert "objects.yaml" in said[0]

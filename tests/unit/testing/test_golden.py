"""Expected objects of tests, written as policies make them."""

from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.testing.new import update
from chartkit.testing.runner import run_tests
from tests.data import beside
from tests.unit.testing.objects import PATCHED, ROWS, write_test

GENERATING = beside(__file__)["generating"]


def failed(folder: Path) -> int:
    return sum(case.failed for case in run_tests([folder]))


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    write_test(tmp_path)
    assert failed(tmp_path) == 1
    file = tmp_path / "patched.yaml"
    assert update(run_tests([tmp_path])) == [file]
    assert file.read_text("utf-8") == PATCHED.replace("team: red", "team: blue")
    assert failed(tmp_path) == 0
    assert update(run_tests([tmp_path])) == []


def test_line_ends_of_expected_objects_stay(tmp_path: Path) -> None:
    write_test(tmp_path)
    file = tmp_path / "patched.yaml"
    file.write_bytes(PATCHED.replace("\n", "\r\n").encode())
    update(run_tests([tmp_path]))
    wanted = PATCHED.replace("team: red", "team: blue").replace("\n", "\r\n")
    assert file.read_bytes() == wanted.encode()


def test_a_result_that_is_not_the_expected_one_writes_nothing(tmp_path: Path) -> None:
    write_test(tmp_path, rows=ROWS.replace("result: pass", "result: skip"))
    assert update(run_tests([tmp_path])) == []
    assert (tmp_path / "patched.yaml").read_text("utf-8") == PATCHED


@pytest.mark.parametrize(
    "before", [None, "", "# others\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"]
)
def test_generated_objects_that_are_not_there(tmp_path: Path, before: str | None) -> None:
    row = "{policy: make-config, rule: make, kind: Pod, result: pass, failOnMissingResources: true"
    rows = f"{ROWS.partition('results')[0]}results:\n- {row}, generatedResource: made.yaml}}\n"
    write_test(tmp_path, rows=rows)
    (tmp_path / "policies.yaml").write_text(GENERATING, "utf-8")
    file = tmp_path / "made.yaml"
    if before is not None:
        file.write_text(before, "utf-8")
    (case,) = run_tests([tmp_path])
    assert case.rows[0].reason == "Resource error"
    update([case])
    assert file.read_text("utf-8").startswith(before or "apiVersion: v1")
    assert "managed-by" not in file.read_text("utf-8")
    assert failed(tmp_path) == 0


def test_what_no_edit_leaves_as_it_is(tmp_path: Path) -> None:
    write_test(tmp_path)
    file = tmp_path / "patched.yaml"
    listed = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
    file.write_text(f"{listed}  metadata: {{name: bad, namespace: shop}}\n", "utf-8")
    before = file.read_text("utf-8")
    with pytest.raises(InputError, match="is in a List"):
        update(run_tests([tmp_path]))
    assert file.read_text("utf-8") == before

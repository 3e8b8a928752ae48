"""A new policy is whole: it is checked as it stands, and does in both forms what it says."""

import re
from pathlib import Path

import pytest

from chartkit.catalog.authoring.add import is_in_project, write_policy
from chartkit.catalog.authoring.check import check_path
from chartkit.catalog.entries import read_index
from chartkit.catalog.model import Kind
from chartkit.errors import InputError
from chartkit.testing.model import Verdict
from chartkit.testing.runner import run_tests

_FORMS = {
    Kind.VALIDATE: ("ClusterPolicy", "ValidatingPolicy"),
    Kind.MUTATE: ("ClusterPolicy", "MutatingPolicy"),
    Kind.GENERATE: ("ClusterPolicy", "GeneratingPolicy"),
    Kind.IMAGE: ("ClusterPolicy", "ImageValidatingPolicy"),
    Kind.CLEANUP: ("ClusterCleanupPolicy", "DeletingPolicy"),
}


@pytest.mark.parametrize("kind", Kind)
def test_a_new_policy_is_right_as_it_stands(tmp_path: Path, kind: Kind) -> None:
    folder = write_policy(f"ours/my-{kind}", kind, tmp_path)
    assert folder == tmp_path / "policies" / "ours" / f"my-{kind}"
    checked = check_path(tmp_path / "policies")
    assert (checked.policies, checked.diagnostics) == (1, ())
    (entry,) = read_index("policies", tmp_path / "policies").entries
    assert entry.reference == f"ours/my-{kind}"
    assert entry.kinds == (kind,)
    assert entry.forms == _FORMS[kind]
    cases = list(run_tests([tmp_path]))
    assert {row.verdict for case in cases for row in case.rows} == {Verdict.PASS}
    assert not [case for case in cases if case.error or case.diagnostics or not case.rows]
    assert "NAME" not in "".join(file.read_text() for file in folder.iterdir())


def test_a_policy_goes_to_the_projects_first_library(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "chartkit.yaml").write_text("library: [mine]\n")
    folder = write_policy("require-team", Kind.VALIDATE, tmp_path)
    assert folder == tmp_path / "mine" / "require-team"
    assert is_in_project(folder, tmp_path)
    other = write_policy("require-team", Kind.VALIDATE, tmp_path, tmp_path / "other")
    assert not is_in_project(other, tmp_path)


def test_nothing_is_written_where_a_library_of_the_project_is_missing(tmp_path: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text("library: [mine]\n")
    with pytest.raises(InputError, match=r"chartkit.yaml:1:11: there is no policy library 'mine'"):
        write_policy("require-team", Kind.VALIDATE, tmp_path, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    folder = write_policy("require-team", Kind.VALIDATE, tmp_path, tmp_path / "mine")
    assert is_in_project(folder, tmp_path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = write_policy("mine", Kind.MUTATE, tmp_path)
    (folder / "policy.yaml").write_text("mine\n")
    with pytest.raises(InputError, match="is there already"):
        write_policy("mine", Kind.VALIDATE, tmp_path)
    assert (folder / "policy.yaml").read_text() == "mine\n"
    assert [path.name for path in folder.parent.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["", "Mine", "../mine", "a//b", "/mine", "a/b/c/d", "x_y", "-x"])
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"'{name}' cannot be the name")):
        write_policy(name, Kind.VALIDATE, tmp_path)
    assert list(tmp_path.iterdir()) == []

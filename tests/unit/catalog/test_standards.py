"""The files of standards: what is read of them, what is wrong with them, and the built-in ones."""

from pathlib import Path

import pytest

from chartkit.bundled import library_dir, standards_dir
from chartkit.catalog.coverage import coverage
from chartkit.catalog.standards import CoverageLevel, built_in_standards, read_standard
from chartkit.errors import InputError
from chartkit.library.policies import Library, read_library
from tests.data import beside, from_table
from tests.errors import error_of

_TEXTS = beside(__file__)
HEAD = _TEXTS["head"]


def _write(folder: Path, controls: str, head: str = HEAD) -> str:
    file = folder / "ours.yaml"
    file.write_text(head + controls)
    return str(file)


def test_reads_a_standard(tmp_path: Path) -> None:
    standard = read_standard(_write(tmp_path, _TEXTS["controls"]))
    assert (standard.name, standard.title, standard.version) == ("ours", "Our rules", "")
    assert [(each.id, each.covered, each.reason) for each in standard.controls] == [
        ("1.1", CoverageLevel.WHOLLY, ""),
        ("1.2", CoverageLevel.PARTLY, "the rest is open"),
        ("x", CoverageLevel.NOT, "people know"),
        ("z", CoverageLevel.NOT, "nobody knows"),
    ]
    assert [each.section for each in standard.controls] == ["First", "First", "Second", "Second"]
    assert [each.source.rpartition("/")[2] for each in standard.controls] == [
        "rules",
        "rules",
        "x",
        "second",
    ]
    first = standard.controls[0]
    assert (first.policies, first.also) == (("a/mine",), ("a/other",))
    places = [first.locate_policy(position) for position in range(2)]
    assert [(place.line, place.column) for place in places] == [(10, 52), (10, 68)]


@from_table("control", "message")
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, control: str, message: str) -> None:
    file = _write(tmp_path, f"    - title: S\n      controls:\n        - {control}\n")
    error = error_of(InputError, read_standard, file)
    assert message in str(error)
    assert str(error).startswith(f"{file}:")


def test_files_that_are_no_standard(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_standard("nowhere/ours.yaml")
    with pytest.raises(InputError, match="there is no standard 'ciss'") as caught:
        read_standard("ciss")
    assert caught.value.hint == "did you mean 'cis'?"
    error = error_of(InputError, read_standard, "zzzz")
    assert error.hint is not None
    assert error.hint.startswith("built in are cis, eks, nsa, pss;")
    with pytest.raises(InputError, match="is one YAML document"):
        read_standard(_write(tmp_path, "---\n", head=""))


def test_standards_a_key_that_stands_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ours.yaml:2:1: the key 'kind' stands here a second"):
        read_standard(_write(tmp_path, "kind: Other\n", head="kind: PolicyStandard\n"))


@pytest.fixture(scope="module")
def library() -> Library:
    return read_library([library_dir()])


@pytest.mark.parametrize("name", ["cis", "eks", "nsa", "pss"])
def test_policies_that_a_built_in_standard_names_exist(name: str) -> None:
    standard = read_standard(name)
    assert read_standard(str(standards_dir() / f"{name}.yaml")) == standard
    assert standard.name == name
    found = coverage(standard)
    assert len(found.controls) == len(standard.controls)
    assert found.by_cover()[CoverageLevel.WHOLLY] > 0


def test_the_built_in_standards_are_the_files_that_ship() -> None:
    assert built_in_standards() == ["cis", "eks", "nsa", "pss"]
    assert sorted(file.name for file in standards_dir().iterdir()) == [
        f"{name}.yaml" for name in built_in_standards()
    ]


def test_every_built_in_policy_is_in_a_standard(library: Library) -> None:
    named = {
        reference
        for name in built_in_standards()
        for control in read_standard(name).controls
        for reference in (*control.policies, *control.also)
    }
    policies = {policy.reference for policy in library.policies.values()}
    assert sorted(policies - named) == []


def test_the_standard_that_the_page_shows_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "coverage.md").read_text("utf-8")
    shown = page.partition("```yaml\n")[2].partition("```")[0]
    found = coverage(read_standard(_write(tmp_path, shown, head="")))
    assert set(found.by_cover()) == set(CoverageLevel)


def test_references_are_written_with_their_category(library: Library) -> None:
    for name in built_in_standards():
        for control in read_standard(name).controls:
            for reference in (*control.policies, *control.also):
                assert library.find(reference).reference == reference


def test_the_controls_of_the_pod_security_standards_are_all_there(library: Library) -> None:
    """Each policy of the two folders implements a control of them, and none is left out."""
    standard = read_standard("pss")
    named = {reference for control in standard.controls for reference in control.policies}
    groups = ("baseline", "restricted")
    assert named == {
        policy.reference for policy in library.policies.values() if policy.group in groups
    }

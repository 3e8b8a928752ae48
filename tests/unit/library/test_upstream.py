"""Policies without metadata.yaml, found by reference."""

from pathlib import Path

import pytest

from chartkit.catalog.entries import read_index
from chartkit.charts.policies.chart import plan, read_libraries
from chartkit.errors import InputError
from chartkit.kyverno.versions import Version
from chartkit.library.policies import Library, read_library, upstream_library, vendored_libraries
from chartkit.library.upstream import UpstreamForm, UpstreamLibrary
from chartkit.project.project import read_project
from tests.data import from_table, tables
from tests.unit.library.upstream_files import CLUSTER_POLICY, GUARDED, VALIDATING, vendored
from tests.unit.project.project_files import write_policy, write_profile


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = vendored(
        tmp_path,
        "theirs",
        {"a/one": CLUSTER_POLICY, "b/one": VALIDATING, "a/deep/two": CLUSTER_POLICY},
    )
    several = root / "c" / "several"
    several.mkdir(parents=True)
    (several / "first.yaml").write_text(
        CLUSTER_POLICY.format(name="ex") + "---\n" + CLUSTER_POLICY.format(name="why")
    )
    (several / "second.yml").write_text(VALIDATING.format(name="zed") + "---\nkind: Note\n")
    (root / "top.yaml").write_text(CLUSTER_POLICY.format(name="top"))
    vendored(tmp_path, "theirs", {"d/guarded": GUARDED, ".hidden/three": CLUSTER_POLICY})
    chart = root / "chart" / "templates"
    chart.mkdir(parents=True)
    (root / "chart" / "Chart.yaml").write_text("name: a\n")
    (chart / "four.yaml").write_text(CLUSTER_POLICY.format(name="four"))
    return root


def test_references_are_the_catalogue_s(root: Path) -> None:
    found = UpstreamLibrary("theirs", root).references
    assert sorted(found) == tables(__file__)["references_are_the_catalogue_s"]
    indexed = read_index("theirs", root)
    assert indexed.problems == ()
    assert [entry.reference for entry in indexed.entries] == sorted(found)


@from_table("wanted", "found")
def test_a_name_is_the_end_of_a_reference_or_the_policy_s_own(
    root: Path, wanted: str, found: list[str]
) -> None:
    assert [each.reference for each in UpstreamLibrary("theirs", root).find(wanted)] == found


def test_what_is_known_of_a_policy(root: Path) -> None:
    (policy,) = UpstreamLibrary("theirs", root).find("b/one")
    assert (policy.form, policy.kind, policy.minimum_kyverno) == (
        UpstreamForm.CEL,
        "ValidatingPolicy",
        Version(1, 14),
    )
    (policy,) = UpstreamLibrary("theirs", root).find("why")
    assert policy.location.line == 29
    found = _library(root).find("why")
    assert (found.title, found.severity, found.subject) == (
        "Require why",
        "high",
        ("Pod", "Service"),
    )
    assert found.qualified == "theirs/c/several/first/why"


def test_a_claimed_version_counts_where_it_is_one(tmp_path: Path) -> None:
    claims = CLUSTER_POLICY.replace("/severity: high", "/minversion: {name}")
    root = vendored(tmp_path, "theirs", {"1.12.0": claims})
    file = root / "1.12.0" / "1.12.0.yaml"
    assert UpstreamLibrary("theirs", root).find("1.12.0")[0].minimum_kyverno == Version(1, 12)
    file.write_text(claims.format(name="soon"))
    assert UpstreamLibrary("theirs", root).find("1.12.0")[0].minimum_kyverno == Version(1, 6)


def _library(root: Path, *own: Path) -> Library:
    return read_library(own, {}, vendored_libraries(root.parent.parent))


def test_one_s_own_libraries_go_first(root: Path, tmp_path: Path) -> None:
    write_policy(tmp_path / "own", "mine/one")
    library = _library(root, tmp_path / "own")
    assert library.find("one").qualified == "own/mine/one"
    assert library.find("theirs/a/one").qualified == "theirs/a/one"
    assert library.find("b/one").qualified == "theirs/b/one"


def test_a_name_that_several_policies_have_is_refused(root: Path) -> None:
    with pytest.raises(InputError, match="there are 2 policies 'one'") as caught:
        _library(root).find("one")
    assert caught.value.hint == "say which: theirs/a/one, theirs/b/one"
    with pytest.raises(InputError, match="there is no policy 'a/on'") as caught:
        _library(root).find("a/on")
    assert caught.value.hint == "did you mean 'a/one'?"
    with pytest.raises(InputError, match="there is no policy 'theirs/c/several'") as caught:
        _library(root).find("theirs/c/several")
    names = "c/several/first/ex, c/several/first/why, c/several/second"
    assert caught.value.hint == f"it is a folder, say which of it: {names}"


def test_a_name_that_a_variable_of_helm_gives_is_the_policy_s_own(tmp_path: Path) -> None:
    folder = tmp_path / "ours" / "team"
    folder.mkdir(parents=True)
    (folder / "injection.yaml").write_text(GUARDED.format(name="inject-scripts"), "utf-8")
    (folder / "other.yaml").write_text(CLUSTER_POLICY.format(name="other"), "utf-8")
    found = UpstreamLibrary("ours", tmp_path / "ours").find("inject-scripts")
    assert [each.reference for each in found] == ["team/injection"]


def test_a_folder_of_vendor_without_a_lock_file_is_no_library(root: Path) -> None:
    (root / "chartkit.lock").unlink()
    assert vendored_libraries(root.parent.parent) == []
    assert vendored_libraries(root) == []


def test_a_library_of_one_s_own_may_hold_such_policies_too(tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "a" / "mine").mkdir(parents=True)
    (own / "a" / "mine" / "mine.yaml").write_text(CLUSTER_POLICY.format(name="mine"))
    assert upstream_library(own).references == ["a/mine"]
    write_profile(tmp_path / "all.yaml", "policies: {own/a/mine: {}}")
    (tmp_path / "chartkit.yaml").write_text(
        "profiles: [./all.yaml]\nlibrary: [own]\n"
        'environments: {dev: {kyverno: "1.19", kubernetes: "1.35"}}\n'
    )
    project = read_project(tmp_path)
    assert read_libraries(project).find("mine").qualified == "own/a/mine"
    assert "templates/own/mine.yaml" in plan(project).files


@pytest.mark.parametrize("name", ["y", "7", "[a]", "Upper", '""'])
def test_a_name_is_one_that_kubernetes_takes(tmp_path: Path, name: str) -> None:
    text = CLUSTER_POLICY.replace("  name: {name}\n", f"  name: {name}\n")
    root = vendored(tmp_path, "theirs", {"a/one": text})
    with pytest.raises(InputError, match=r"one.yaml:5:3: .* cannot be the name of a policy"):
        UpstreamLibrary("theirs", root).find("a/one")


def test_a_vendored_policy_is_as_its_lock_file_has_it(root: Path) -> None:
    file = root / "a" / "one" / "one.yaml"
    file.write_text(file.read_text().replace("Enforce", "Audit"))
    library = _library(root)
    assert library.find("theirs/b/one").name == "one"
    with pytest.raises(InputError, match=r"one.yaml: was changed since it was vendored"):
        library.find("theirs/a/one")
    (root / "a" / "new").mkdir()
    file.rename(root / "a" / "new" / "new.yaml")
    with pytest.raises(InputError, match=r"new.yaml: was changed since it was vendored"):
        _library(root).find("a/new")


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(CLUSTER_POLICY.format(name="outside"))
    (root / "a" / "link").mkdir()
    (root / "a" / "link" / "outside.yaml").symlink_to(outside)
    (root / "a" / "elsewhere").symlink_to(tmp_path)
    library = UpstreamLibrary("theirs", root)
    assert library.find("outside") == []
    assert not any("elsewhere" in each for each in library.references)


def test_a_file_that_cannot_be_read_says_so_when_it_is_asked_for(root: Path) -> None:
    (root / "a" / "bad").mkdir()
    (root / "a" / "bad" / "bad.yaml").write_text("kind: ClusterPolicy\na: [\n")
    library = UpstreamLibrary("theirs", root)
    assert "a/bad" not in library.references
    with pytest.raises(InputError, match=r"bad.yaml:3:1: is not YAML"):
        library.find("a/bad")

"""Policies put into profiles."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chartkit.catalog.authoring.add import add, with_policy, with_profile
from chartkit.cli.policies import policies
from chartkit.errors import InputError
from tests.data import beside, from_table
from tests.unit.library.upstream_files import CLUSTER_POLICY, vendored
from tests.unit.project.project_files import write_policy, write_profile

_PROJECT = """\
# The shop's clusters.
environments:
  dev: {kyverno: "1.19", kubernetes: "1.35"}   # the newest
"""
_OWN = beside(__file__)["own"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "Our Shop"
    vendored(root, "theirs", {"one/require-a": CLUSTER_POLICY, "two/require-a": CLUSTER_POLICY})
    vendored(root, "theirs", {"two/require-b": CLUSTER_POLICY})
    (root / "chartkit.yaml").write_text(_PROJECT)
    return root


def _ours(project: Path) -> Path:
    (project / "chartkit.yaml").write_text("profiles: [./ours.yaml]\n" + _PROJECT)
    (project / "ours.yaml").write_text(_OWN)
    return project / "ours.yaml"


def test_the_first_policy_makes_a_profile(project: Path) -> None:
    added = add("two/require-b", project)
    file = project / "profiles" / "our-shop.yaml"
    assert added.written == (file, project / "chartkit.yaml")
    assert "    theirs/two/require-b: {}\n" in file.read_text()
    assert (project / "chartkit.yaml").read_text() == _PROJECT.replace(
        "environments:",
        "profiles:\n  - pss-restricted\n  - ./profiles/our-shop.yaml\nenvironments:",
    )
    again = add("theirs/two/require-b", project)
    assert again.written == ()
    assert str(again.there).startswith(f"{file}:8:")


def test_a_policy_goes_to_the_first_profile_and_comments_stay(project: Path) -> None:
    file = _ours(project)
    before = (project / "chartkit.yaml").read_bytes()
    assert add("one/require-a", project).written == (file,)
    new = "    theirs/one/require-a: {}\n"
    assert file.read_text() == _OWN.replace("security\n", f"security\n{new}")
    assert (project / "chartkit.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("extends: [pss-baseline]", "extends: [pss-baseline]\n  policies:\n    NEW: {}"),
        ("policies: {a/b: {}}", "policies: {a/b: {}, NEW: {}}"),
        (
            "policies:\n  a/b: {action: Audit}  # b\n# for all\nparameters: {x: 1}",
            "policies:\n    a/b: {action: Audit}  # b\n    NEW: {}\n"
            "  # for all\n  parameters: {x: 1}",
        ),
        ("policies: {}\nparameters: {}", "policies:\n    NEW: {}\n  parameters: {}"),
    ],
)
def test_profiles_of_any_shape(tmp_path: Path, spec: str, expected: str) -> None:
    text = write_profile(tmp_path / "a.yaml", spec).read_text()
    found = with_policy(text, "NEW", tmp_path / "a.yaml")
    assert found == text[: text.index("  title: a\n") + 11] + f"  {expected}\n"


def test_a_profile_that_shares_its_policies_is_left_to_people(tmp_path: Path) -> None:
    text = "spec: {policies: &a {}, parameters: *a}\n"
    with pytest.raises(InputError, match="cannot be edited") as caught:
        with_policy(text, "NEW", tmp_path / "a.yaml")
    assert caught.value.hint == "put it there by hand: `NEW: {}` under spec.policies"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  - a # why\n\n# Clusters.\n", "  - a # why\n  - NEW\n\n# Clusters.\n"),
        (" [a] # why\n\n", " [a, NEW] # why\n\n"),
    ],
)
def test_what_stands_below_the_profiles_stays_below(before: str, after: str) -> None:
    start = "profiles:\n" if "-" in before else "profiles:"
    found = with_profile(f"{start}{before}environments: {{}}\n", "NEW", [], Path("chartkit.yaml"))
    assert found == f"{start}{after}environments: {{}}\n"


@pytest.mark.parametrize(
    ("given", "reference"),
    [("ROOT/new/a.yaml", "./new/a.yaml"), ("ROOT/../a.yaml", None), ("../a.yaml", "../a.yaml")],
)
def test_a_profile_at_any_path(project: Path, given: str, reference: str | None) -> None:
    path = given.replace("ROOT", str(project.resolve()))
    if reference is None:
        path = reference = str(project.resolve().parent / "a.yaml")
    added = add("two/require-b", project, path, new=True)
    assert added.profile.is_file()
    assert f"  - {reference}\n" in (project / "chartkit.yaml").read_text()
    assert add("two/require-b", project, path).written == ()


def _run(project: Path, *arguments: str) -> Result:
    return CliRunner().invoke(policies, ["add", *arguments, "--project", str(project)])


def test_the_command_says_what_else_there_is_to_do(project: Path) -> None:
    generating = beside(__file__)["generating"]
    vendored(project, "theirs", {"three/make-jobs": generating})
    (project / "chartkit.yaml").write_text(
        _PROJECT + '  prd: {kyverno: "1.19", kubernetes: "1.35", profiles: [pss-baseline]}\n'
    )
    done = _run(project, "make-jobs", "--profile", "jobs", "--new-profile")
    file = project / "profiles" / "jobs.yaml"
    lines = done.output.splitlines()
    assert lines[0] == f"wrote {file}: it has theirs/three/make-jobs"
    assert lines[1] == f"wrote {project / 'chartkit.yaml'}: it names jobs.yaml"
    assert any("background-controller create" in line for line in lines)
    assert any("ConfigMap ops/settings" in line for line in lines)
    assert any(line.startswith("not in prd: ") for line in lines)
    assert lines[-1] == "next: chartkit render"
    again = _run(project, "make-jobs", "--profile", "./profiles/jobs.yaml")
    assert again.output.startswith(f"theirs/three/make-jobs is in {file} already: {file}:8:")
    assert "wrote" not in again.output


@from_table("arguments", "message")
def test_add_refusals(project: Path, arguments: list[str], message: str) -> None:
    file = _ours(project)
    more = "    theirs/one/require-a: {}\n    disallow-privileged-containers: {enabled: false}\n"
    file.write_text(_OWN.replace("security\n", f"security\n{more}"))
    write_policy(project / "vendor" / "theirs", "own/format")
    reads = CLUSTER_POLICY.replace('"?*"', "'{{{{ .Files.Get \"a\" }}}}'")
    vendored(project, "theirs", {"helm/reads-files": reads})
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    done = _run(project, *arguments)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_a_new_profile_has_a_name(project: Path) -> None:
    done = _run(project, "require-b", "--new-profile")
    assert done.exit_code == 2
    assert "--new-profile needs --profile, which says what it is called" in done.output
    assert not (project / "profiles").exists()


def test_nothing_is_half_written(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def failing(source: Path, target: Path) -> None:
        if Path(target).name == "chartkit.yaml":
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(InputError, match=r"chartkit.yaml: cannot be written: No space left"):
        add("two/require-b", project)
    assert not (project / "profiles").exists()
    assert (project / "chartkit.yaml").read_text() == _PROJECT
    assert sorted(path.name for path in project.iterdir()) == ["chartkit.yaml", "vendor"]

"""Examples of policies of every kind, judged with an environment's settings."""

import re
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chartkit.catalog.authoring.add import write_policy
from chartkit.catalog.model import Kind
from chartkit.project.project import read_project
from chartkit.render.model import Outcome, RenderResult, Row
from chartkit.render.pipeline import RenderOptions, render_project

CUSTOM = """\
  custom: {kubernetes: "1.34", kyverno: "1.19", engine: false, policyType: %s}
"""


def run(folder: Path, environments: str) -> RenderResult:
    (folder / "chartkit.yaml").write_text(
        f"library: [policies]\nprofiles: [./all.yaml]\nenvironments:\n{environments}"
    )
    found = read_project(folder)
    return render_project(found, RenderOptions(tuple(found.environments.values()), check=True))


def write(folder: Path) -> None:
    for kind in Kind:
        write_policy(f"own/{kind}-one", kind, folder, folder / "policies")
    policies = "".join(f"    own/{kind}-one: {{}}\n" for kind in Kind)
    (folder / "all.yaml").write_text(
        "apiVersion: chartkit.dev/v1\nkind: Profile\nmetadata: {name: all}\n"
        f"spec:\n  title: all\n  policies:\n{policies}"
    )


@cache
def built() -> RenderResult:
    forms = ("ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy", "both")
    with TemporaryDirectory() as place:
        write(Path(place))
        environments = "".join(
            f'  {form.lower()}: {{kubernetes: "1.34", kyverno: "1.19", engine: false, '
            f"policyType: {form}}}\n"
            for form in forms
        )
        return run(Path(place), environments)


def rows(done: RenderResult, check: str, environment: str) -> list[Row]:
    return [row for row in done.rows if (row.check, row.environment) == (check, environment)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment", ["clusterpolicy", "validatingpolicy", "validatingadmissionpolicy", "both"]
)
def test_every_kind_of_policy_acts_on_its_bad_examples(environment: str) -> None:
    found = rows(built(), "examples", environment)
    assert [row.outcome for row in found] == [Outcome.PASS], found
    assert "of 5 policies come out right" in found[0].message
    policies = rows(built(), "policies", environment)
    assert [row.outcome for row in policies] == [Outcome.PASS], policies


@pytest.mark.slow
def test_a_note_tells_which_policies_come_in_both_forms() -> None:
    (row,) = rows(built(), "policy forms", "both")
    assert row.outcome is Outcome.NOTE
    assert row.message == (
        "1 ClusterPolicy acts, with a ValidatingPolicy of the same name that only reports; in one "
        "form: cleanup-one, generate-one, image-one, mutate-one"
    )
    assert not rows(built(), "policy forms", "validatingpolicy")


def test_each_of_both_forms_is_judged(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "policies" / "own" / "validate-one" / "cel.yaml"
    text = file.read_text()
    blind = re.sub(r"expression: >-\n .*", "expression: 'true'", text)
    assert blind != text
    file.write_text(blind)
    found = rows(run(tmp_path, CUSTOM % "both"), "examples", "custom")
    failed = [row.message for row in found if row.outcome is Outcome.FAIL]
    assert len(failed) == 1, found
    assert failed[0].startswith("validate-one (ValidatingPolicy) does nothing about ")


def test_what_both_forms_report_of_a_workload_is_told_apart(tmp_path: Path) -> None:
    write(tmp_path)
    shutil.copy(tmp_path / "policies" / "own" / "validate-one" / "bad.yaml", tmp_path / "app.yaml")
    both = (CUSTOM % "both").replace("}", ", action: Enforce, workloads: [app.yaml]}")
    found = rows(run(tmp_path, both), "workloads", "custom")
    refused = [row for row in found if row.outcome is Outcome.FAIL]
    reported = [row for row in found if row.outcome is Outcome.WARNING]
    assert refused
    assert reported
    assert all(" (ValidatingPolicy): " in row.message for row in reported)
    assert not any("(ValidatingPolicy)" in row.message for row in refused)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["ClusterPolicy", "ValidatingPolicy"])
def test_an_exclusion_that_hides_every_kind_is_told(tmp_path: Path, form: str) -> None:
    write(tmp_path)
    environment = (
        f'  dev:\n    kubernetes: "1.34"\n    kyverno: "1.19"\n    engine: false\n'
        f"    policyType: {form}\n    exclude: [{{namespaces: ['*']}}]\n"
    )
    done = run(tmp_path, environment)
    found = rows(done, "examples", "dev")
    assert {row.outcome for row in found} == {Outcome.WARNING, Outcome.NOTE}, found
    warned = [row.message for row in found if row.outcome is Outcome.WARNING]
    assert {message.partition(" ")[0] for message in warned} == {f"{kind}-one" for kind in Kind}


@pytest.mark.parametrize(
    ("excluded", "hides_all"), [("left-?", False), ("default", False), ("*", True)]
)
def test_a_bad_example_in_a_namespace_that_is_left_alone_shows_nothing(
    tmp_path: Path, excluded: str, hides_all: bool
) -> None:
    write(tmp_path)
    file = tmp_path / "policies" / "own" / "validate-one" / "bad.yaml"
    first = file.read_text()
    elsewhere = first.replace("metadata:\n", "metadata:\n  namespace: left-1\n", 1)
    assert elsewhere != first
    file.write_text(f"{first}---\n{elsewhere}")
    only = (
        f'  dev: {{kubernetes: "1.34", kyverno: "1.19", engine: false, policies: {{validate-one: '
        f"{{exclude: [{{namespaces: ['{excluded}']}}]}}}}}}\n"
    )
    found = rows(run(tmp_path, only), "examples", "dev")
    hidden = [row for row in found if "leaves out" in row.message]
    assert len(hidden) == 1
    assert any(row.outcome is Outcome.WARNING for row in found) is hides_all, found


def test_a_good_example_that_is_changed_is_told(tmp_path: Path) -> None:
    write(tmp_path)
    folder = tmp_path / "policies" / "own" / "mutate-one"
    shutil.copy(folder / "bad.yaml", folder / "good.yaml")
    done = run(tmp_path, CUSTOM % "ClusterPolicy")
    failed = [row for row in rows(done, "examples", "custom") if row.outcome is Outcome.FAIL]
    assert failed
    assert all("mutate-one acts on its good example" in row.message for row in failed)

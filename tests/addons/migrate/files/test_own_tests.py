"""Test files of converted policies: rewritten, run in the new form, and named where they differ."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.addons.migrate.files.run import write
from chartkit.model import Location
from chartkit.testing.runner import run_test, run_tests
from tests.addons.migrate.files.migrations import OPTIONS, migrated
from tests.data import beside, from_table

_TEXTS = beside(__file__)

_RULE = _TEXTS["rule"]
_HARD = _TEXTS["hard"]
_HEAD = _TEXTS["head"]
_POD = _TEXTS["pod"]
_TEST = _TEXTS["test"]


def _project(folder: Path, rules: str, test: str = _TEST) -> Path:
    """Write a policy and its test; return the test file."""
    (folder / "policy.yaml").write_text(_HEAD + rules)
    tests = folder / ".kyverno-test"
    tests.mkdir()
    pods = {"both": "{team: a, owner: b}", "team": "{team: a}", "none": "{}"}
    texts = [_POD.replace("NAME", name).replace("LABELS", each) for name, each in pods.items()]
    (tests / "pods.yaml").write_text("---\n".join(texts))
    (tests / "kyverno-test.yaml").write_text(test)
    return tests / "kyverno-test.yaml"


def _two() -> str:
    return "".join(_RULE.format(label=label) for label in ("team", "owner"))


@pytest.mark.parametrize("named", ["", "policy.yaml"])
def test_rules_that_became_one_policy(tmp_path: Path, named: str) -> None:
    file = _project(tmp_path, _two())
    found = migrated(tmp_path / named)
    (test,) = found.tests
    assert test.file == str(file)
    assert test.after.startswith("# as it was\n")
    body = yaml.safe_load(test.after)
    policy = {"policy": "labels", "kind": "Pod", "isValidatingPolicy": True}
    other, passes, fails = body["results"]
    assert other["policy"] == "other"
    assert passes == {**policy, "resources": ["both"], "result": "pass"}
    # The rule team passes; the policy does not, because of its rule owner.
    assert fails == {**policy, "resources": ["team", "none"], "result": "fail"}
    assert not found.mentions


def test_the_new_tests_pass(tmp_path: Path) -> None:
    file = _project(tmp_path, _two(), _TEST.replace("  - {policy: other", "  # - {policy: other"))
    write(migrated(tmp_path), replace(OPTIONS, write=True))
    (case,) = run_tests([file])
    assert len(case.rows) == 3
    assert case.exit_code == 0
    assert "# - {policy: other" in file.read_text()
    assert all(not each.changes for each in migrated(tmp_path).tests)


@pytest.mark.parametrize("named", ["", "policy.yaml"])
def test_a_folder_of_output_has_tests_that_pass(tmp_path: Path, named: str) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    _project(source, _two(), _TEST.replace("  - {policy: other", "  # - {policy: other"))
    before = {path: path.read_text() for path in source.rglob("*") if path.is_file()}
    options = replace(OPTIONS, folder=output)
    options = replace(options, inventory=replace(options.inventory, paths=(str(source / named),)))
    found = migrated(source / named, folder=output)
    assert not found.mentions
    write(found, options)
    assert before == {path: path.read_text() for path in source.rglob("*") if path.is_file()}
    (case,) = run_tests([output])
    assert (len(case.rows), case.exit_code) == (3, 0)
    assert "isValidatingPolicy" in (output / ".kyverno-test" / "kyverno-test.yaml").read_text()


def test_what_a_test_names_outside_of_the_input_is_named(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    file = _project(source, _two(), _TEST.replace("[pods.yaml]", "[../../pods.yaml]"))
    (file.parent / "pods.yaml").rename(tmp_path / "pods.yaml")
    (mention,) = migrated(source, folder=tmp_path / "out").mentions
    assert mention.location.file == str(file)
    assert "names ../../pods.yaml, which is outside" in mention.what


def test_results_of_a_rule_that_is_left_stay(tmp_path: Path) -> None:
    _project(
        tmp_path, _RULE.format(label="team") + _HARD, _TEST.replace("rule: owner", "rule: hard")
    )
    (test,) = migrated(tmp_path).tests
    rules = [each.get("rule") for each in yaml.safe_load(test.after)["results"]]
    assert rules == ["hard", "hard", "hard", None]


def test_values_for_rules_are_named(tmp_path: Path) -> None:
    values = (
        "values:\n  policies:\n    - name: labels\n      rules: [{name: team, values: {a: b}}]\n"
    )
    file = _project(tmp_path, _two(), _TEST + values)
    (mention,) = migrated(tmp_path).mentions
    assert mention.location.file == str(file)
    assert mention.location.line == _TEST.count("\n") + 3
    assert "values for rules of labels" in mention.what


def test_a_test_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    file = _project(tmp_path, _two())
    (file.parent / "pods.yaml").unlink()
    found = migrated(tmp_path)
    assert "was not run" in found.mentions[0].what
    assert found.tests[0].changes
    file.write_text("nonsense: true\n")
    assert "is not rewritten" in migrated(tmp_path).mentions[0].what


def test_a_test_that_fails_in_the_new_form_alone_is_named(tmp_path: Path) -> None:
    rule = _RULE.format(label="team")
    _project(
        tmp_path,
        rule,
        _TEST.replace("resources: [both, team], result: pass", "resources: [none], result: pass"),
    )
    # It failed before, which is not the migration's fault.
    assert not migrated(tmp_path).mentions


@from_table("old", "new")
def test_what_is_odd_in_a_test_stays_as_it_is(tmp_path: Path, old: str, new: str) -> None:
    text = "# first\n---\n" + _TEST.replace(old, new)
    _project(tmp_path, _two(), text)
    found = migrated(tmp_path)
    (test,) = found.tests
    before, _, _ = text.partition("results:")
    assert test.after.startswith(before)
    assert not found.mentions


def test_a_test_that_cannot_be_edited_is_named(tmp_path: Path) -> None:
    text = _TEST.replace("resources: [pods.yaml]", "resources: &a [&a pods.yaml]")
    file = _project(tmp_path, _two(), text)
    found = migrated(tmp_path)
    (mention,) = found.mentions
    assert mention.what.startswith("the test is not rewritten: ")
    assert mention.location.file == str(file)
    assert found.tests == ()


def test_a_name_of_no_file_in_a_test_is_passed_over(tmp_path: Path) -> None:
    text = _TEST.replace("[../policy.yaml]", '[../policy.yaml, "a\\0b.yaml"]')
    _project(tmp_path, _two(), text)
    (test,) = migrated(tmp_path).tests
    assert "isValidatingPolicy" in test.after


def test_a_failing_test_is_named_at_its_result(tmp_path: Path) -> None:
    there = "kinds: [Pod], namespaces: [shop]"
    rules = _RULE.format(label="team") + _RULE.format(label="owner").replace("kinds: [Pod]", there)
    result = "  - {policy: labels, kind: Pod, resources: [none], result: fail}\n"
    text = f"# first\n---\n{_TEST[: _TEST.index('  - ')]}{result}"
    # A character outside the Basic Multilingual Plane is two of JSON.
    file = _project(tmp_path, rules, text.replace("{name: labels}", '{name: "\U0001f600"}'))
    (mention,) = migrated(tmp_path).mentions
    assert "labels-owner" in mention.what
    assert "fails now: Want fail, got" in mention.what
    assert mention.location == Location(str(file), text.count("\n"), 5)


def test_a_test_runs_twice_whatever_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in the old form and once in the new one, and not once for each result that fails."""
    from chartkit.addons.migrate.files import own_tests

    runs = []

    def counted(*arguments: Any) -> Any:
        runs.append(arguments)
        return run_test(*arguments)

    monkeypatch.setattr(own_tests, "run_test", counted)
    missing = "".join(
        f"  - {{policy: labels, rule: team, kind: Pod, resources: [no-{number}], result: pass}}\n"
        for number in range(20)
    )
    _project(tmp_path, _RULE.format(label="team"), _TEST + missing)
    migrated(tmp_path)
    assert len(runs) == 2


@from_table("kind", "policies")
def test_results_go_to_policies_about_their_kind(
    tmp_path: Path, kind: str, policies: list[str]
) -> None:
    results = f"  - {{policy: labels, rule: label, kind: {kind}, resources: [a], result: pass}}\n"
    _project(tmp_path, _TEXTS["labels"], _TEST.partition("  - {")[0] + results)
    (test,) = migrated(tmp_path).tests
    assert [each["policy"] for each in yaml.safe_load(test.after)["results"]] == policies


def test_a_generated_object_that_another_rule_made_is_named(tmp_path: Path) -> None:
    made = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: a}\ndata: {a: b}\n"
    result = "policy: labels, rule: one, kind: Pod, resources: [both], result: pass"
    results = f"  - {{{result}, generatedResource: made.yaml}}\n"
    file = _project(
        tmp_path,
        "".join(_TEXTS["generate"].format(name=each) for each in ("one", "two")),
        _TEST.partition("  - {")[0] + results,
    )
    (file.parent / "made.yaml").write_text(made)
    assert [case.exit_code for case in run_tests([file])] == [0]
    (mention,) = migrated(tmp_path).mentions
    assert "fails now: Resource error" in mention.what

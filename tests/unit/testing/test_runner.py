"""Test files: read, selected, run, compared, with mocks, and run again on changes."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from chartkit.cli.test import watched_files
from chartkit.documents.reader import read_text
from chartkit.engine.policies import NO_ATTACHMENTS
from chartkit.errors import InputError
from chartkit.model import Resource, same
from chartkit.report.text.layout import Screen
from chartkit.scan.changes import Past, repeat_on_changes
from chartkit.testing.matching import differs, find_expected
from chartkit.testing.model import CaseResult, Verdict
from chartkit.testing.reader import find_tests, read_api_calls, read_global_entries, read_test_file
from chartkit.testing.report import Options, coverage_of, report
from chartkit.testing.runner import Selection, run_tests
from chartkit.testing.sources import Sources
from tests.command_reports import OWN, in_format
from tests.data import beside, from_table
from tests.shared import ROOT
from tests.unit.testing.objects import write_test

CASES = ROOT / "tests" / "cases"
HEAD = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\n"


def run(*names: str) -> list[CaseResult]:
    return list(run_tests([CASES / name for name in names]))


def test_cases_are_named_by_their_folders_in_order() -> None:
    names = [case.case for case in run_tests([CASES])]
    assert names == sorted(names)
    assert "mutation" in names


def test_a_file_may_be_named_itself() -> None:
    (case,) = run("selection/kyverno-test.yaml")
    assert (case.case, len(case.rows)) == (".", 10)


def test_a_path_without_tests(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no test"):
        list(run_tests([tmp_path]))
    with pytest.raises(InputError, match="no such file or folder"):
        list(run_tests([tmp_path / "gone"]))


@from_table("text", "error")
def test_one_test_that_cannot_run_is_said_in_its_result(
    tmp_path: Path, text: str, error: str
) -> None:
    (tmp_path / "kyverno-test.yaml").write_text(HEAD + text, "utf-8")
    (tmp_path / "bad.yaml").write_text("roles: [a]\n", "utf-8")
    (tmp_path / "list.yaml").write_text("[1]\n", "utf-8")
    spec = "apiVersion: v1\nkind: ClusterResource\nspec: {resources: 1}\n"
    (tmp_path / "spec.yaml").write_text(spec, "utf-8")
    (case,) = run_tests([tmp_path])
    assert error in case.error
    assert (case.rows, case.exit_code) == ((), 1)


def test_policies_that_cannot_be_loaded_are_named(tmp_path: Path) -> None:
    broken = (
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {rulez: 1}\n"
    )
    celled = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: c}\n"
    celled += "spec: {evaluation: {mode: Envoy}, validations: [{expression: 'true'}]}\n"
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "a.yaml").write_text(f"{broken}---\n{celled}", "utf-8")
    (tmp_path / "policies" / ".b.yaml").write_text("{", "utf-8")
    (tmp_path / "r.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "utf-8")
    text = "policies: [policies]\nresources: [r.yaml]\nresults:\n"
    text += "  - {policy: p, rule: r, kind: Pod, result: pass}\n"
    text += "  - {policy: c, kind: Pod, result: pass}\n"
    (tmp_path / "kyverno-test.yaml").write_text(HEAD + text, "utf-8")
    (case,) = run_tests([tmp_path])
    assert "rulez" in str(case.diagnostics[0])
    assert [row.reason for row in case.rows] == ["Not found", "Not evaluated"]
    assert "evaluation mode Envoy" in case.rows[1].message
    assert case.failed == 2


def test_files_are_read_and_compiled_once() -> None:
    sources = Sources()
    path = CASES / "selection" / "policy.yaml"
    first = sources.policies([path], NO_ATTACHMENTS).compiled
    assert sources.policies([path], NO_ATTACHMENTS).compiled[0] is first[0]
    assert sources.documents(path) is sources.documents(path)
    assert sources.objects(path) is sources.objects(path)


def test_runner_a_failing_row_shows_wanted_got_and_message() -> None:
    text = in_format(report(run("selection"), Options()), "text")
    assert "wanted pass, got fail\n       validation error: a pod says whose it is." in text
    text = in_format(report(run("mutation-differs"), Options()), "text")
    assert "wanted pass, got pass: Resource diff" in text
    assert "-    owner: somebody" in text
    assert text.endswith("1 test, 5 results: 2 passed, 3 failed, 0 skipped\n")


def test_detailed_text_shows_what_passed() -> None:
    plain = in_format(report(run("targets"), Options()), "text")
    assert plain == "1 test, 4 results: 4 passed, 0 failed, 0 skipped\n"
    detailed = in_format(
        report(run("targets"), Options(detailed=True)), "text", Screen(colour=True)
    )
    assert "touch-secret/touch v1/Secret/shop/touched" in detailed


def test_junit_counts() -> None:
    root = ElementTree.fromstring(
        in_format(report(run("mutation-differs", "refused-policy"), Options()), "junit")
    )
    counts = {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "6", "failures": "3", "errors": "0", "skipped": "1"}
    failures = root.findall(".//failure")
    assert {one.get("message") for one in failures} == {"Resource diff", "Resource error"}


def test_markdown_holds_any_message() -> None:
    text = in_format(report(run("mutation-differs"), Options()), "markdown")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + 3
    assert all(line.count(" | ") == rows[0].count(" | ") for line in rows)


def test_errors_stand_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "kyverno-test.yaml").write_text("a: [", "utf-8")
    results = list(run_tests([tmp_path]))
    for name in (*OWN, "junit"):
        assert "kyverno-test.yaml" in in_format(report(results, Options()), name), name
    (case,) = json.loads(in_format(report(results, Options()), "json"))["cases"]
    assert case["rows"] == []
    assert case["exit_code"] == 1


def test_coverage_tells_what_is_open() -> None:
    coverage = coverage_of(run("operations", "no-resources"))
    found = {rule.rule: (rule.reached, rule.matched, rule.failed) for rule in coverage.rules}
    assert found["no-delete"] == (True, True, True)
    assert found["check-team"] == (True, True, True)
    assert found["check-tier"] == (False, True, True)
    assert [rule.rule for rule in coverage.unreached] == ["check-tier"]
    assert coverage.never_failed == []


def test_coverage_of_rules_that_mutate_or_never_match() -> None:
    coverage = coverage_of(run("refused-policy", "mutation", "namespaced", "values"))
    by_rule = {rule.rule: rule for rule in coverage.rules}
    assert not by_rule["label"].judging
    assert by_rule["limit"] in coverage.never_failed
    assert by_rule["check-owner"].failed
    text = in_format(report(run("values"), Options(coverage=coverage_of(run("values")))), "text")
    assert "never failed: 2\n    asks-around/labelled-namespace" in text
    whole = json.loads(in_format(report(run("values"), Options(coverage=coverage)), "json"))
    assert len(whole["coverage"]) == len(coverage.rules)


def test_verdicts_are_kyvernos_words() -> None:
    assert [str(verdict) for verdict in Verdict] == ["Pass", "Fail", "Skip"]


READER_HEAD = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "kyverno-test.yaml"
    path.write_text(READER_HEAD + text, "utf-8")
    return path


def test_what_a_file_names(tmp_path: Path) -> None:
    text = beside(__file__)["text"]
    (test,) = read_test_file(written(tmp_path, text))
    assert test.policies == ("a.yaml", "b")
    assert (test.resources, test.targets, test.user_info) == (("r.yaml",), ("t.yaml",), "u.yaml")
    first, second = test.expectations
    assert (first.policy, first.policy_name, first.resources) == ("ns/p", "p", ("x", "ns/y"))
    assert (second.resources, second.generated) == (None, ("g.yaml",))
    assert second.location.line == 10


def test_a_document_is_a_test(tmp_path: Path) -> None:
    path = written(tmp_path, f"policies: [a]\n---\n{READER_HEAD}policies: [b]\n")
    assert [test.policies for test in read_test_file(path)] == [("a",), ("b",)]


@from_table("text", "place", "message")
def test_what_is_wrong_has_a_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_test_file(written(tmp_path, text))
    assert f"kyverno-test.yaml{place}: {message}" in str(caught.value)


def test_a_file_without_a_kind(tmp_path: Path) -> None:
    path = tmp_path / "kyverno-test.yaml"
    path.write_text("name: old\npolicies: [a]\n", "utf-8")
    with pytest.raises(InputError, match="has no apiVersion"):
        read_test_file(path)


def test_finds_files_in_hidden_folders_too(tmp_path: Path) -> None:
    for name in (".kyverno-test", "b"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, "")
    (tmp_path / "b" / "other.yaml").write_text("a: 1\n", "utf-8")
    found = [path.relative_to(tmp_path).as_posix() for path in find_tests(tmp_path)]
    assert found == [".kyverno-test/kyverno-test.yaml", "b/kyverno-test.yaml"]
    assert list(find_tests(tmp_path, "other.yaml")) == [tmp_path / "b" / "other.yaml"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tests")
    write_test(folder / "one", "- {policy: require-owner, action: Enforce}", name="first")
    write_test(folder / "two", name="second")
    return folder


@from_table("patterns", "rows")
def test_selected(folder: Path, patterns: list[str], rows: list[str]) -> None:
    cases = list(run_tests([folder], selection=Selection(tuple(patterns))))
    assert [f"{case.case} {row.policy}" for case in cases for row in case.rows] == rows
    assert not any(case.diagnostics for case in cases)


@from_table("pattern", "hint")
def test_a_pattern_that_selects_nothing(folder: Path, pattern: str, hint: str) -> None:
    with pytest.raises(InputError, match="selects no result") as error:
        list(run_tests([folder], selection=Selection(("add-label", pattern))))
    assert hint in str(error.value)


def test_a_test_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    write_test(tmp_path / "good")
    write_test(tmp_path / "wrong", rows="resultz: []\n")
    good, wrong = run_tests([tmp_path], selection=Selection(("add-label",)))
    assert (len(good.rows), wrong.rows) == (1, ())
    assert "resultz" in wrong.error


GOOD_CALLS = """\
- {url: "https://a.example.org/x", response: {body: {}}}
- {url: "https://a.example.org/x", method: POST, response: {body: {}, statusCode: 404}}
- {urlPath: /api/v1/pods, method: get, response: {body: {items: []}}}
"""
GOOD_ENTRIES = """\
- {name: a, data: {x: 1}, fieldPath: x}
- {name: b, resources: [{kind: Pod}], projections: [{name: count, path: "length(@)"}]}
- {name: c, resourceFiles: [sub/../c.yaml]}
"""


def test_good_ones_stay_as_they_are() -> None:
    (calls,) = read_text(GOOD_CALLS)
    assert list(read_api_calls(calls, calls.body)) == calls.body
    (entries,) = read_text(GOOD_ENTRIES)
    assert list(read_global_entries(entries, entries.body)) == entries.body


@from_table("text", "message")
def test_calls_that_are_wrong(text: str, message: str) -> None:
    (document,) = read_text(f"apiCallResponses: {text}\n", "t.yaml")
    with pytest.raises(InputError, match=message) as caught:
        read_api_calls(document, document.body["apiCallResponses"])
    assert str(caught.value).startswith("t.yaml:1:")


@from_table("text", "message")
def test_entries_that_are_wrong(text: str, message: str) -> None:
    (document,) = read_text(f"globalContextEntries: {text}\n", "t.yaml")
    with pytest.raises(InputError, match=message):
        read_global_entries(document, document.body["globalContextEntries"])


def pod(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **more}


@pytest.mark.parametrize(
    "other",
    [
        pod(),
        pod(spec={"a": None, "b": [], "c": {"d": {}}}),
        pod(metadata={"name": "p", "labels": {"generate.kyverno.io/rule-name": "r"}}),
        pod(metadata={"name": "p", "labels": {"app.kubernetes.io/managed-by": "kyverno"}}),
        pod(metadata="none"),
    ],
)
def test_what_is_no_difference(other: dict[str, Any]) -> None:
    mine = pod() if isinstance(other["metadata"], dict) else pod(metadata={})
    assert differs(mine, other) == ""


def test_labels_that_are_not_all_texts_are_none() -> None:
    odd = pod(metadata={"name": "p", "labels": {"a": "b", "c": True}})
    assert differs(odd, pod()) == ""
    empty = pod(metadata={"name": "p", "labels": {"a": None}})
    assert differs(empty, pod(metadata={"name": "p", "labels": {"a": ""}})) == ""
    assert differs(empty, pod()) != ""


def test_a_difference_is_shown() -> None:
    text = differs(pod(spec={"a": 1}), pod(spec={"a": 2}))
    assert "-  a: 2\n+  a: 1" in text
    assert text.startswith("--- wanted\n+++ got\n")


def test_expected_objects_are_found_by_name_and_kind() -> None:
    one, other = Resource(pod()), Resource(pod(kind="Service"))
    assert find_expected(Resource(pod(spec={})), [other, one]) is one
    assert find_expected(Resource(pod(apiVersion="v2")), [other, one]) is None


@from_table("left", "right", "equal")
def test_equal_as_json(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
    assert same(right, left) is equal


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

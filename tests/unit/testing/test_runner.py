import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from chartkit.engine.policies import NO_ATTACHMENTS
from chartkit.errors import InputError
from chartkit.report.text.layout import Screen
from chartkit.testing.model import CaseResult, Verdict
from chartkit.testing.report import Options, coverage_of, report
from chartkit.testing.runner import run_tests
from chartkit.testing.sources import Sources
from tests.command_reports import OWN, in_format
from tests.shared import ROOT

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


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("policies: [gone.yaml]\n", "gone.yaml: no such file or folder"),
        ("resources: [gone.yaml]\n", "gone.yaml: no such file"),
        ("exceptions: [gone.yaml]\n", "gone.yaml: no such file"),
        ("variables: gone.yaml\n", "gone.yaml: no such file"),
        ("userinfo: bad.yaml\n", "bad.yaml: uses a deprecated schema"),
        ("variables: list.yaml\n", "list.yaml:1: must be a mapping"),
        ("clusterResources: [spec.yaml]\n", "spec must hold a list of resources"),
        ("resources: [list.yaml]\n", "is not a Kubernetes object"),
        ("results: [", "kyverno-test.yaml"),
    ],
)
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

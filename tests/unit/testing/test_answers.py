"""Which answers there are, and of which objects: CEL policies, payloads, context files."""

from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.testing.model import CaseResult
from chartkit.testing.report import Options, coverage_of, report
from chartkit.testing.runner import run_tests
from tests.command_reports import in_format
from tests.data import beside
from tests.shared import ROOT

CASES = ROOT / "tests" / "cases"
HEAD = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n"
POLICY = beside(__file__)["policy"]
SECRETS = "{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [secrets]}"
PODS = SECRETS.replace("secrets", "pods")


def run(folder: Path, text: str, **files: str) -> CaseResult:
    """Runs a test of some files; a name's last underscore is the dot before its suffix."""
    for name, content in {**files, "kyverno-test_yaml": HEAD + text}.items():
        path = folder / ".".join(name.rsplit("_", 1))
        path.write_text(content, "utf-8")
    (case,) = run_tests([folder])
    return case


def reasons(folder: Path, policy: str) -> list[str]:
    """Why the one policy's result over a Pod is as it is."""
    text = "policies: [p.yaml]\nresources: [r.yaml]\n"
    text += "results: [{policy: p, kind: Pod, result: pass}]\n"
    case = run(folder, text, p_yaml=policy, r_yaml=POD)
    assert case.diagnostics == ()
    return [row.reason for row in case.rows]


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (POLICY % ("ValidatingPolicy", PODS, ""), "Ok"),
        (POLICY % ("ValidatingPolicy", SECRETS, ""), "Not found"),
        (POLICY % ("ValidatingPolicy", f"{SECRETS}, {SECRETS}", ""), "Excluded"),
        (
            POLICY % ("ValidatingPolicy", PODS, ", objectSelector: {matchLabels: {a: b}}"),
            "Excluded",
        ),
        (POLICY % ("NamespacedValidatingPolicy", PODS, ""), "Excluded"),
    ],
)
def test_empty_answers(tmp_path: Path, policy: str, reason: str) -> None:
    assert reasons(tmp_path, policy) == [reason]


def test_a_payload_is_one_mapping(tmp_path: Path) -> None:
    text = "jsonPayload: data.json\nresults: [{policy: p, kind: '', result: pass}]\n"
    assert "data.json:1: must be a mapping" in run(tmp_path, text, data_json="[1]").error
    case = run(tmp_path, text.replace("json\n", "yaml\n", 1), data_yaml="a: 1\n---\nb: 2\n")
    assert "must hold one mapping" in case.error


def test_payloads_are_named_once_in_one_field(tmp_path: Path) -> None:
    names = "jsonPayload: gone.json\njsonPayloads: [./a.json, '', a.json]\n"
    text = f"{names}policies: [p.yaml]\nresults: [{{policy: p, kind: '', result: pass}}]\n"
    policy = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\n"
    policy += "spec: {evaluation: {mode: JSON}, validations: [{expression: 'object.a == 1'}]}\n"
    rows = run(tmp_path, text, p_yaml=policy, a_json='{"a": 1}').rows
    assert [(row.resource, row.reason) for row in rows] == [("/a.json", "Ok")]


def test_other_payloads_are_not_evaluated(tmp_path: Path) -> None:
    policy = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\n"
    policy += "spec: {evaluation: {mode: HTTP}, validations: [{expression: 'http.is(object)'}]}\n"
    text = "policies: [p.yaml]\nhttpPayloads: [./http/one.json]\n"
    text += "results: [{policy: p, kind: '', result: pass}]\n"
    (row,) = run(tmp_path, text, p_yaml=policy).rows
    assert (row.resource, row.verdict, row.reason) == ("http/one.json", "Fail", "Not evaluated")
    assert row.message == "policies of evaluation mode HTTP are not evaluated yet"


def test_a_context_file_is_one(tmp_path: Path) -> None:
    text = "context: c.yaml\nresults: []\n"
    assert "is not a Context" in run(tmp_path, text, c_yaml="apiVersion: v1\nkind: Pod\n").error
    assert "deprecated schema" in run(tmp_path, text, c_yaml="kind: Context\n").error


def test_coverage_counts_a_policy_without_rules_as_one() -> None:
    coverage = coverage_of(run_tests([CASES / "cel-validating", CASES / "cel-deleting"]))
    assert [(one.policy, one.rule) for one in coverage.rules] == [
        ("old-reports", ""),
        ("limit-replicas", ""),
        ("no-host-network", ""),
        ("keep-labelled", ""),
    ]
    assert all(one.reached and one.matched and one.failed for one in coverage.rules)
    (case,) = run_tests([CASES / "cel-context"])
    unseen = replace(case, seen=())
    text = in_format(report([unseen], Options(coverage=coverage_of([unseen]))), "text")
    assert "match nothing: 1\n    looks-around  " in text

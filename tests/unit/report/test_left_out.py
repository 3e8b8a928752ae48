"""Rows that Kyverno's reports leave out."""

from collections import Counter

import pytest

from chartkit.model import Resource, RuleResult, RuleType, Status
from chartkit.report.model import ReportOptions, ReportPer
from chartkit.report.policyreport import policy_report_writer

POD = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}})


def _result(status: Status, message: str, kind: str = "ValidatingPolicy") -> RuleResult:
    rule = "" if kind else "r"
    return RuleResult("only", rule, RuleType.VALIDATION, status, message, kind=kind)


def _text(per: ReportPer, *results: RuleResult) -> str:
    writer = policy_report_writer(ReportOptions(per=per))
    writer.add(POD, results)
    return "".join(writer.finish(Counter()))


@pytest.mark.parametrize("per", ReportPer)
def test_a_skip_by_match_conditions_is_no_row(per: ReportPer) -> None:
    skip = _result(Status.SKIP, "skip")
    assert _text(per, skip) == "# no results\n"
    text = _text(per, skip, _result(Status.PASS, "ok"))
    assert "result: skip" not in text
    assert "skip: 0" in text
    for other in (_result(Status.SKIP, "exempted by e"), _result(Status.SKIP, "skip", "")):
        assert "result: skip" in _text(per, skip, other)

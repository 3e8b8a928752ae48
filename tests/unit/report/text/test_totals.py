"""The end of a scan's text: failures last, then a row for each policy."""

from collections import Counter

from chartkit.model import Resource, RuleResult, RuleType, Status
from chartkit.report import PolicyFacts, ReportOptions
from chartkit.report.text import TextWriter

FACTS = {
    name: PolicyFacts(name, lambda _rule, _namespace: "Audit", severity)
    for name, severity in {"a": "high", "b": "low", "c": "", "d": "critical"}.items()
}


def pod(name: str) -> Resource:
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}})


def result(policy: str, status: Status) -> RuleResult:
    return RuleResult(policy, "r", RuleType.VALIDATION, status, "m")


def text(objects: dict[str, list[RuleResult]], **options: bool | int) -> str:
    writer = TextWriter(ReportOptions(FACTS, **options))  # type: ignore[arg-type]
    for name, results in objects.items():
        writer.add(pod(name), results)
    return "".join(writer.finish(Counter()))


def test_the_gravest_policy_stands_last() -> None:
    failing = {
        "x": [result("a", Status.FAIL), result("c", Status.FAIL), result("d", Status.WARN)],
        "y": [result("a", Status.FAIL), result("b", Status.ERROR), result("b", Status.PASS)],
    }
    lines = text(failing).splitlines()
    start = lines.index("POLICY  SEVERITY  FAILS  ERRORS  WARNINGS  OBJECTS")
    assert lines[start + 1 : -2] == [
        "d       critical      0       0         1        1",
        "c       -             1       0         0        1",
        "b       low           0       1         0        1",
        "a       high          2       0         0        2",
    ]


def test_policies_with_one_name_have_their_kind() -> None:
    cel = RuleResult("a", "r", RuleType.VALIDATION, Status.FAIL, "m", kind="ValidatingPolicy")
    facts = {**FACTS, cel.policy_id: FACTS["a"]}
    writer = TextWriter(ReportOptions(facts))
    writer.add(pod("x"), [cel, result("a", Status.FAIL), result("b", Status.FAIL)])
    rows = [line.split()[0] for line in "".join(writer.finish(Counter())).splitlines()[-6:] if line]
    assert {"a", "b", "ValidatingPolicy/a"} <= set(rows)


def test_a_single_finding_has_no_table() -> None:
    found = text({"x": [result("a", Status.FAIL)], "y": [result("a", Status.PASS)]})
    assert "POLICY" not in found


def test_quiet_and_passing_reports_have_none() -> None:
    two = {name: [result("a", Status.FAIL)] for name in ("x", "y")}
    assert "POLICY" in text(two)
    assert "POLICY" not in text(two, quiet=True)
    assert "POLICY" not in text({"x": [result("a", Status.PASS)] * 3}, detailed=True)


def test_objects_that_fail_come_after_those_that_do_not() -> None:
    found = text({"x": [result("a", Status.FAIL)], "y": [result("a", Status.WARN)]})
    assert found.index("Pod/y") < found.index("Pod/x")


def test_a_report_for_a_terminal_fits_it() -> None:
    message = RuleResult("a", "r", RuleType.VALIDATION, Status.FAIL, "word " * 60)
    found = text({"x": [message], "y": [message]}, width=80)
    assert max(map(len, found.splitlines())) <= 80
    assert max(map(len, text({"x": [message]}).splitlines())) > 80

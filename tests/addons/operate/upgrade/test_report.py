import json
from datetime import date, timedelta

from chartkit.addons.operate.upgrade import Plan, eks_support, parse_pair, report, shortest
from chartkit.kyverno.known_faults import changes
from chartkit.kyverno.matrix import known_clusters, matrix
from chartkit.kyverno.versions import Version
from tests.command_reports import in_format


def plan(start: str, target: str, today: date, eks: bool = True) -> Plan:
    first, last = parse_pair(start), parse_pair(target)
    return Plan(first, last, shortest(first, last), None, eks, today)


def test_every_kyverno_says_what_it_changes() -> None:
    assert list(changes()) == list(matrix())[1:]
    assert all(changes().values())


def test_eks_dates() -> None:
    rows = list(eks_support().values())
    assert [row.kubernetes for row in rows] == known_clusters()[-len(rows) :]
    assert rows[-1].kubernetes >= max(row.newest for row in matrix().values())
    for row in rows:
        # Fourteen months of standard support, a year of extended support.
        assert timedelta(days=400) < row.standard - row.released < timedelta(days=450)
        assert (row.standard.year + 1, row.standard.month) == (
            row.extended.year,
            row.extended.month,
        )


def test_dates_in_the_text() -> None:
    support = eks_support()[Version(1, 34)]
    before = plan("1.19/1.33", "1.19/1.34", support.standard - timedelta(days=1))
    after = plan("1.19/1.33", "1.19/1.34", support.standard)
    assert f"standard support ends {support.standard}" in in_format(report(before), "text")
    text = in_format(report(after), "text")
    assert f"standard support ended {support.standard}, extended ends {support.extended}" in text
    first = eks_support()[Version(1, 33)]
    assert f"standard support ended {first.standard}" in text
    (step,) = json.loads(in_format(report(after), "json"))["steps"]
    assert step["eks"] == {
        "standardSupport": support.standard.isoformat(),
        "extendedSupport": support.extended.isoformat(),
        "ended": "standard",
    }
    without = plan("1.19/1.33", "1.19/1.34", date.today(), eks=False)
    assert "EKS" not in in_format(report(without), "text")


def test_a_leap_says_what_all_its_versions_change() -> None:
    first, last = parse_pair("1.15/1.33"), parse_pair("1.19/1.33")
    found = Plan(first, last, shortest(first, last, skip_minors=True), None, False, date.today())
    (step,) = json.loads(in_format(report(found), "json"))["steps"]
    assert {each["version"] for each in step["changes"]} == {"1.16", "1.17", "1.18", "1.19"}
    assert "deprecated (with 1.17): ClusterPolicy" in in_format(report(found), "text")


def test_upgrade_report_formats() -> None:
    today = date.today()
    markdown = in_format(report(plan("1.18/1.33", "1.19/1.34", today)), "markdown")
    assert "1. [ ] **Kyverno 1.18 → 1.19 (on Kubernetes 1.33)**" in markdown
    nothing = plan("1.19/1.33", "1.19/1.33", today)
    assert in_format(report(nothing), "text").startswith("Nothing to do from Kyverno 1.19")
    assert json.loads(in_format(report(nothing), "json"))["steps"] == []
    none = plan("1.12/1.29", "1.12/1.31", today)
    body = json.loads(in_format(report(none), "json"))
    assert (body["possible"], body["stuck"]) == (False, [{"kyverno": "1.12", "kubernetes": "1.29"}])
    assert "is not a supported pair" in body["reasons"][0]

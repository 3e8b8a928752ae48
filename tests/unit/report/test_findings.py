"""chartkit.report.model: every format has the field of a failure, its place, and what is
accepted."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

from chartkit.documents.reader import read_text, resources
from chartkit.model import RuleResult, RuleType, Status
from chartkit.report import FORMATS, PolicyFacts, ReportOptions, ReportPer
from chartkit.report.model import Acceptance, Accepted, AcceptedAs, field_text
from tests.data import beside, from_table

POD = beside(__file__)["pod"]
IMAGE = "/spec/containers/0/image"
MISSING = "/spec/containers/0/securityContext/privileged"


def options(detailed: bool = False, per: ReportPer = ReportPer.NAMESPACE) -> ReportOptions:
    facts = PolicyFacts("p", lambda _rule, _namespace: "Enforce", "high", "Security")
    now = datetime(2026, 1, 2, tzinfo=UTC)
    return ReportOptions({"p": facts}, detailed, now=now, per=per)


def failure(*fields: str, rule: str = "r", message: str = "") -> RuleResult:
    text = message or f"no {rule}"
    return RuleResult("p", rule, RuleType.VALIDATION, Status.FAIL, text, fields=fields)


def report(
    name: str,
    *results: RuleResult,
    accepted: Accepted | None = None,
    given: ReportOptions | None = None,
) -> str:
    (pod,) = resources(read_text(POD, "pods.yaml"))
    writer = FORMATS[name](given or options())
    writer.add(pod, results, accepted or {})
    return "".join(writer.finish(Counter(result.status for result in results)))


@from_table("pointer", "text")
def test_fields_are_written_as_people_write_them(pointer: str, text: str) -> None:
    (pod,) = resources(read_text(POD))
    assert field_text(pointer, pod.body) == text


def test_text_has_a_line_for_each_place() -> None:
    assert report("text", failure(IMAGE, MISSING)) == (
        "Pod/web  pods.yaml:1\n"
        "  fail  p/r (Enforce, high)\n"
        "        no r\n"
        "        pods.yaml:11:5  spec.containers[0].image\n"
        "        pods.yaml:10:5  spec.containers[0].securityContext.privileged\n"
        "\n"
        "pass: 0, fail: 1, warn: 0, error: 0, skip: 0\n"
    )


def test_text_shows_the_first_places_and_how_many_are_left() -> None:
    text = report("text", failure(*[f"/spec/containers/0/f{at}" for at in range(9)]))
    assert text.count("pods.yaml:10:5  ") == 3
    assert "        and 6 more fields\n" in text
    text = report("text", failure(*[f"/spec/containers/0/f{at}" for at in range(4)]))
    assert "        and 1 more field\n" in text
    four = failure(IMAGE, MISSING, "/spec/a", "/spec/b")
    text = report("text", four, given=options(detailed=True))
    assert text.count("pods.yaml:") == 5
    assert "more field" not in text


def test_text_leaves_out_fields_that_were_only_read() -> None:
    text = report("text", failure(IMAGE, "/spec/os/name", message="Set image: failed at /spec/os/"))
    assert "spec.containers[0].image" in text
    assert "spec.os.name" not in text


def test_json_has_the_most_telling_field_and_all_of_them() -> None:
    one, several = json.loads(report("json", failure(IMAGE), failure(MISSING, IMAGE)))["results"]
    assert (one["field"], one["location"]) == ("spec.containers[0].image", "pods.yaml:11:5")
    assert "fields" not in one
    assert several["location"] == "pods.yaml:10:5"
    assert several["fields"] == [
        {"field": "spec.containers[0].securityContext.privileged", "location": "pods.yaml:10:5"},
        {"field": "spec.containers[0].image", "location": "pods.yaml:11:5"},
    ]


@pytest.mark.parametrize("name", ["policyreport", "openreports"])
@pytest.mark.parametrize("per", list(ReportPer))
def test_policy_reports_have_the_field_in_their_properties(name: str, per: ReportPer) -> None:
    own = replace(failure(IMAGE, rule="z"), properties={"process": "scan"})
    text = report(name, own, failure(rule="a"), given=options(per=per))
    rows = {row["rule"]: row for row in read_text(text)[0].body["results"]}
    assert rows["z"]["properties"] == {
        "field": "spec.containers[0].image",
        "location": "pods.yaml:11:5",
        "process": "scan",
    }
    assert "properties" not in rows["a"]


def test_junit_has_the_file_and_the_field() -> None:
    root = ElementTree.fromstring(report("junit", failure(IMAGE)))
    (case,) = root.iter("testcase")
    assert case.get("file") == "pods.yaml"
    assert case[0].text == "no r\npods.yaml:11:5  spec.containers[0].image"


def test_markdown_has_the_place_below_the_message() -> None:
    text = report("markdown", failure(IMAGE))
    assert text.endswith(
        "| fail | Pod/web | p/r | no r<br>pods.yaml:11:5  spec.containers\\[0\\].image |\n"
    )


KNOWN = Acceptance(AcceptedAs.KNOWN, "since 2024", "2027-01-31")
SUPPRESSED = Acceptance(AcceptedAs.SUPPRESSED, "the agent needs it")
ACCEPTED = {0: KNOWN, 1: SUPPRESSED}
RESULTS = [failure(IMAGE, rule=rule) for rule in "zyx"]


def accepted_report(name: str, given: ReportOptions | None = None) -> str:
    return report(name, *RESULTS, accepted=ACCEPTED, given=given)


def test_text_counts_what_is_known_and_lists_what_is_suppressed() -> None:
    text = accepted_report("text")
    assert "p/z" not in text
    assert "  p/y suppressed: the agent needs it\n  fail  p/x (Enforce, high)\n" in text
    assert text.endswith("skip: 0; known: 1, suppressed: 1\n")
    detailed = accepted_report("text", options(detailed=True))
    assert "        known: since 2024, until 2027-01-31\n" in detailed


def test_json_has_the_state_of_accepted_results() -> None:
    rows = json.loads(accepted_report("json"))["results"]
    assert [row.get("accepted") for row in rows] == [
        {"state": "known", "reason": "since 2024", "until": "2027-01-31"},
        {"state": "suppressed", "reason": "the agent needs it"},
        None,
    ]


def test_junit_skips_what_is_accepted() -> None:
    root = ElementTree.fromstring(accepted_report("junit"))
    assert (root.get("failures"), root.get("skipped")) == ("1", "2")
    assert [case[0].get("message") for case in root.iter("testcase")] == [
        "known: since 2024, until 2027-01-31",
        "suppressed: the agent needs it",
        "fail (Enforce)",
    ]


@pytest.mark.parametrize("per", list(ReportPer))
def test_policy_reports_say_what_is_accepted(per: ReportPer) -> None:
    rows = read_text(accepted_report("policyreport", options(per=per)))[0].body["results"]
    found = {row["rule"]: row["properties"].get("accepted") for row in rows}
    assert found == {"z": str(KNOWN), "y": str(SUPPRESSED), "x": None}


def test_markdown_has_the_state_in_place_of_the_result() -> None:
    rows = [line.split(" | ") for line in accepted_report("markdown").splitlines()[5:]]
    assert [row[0] for row in rows[1:]] == ["| known", "| suppressed", "| fail"]

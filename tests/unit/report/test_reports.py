"""chartkit.report: each format says what the engine said, and files appear whole or not at all."""

import io
import json
import os
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Resource, RuleResult, RuleType, Severity, Status
from chartkit.report import FORMATS, PolicyFacts, ReportOptions, ReportPer
from chartkit.report.command_report import markdown_table
from chartkit.report.files import write_whole
from chartkit.report.outputs import Output, Outputs, parse_all
from tests.data import from_table
from tests.objects import api_object

POD = Resource(
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}},
    Location("pods.yaml", 3),
)
NODE = Resource({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})


def result(status: Status, message: str = "no", rule: str = "r") -> RuleResult:
    return RuleResult("p", rule, RuleType.VALIDATION, status, message)


def options(detailed: bool = False, colour: bool = False) -> ReportOptions:
    facts = PolicyFacts("p", lambda _rule, _namespace: "Enforce", "high", "Security")
    return ReportOptions({"p": facts}, detailed, colour, datetime(2026, 1, 2, tzinfo=UTC))


def report(name: str, given: ReportOptions) -> str:
    writer = FORMATS[name](given)
    rows = [result(Status.FAIL, "first\nsecond"), result(Status.PASS, "fine", "q")]
    writer.add(POD, rows)
    writer.add(NODE, [result(Status.SKIP, "not now")])
    return "".join(writer.finish(Counter({Status.FAIL: 1, Status.PASS: 1, Status.SKIP: 1})))


def test_text_shows_what_is_wrong_with_its_place() -> None:
    assert report("text", options()) == (
        "Pod/shop/web  pods.yaml:3\n"
        "  fail  p/r (Enforce, high)\n"
        "        first\n"
        "        second\n"
        "\n"
        "pass: 1, fail: 1, warn: 0, error: 0, skip: 1\n"
    )


def test_detailed_text_shows_everything() -> None:
    text = report("text", options(detailed=True))
    assert "  pass  p/q (Enforce, high)\n        fine\n" in text
    assert "Node/n1  <memory>\n  skip  p/r" in text


def test_colour_is_asked_for() -> None:
    assert "\x1b[31m" in report("text", options(colour=True))
    assert "\x1b" not in report("text", options())


def test_json_has_every_result() -> None:
    told = json.loads(report("json", options()))
    assert told["summary"] == {"pass": 1, "fail": 1, "warn": 0, "error": 0, "skip": 1}
    assert [row["resource"] for row in told["results"]] == [
        "v1/Pod/shop/web",
        "v1/Pod/shop/web",
        "v1/Node//n1",
    ]
    assert told["results"][0] == {
        "policy": "p",
        "rule": "r",
        "resource": "v1/Pod/shop/web",
        "result": "fail",
        "message": "first\nsecond",
        "action": "Enforce",
        "severity": "high",
        "category": "Security",
        "location": "pods.yaml:3",
    }


def test_policy_reports_are_one_a_namespace_and_one_for_the_cluster() -> None:
    cluster, shop = [document.body for document in read_text(report("policyreport", options()))]
    assert (cluster["kind"], cluster["metadata"]) == ("ClusterPolicyReport", {"name": "chartkit"})
    assert shop["kind"] == "PolicyReport"
    assert shop["metadata"] == {"name": "chartkit", "namespace": "shop"}
    assert shop["summary"] == {"pass": 1, "fail": 1, "warn": 0, "error": 0, "skip": 0}
    assert shop["results"][0]["resources"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "shop"}
    ]
    assert shop["results"][0]["timestamp"] == {"seconds": 1767312000, "nanos": 0}
    assert shop["results"][0]["severity"] == "high"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_nothing_to_say_is_still_a_report(name: str) -> None:
    text = "".join(FORMATS[name](options()).finish(Counter()))
    assert text.endswith("\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("yml", "unknown report format 'yml'"), ("json=", "'json=' names no file")],
)
def test_wrong_outputs_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Output.parse(text)


@from_table("texts", "problem")
def test_one_place_takes_one_report(texts: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_all(texts)


def test_a_file_has_no_colours(tmp_path: Path) -> None:
    stdout, file = io.StringIO(), tmp_path / "r.txt"
    outputs = Outputs(parse_all(["text", f"text={file}"]), replace(options(), colour=True), stdout)
    outputs.add(POD, [result(Status.FAIL)])
    outputs.finish(Counter({Status.FAIL: 1}))
    assert "\x1b" in stdout.getvalue()
    assert "\x1b" not in file.read_text("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="links, modes and devices of Unix")
def test_links_modes_and_devices_stay(tmp_path: Path) -> None:
    kept, link, pipe = tmp_path / "kept", tmp_path / "link", tmp_path / "pipe"
    kept.write_text("old")
    kept.chmod(0o600)
    link.symlink_to("kept")
    write_whole(link, "new\r\n")
    assert link.is_symlink()
    assert kept.read_bytes() == b"new\r\n"
    assert kept.stat().st_mode & 0o777 == 0o600
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "link", "pipe"]


def test_several_outputs_get_the_same_results(tmp_path: Path) -> None:
    stdout = io.StringIO()
    file = tmp_path / "new" / "r.json"
    outputs = Outputs([Output.parse("text"), Output.parse(f"json={file}")], options(), stdout)
    outputs.add(POD, [result(Status.FAIL)])
    outputs.finish(Counter({Status.FAIL: 1}))
    assert "fail: 1" in stdout.getvalue()
    assert json.loads(file.read_text())["summary"]["fail"] == 1
    assert [path.name for path in file.parent.iterdir()] == ["r.json"]


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path / "file" / "report", "text")
    assert (tmp_path / "file").read_text() == "kept"


def test_openreports_are_the_same_results_under_another_api() -> None:
    old = [document.body for document in read_text(report("policyreport", options()))]
    new = [document.body for document in read_text(report("openreports", options()))]
    assert [(one["apiVersion"], one["kind"]) for one in new] == [
        ("openreports.io/v1alpha1", "ClusterReport"),
        ("openreports.io/v1alpha1", "Report"),
    ]
    assert [one["source"] for one in new] == ["kyverno", "kyverno"]
    assert [one["results"] for one in new] == [one["results"] for one in old]


def per_object(*given: tuple[Resource, list[RuleResult]], name: str = "policyreport") -> list[Any]:
    writer = FORMATS[name](replace(options(), per=ReportPer.OBJECT))
    for resource, results in given:
        writer.add(resource, results)
    return [document.body for document in read_text("".join(writer.finish(Counter())))]


def stored(resource: Resource, uid: str) -> Resource:
    return Resource({**resource.body, "metadata": {**resource.body["metadata"], "uid": uid}})


def test_a_report_an_object_is_as_kyverno_writes_it() -> None:
    rows = [result(Status.PASS, "fine", "z"), result(Status.FAIL, "no", "a")]
    (found,) = per_object((stored(POD, "1-2"), rows), (NODE, []))
    results = found.pop("results")
    assert found == api_object(
        "wgpolicyk8s.io/v1alpha2",
        "PolicyReport",
        {
            "name": "1-2",
            "namespace": "shop",
            "labels": {"app.kubernetes.io/managed-by": "kyverno"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "1-2"}],
        },
        scope={"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "shop", "uid": "1-2"},
        summary={"pass": 1, "fail": 1, "warn": 0, "error": 0, "skip": 0},
    )
    assert [row["rule"] for row in results] == ["a", "z"]
    assert not any("resources" in row for row in results)


def test_a_report_of_the_cluster_has_no_namespace() -> None:
    (found,) = per_object((stored(NODE, "3"), [result(Status.FAIL)]), name="openreports")
    assert (found["kind"], found["metadata"]["name"], found["source"]) == (
        "ClusterReport",
        "3",
        "kyverno",
    )
    assert found["scope"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "3"}
    assert "namespace" not in found["metadata"]


def test_an_object_of_a_file_has_a_name_of_its_own_and_no_owner() -> None:
    failed = [result(Status.FAIL)]
    nameless = [
        Resource({"apiVersion": "v1", "kind": "Pod"}, Location("a.yaml", line)) for line in (1, 9)
    ]
    found = per_object(*((one, failed) for one in (POD, NODE, *nameless)))
    assert len({one["metadata"]["name"] for one in found}) == 4
    assert found == per_object(*((one, failed) for one in (POD, NODE, *nameless)))
    assert not any("ownerReferences" in one["metadata"] or "uid" in one["scope"] for one in found)


@pytest.mark.parametrize("name", ["policyreport", "openreports"])
@pytest.mark.parametrize("per", list(ReportPer))
def test_text_of_any_kind_is_read_back(name: str, per: ReportPer) -> None:
    texts = [
        "yes",
        "a: b",
        "'",
        " x ",
        "two\n\nlines\n\n",
        "\n",
        "tab\t",
        "# no",
        "",
        "1e3",
        "é \u2028",
    ]
    rows = [
        RuleResult(text, text, RuleType.VALIDATION, Status.FAIL, text, properties={text: text})
        for text in texts
    ]
    writer = FORMATS[name](replace(options(), per=per))
    writer.add(POD, rows)
    (found,) = [one.body for one in read_text("".join(writer.finish(Counter())))]
    assert sorted(row["message"] for row in found["results"]) == sorted(texts)
    for row in found["results"]:
        text = row["message"]
        assert (row["policy"], row.get("rule", ""), row["properties"]) == (text, text, {text: text})


def test_junit_has_a_suite_an_object() -> None:
    root = ElementTree.fromstring(report("junit", options()))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("3", "1", "1")
    assert [suite.get("name") for suite in root] == ["Pod/shop/web", "Node/n1"]
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "fail (Enforce)"
    assert failure.text == "first\nsecond\npods.yaml:3"


def test_junit_holds_what_xml_cannot() -> None:
    writer = FORMATS["junit"](options())
    writer.add(POD, [result(Status.FAIL, "bell \x07 <&> \ud800 ]]>")])
    root = ElementTree.fromstring("".join(writer.finish(Counter())))
    assert root.find(".//failure").text.startswith("bell \ufffd <&> \ufffd ]]>")  # type: ignore[union-attr]


def test_markdown_shows_totals_and_failures() -> None:
    assert report("markdown", options()) == (
        "| pass | fail | warn | error | skip |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| 1 | 1 | 0 | 0 | 1 |\n"
        "\n"
        "| Result | Resource | Rule | Message |\n"
        "| --- | --- | --- | --- |\n"
        "| fail | Pod/shop/web | p/r | first<br>second |\n"
    )


def test_markdown_cells_cannot_break_the_table() -> None:
    assert markdown_table(["a"], [["x | y\n<b> `c` *d*"]]).splitlines()[2] == (
        "| x \\| y<br>&lt;b> \\`c\\` \\*d\\* |"
    )


def test_reports_what_would_be_generated_is_listed() -> None:
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}}
    given = replace(result(Status.PASS, ""), type=RuleType.GENERATION, generated=(made,))
    writer = FORMATS["text"](options())
    writer.add(NODE, [given])
    text = "".join(writer.finish(Counter()))
    assert text.startswith("would be generated:\n  Secret/shop/s by p/r for Node/n1\n")
    writer = FORMATS["json"](options())
    writer.add(NODE, [given])
    assert json.loads("".join(writer.finish(Counter())))["results"][0]["generated"] == [made]


def test_an_error_is_one_line_of_text_and_whole_elsewhere() -> None:
    whole = "compilation failed: ERROR: no\n | a.\n | ..^"
    found = {}
    for name in ("text", "json"):
        writer = FORMATS[name](options())
        writer.add(POD, [result(Status.ERROR, whole)])
        found[name] = "".join(writer.finish(Counter()))
    assert "        compilation failed: ERROR: no\n\n" in found["text"]
    assert json.dumps(whole) in found["json"]


UNREAD = Diagnostic(
    "unread", Severity.ERROR, "is not YAML:\nno end", Location("in/open.yaml", 4, 1), "fix it"
)


def _with_unread(name: str, given: ReportOptions | None = None, count: int = 1) -> str:
    stdout = io.StringIO()
    outputs = Outputs([Output(name)], given or options(), stdout)
    outputs.add(POD, [result(Status.FAIL)])
    outputs.finish(Counter({Status.FAIL: 1}), unread=[UNREAD] * count)
    return stdout.getvalue()


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"text"}))
def test_every_format_has_the_inputs_that_could_not_be_read(name: str) -> None:
    text = _with_unread(name)
    assert "in/open.yaml" in text
    assert name not in ("policyreport", "openreports") or read_text(text)


def test_sarif_notifies_of_inputs_that_could_not_be_read() -> None:
    log = json.loads(_with_unread("sarif"))
    schema = json.loads((Path(__file__).parent / "data/sarif-schema-2.1.0.json").read_text("utf-8"))
    jsonschema.Draft4Validator(schema).validate(log)
    (run,) = log["runs"]
    assert len(run["results"]) == 1
    (invocation,) = run["invocations"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert not invocation["executionSuccessful"]
    assert notification["locations"][0]["physicalLocation"]["region"]["startLine"] == 4


def test_many_unread_inputs_leave_a_comment_its_size() -> None:
    text = _with_unread("markdown", replace(options(), comment_limit=65_536), 3000)
    assert len(text) <= 65_536
    assert "left out" in text


@pytest.mark.parametrize(("least", "failures"), [("medium", "1"), ("critical", "0"), ("none", "0")])
def test_junit_fails_what_fails_the_run(least: str, failures: str) -> None:
    given = replace(options(), fail_on=least)
    writer = FORMATS["junit"](given)
    writer.add(POD, [result(Status.FAIL)])
    root = ElementTree.fromstring("".join(writer.finish(Counter())))
    assert (root.get("failures"), root.get("skipped")) == (failures, str(1 - int(failures)))

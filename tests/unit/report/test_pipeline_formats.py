"""Formats for pipelines: they follow their published schemas, and name each finding's place."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
import yaml

from chartkit.documents.reader import read_text
from chartkit.report import ReportPer
from tests.unit.report.samples import TWO_PODS, options, samples, written

DATA = Path(__file__).parent / "data"


def report(name: str, text: str = TWO_PODS, detailed: bool = False) -> str:
    return written(name, options(detailed), samples(text))


def schema(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))


def sarif(text: str = TWO_PODS) -> Any:
    (run,) = json.loads(report("sarif", text))["runs"]
    return run


@pytest.mark.parametrize("text", [TWO_PODS, ""])
def test_sarif_follows_its_schema(text: str) -> None:
    log = json.loads(report("sarif", text))
    jsonschema.Draft4Validator(schema("sarif-schema-2.1.0.json")).validate(log)
    assert log["version"] == "2.1.0"


def test_sarif_names_each_rule_with_help_and_link() -> None:
    rules = sarif()["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["p/r", "p/q", "p/known", "p/suppressed", "p/e"]
    first = rules[0]
    assert first["shortDescription"]["text"] == "Images have a digest"
    assert first["help"]["text"] == "A tag may move.\n\nWrite the digest."
    assert first["helpUri"] == "https://policies.example/p"
    assert all(rule["helpUri"].startswith("https://") for rule in rules)
    assert first["properties"] == {
        "tags": ["security", "Pod Security", "CIS 5.2.3"],
        "security-severity": "8.0",
    }


def test_sarif_has_the_place_of_the_field() -> None:
    run = sarif()
    first = run["results"][0]
    assert first["message"]["text"] == "Pod/shop/web: no digest\nat all"
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "p/r"
    (place,) = first["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "deploy/pods.yaml"},
        "region": {"startLine": 9, "startColumn": 5},
    }
    (related,) = first["relatedLocations"]
    assert related["message"]["text"] == "spec.containers[0].securityContext.privileged"
    assert related["physicalLocation"]["region"]["startLine"] == 8


def test_sarif_has_levels_and_suppressions() -> None:
    results = {each["ruleId"]: each for each in sarif()["results"][:-2]}
    assert [each["level"] for each in sarif()["results"]] == ["error"] * 4 + ["warning", "error"]
    assert results["p/known"]["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "known: since 2024, until 2027-01-31",
        }
    ]
    assert results["p/suppressed"]["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "the agent needs it"}
    ]
    assert "suppressions" not in results["p/r"]


def fingerprints(text: str) -> set[str]:
    found = [each["partialFingerprints"] for each in sarif(text)["results"]]
    assert all(len(set(each.values())) == 1 for each in found)
    return {each["primaryLocationLineHash"] for each in found}


def test_fingerprints_survive_moved_lines_and_reordered_documents() -> None:
    first, second = TWO_PODS.split("---\n")
    before = fingerprints(TWO_PODS)
    assert len(before) == 6
    assert fingerprints(f"# a comment\n\n{TWO_PODS}") == before
    assert fingerprints(f"{second}---\n{first}") == before
    assert fingerprints(TWO_PODS.replace("namespace: shop", "namespace: store")) != before


def test_code_quality_follows_its_schema() -> None:
    issues = json.loads(report("gitlab"))
    jsonschema.Draft202012Validator(schema("code-quality.schema.json")).validate(issues)
    assert issues[0]["location"] == {"path": "deploy/pods.yaml", "lines": {"begin": 9}}
    assert [each["severity"] for each in issues] == [
        "critical",
        "critical",
        "info",
        "info",
        "critical",
        "critical",
    ]
    assert len({each["fingerprint"] for each in issues}) == 6


def test_junit_follows_the_schema_of_jenkins() -> None:
    """`file` of a test case is GitLab's and CircleCI's, and the totals of skips are older."""
    text = report("junit").replace('" file="deploy/pods.yaml"', '"')
    text = text.replace(' skipped="3">', ">", 1)
    assert text != report("junit")
    xmlschema.XMLSchema(DATA / "junit-10.xsd").validate(text)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("policyreport", "wgpolicyk8s.io_policyreports.yaml"),
        ("openreports", "openreports.io_reports.yaml"),
    ],
)
@pytest.mark.parametrize("per", list(ReportPer))
def test_policy_reports_follow_their_definitions(name: str, file: str, per: ReportPer) -> None:
    from dataclasses import replace

    versions = yaml.safe_load((DATA / file).read_text("utf-8"))["spec"]["versions"]
    known = {each["name"]: each["schema"]["openAPIV3Schema"] for each in versions}
    reports = read_text(written(name, replace(options(), per=per), samples()))
    assert len(reports) == 2
    for each in reports:
        version = each.body["apiVersion"].partition("/")[2]
        closed = _closed(known[version])
        jsonschema.Draft202012Validator(closed).validate(each.body)


def _closed(schema: Any) -> Any:
    """Return a structural schema that refuses fields which an API server would drop."""
    if not isinstance(schema, dict):
        return schema
    fields = schema.get("properties")
    made = {key: _closed(value) for key, value in schema.items()}
    if isinstance(fields, dict):
        made["properties"] = {key: _closed(value) for key, value in fields.items()}
        if "metadata" not in fields:
            made["additionalProperties"] = False
    return made


def test_github_shows_findings_at_their_lines() -> None:
    lines = report("github").splitlines()
    assert lines[0] == (
        "::error file=deploy/pods.yaml,line=9,col=5,title=p/r::"
        "Pod/shop/web: no digest%0Aat all%0Aspec.containers[0].image"
    )
    assert [line.partition(" ")[0] for line in lines] == [
        "::error",
        "::error",
        "::notice",
        "::warning",
        "::error",
        "chartkit:",
    ]
    assert lines[-1] == "chartkit: pass: 1, fail: 4, warn: 1, error: 1, skip: 1; known: 1"


def test_azure_shows_findings_at_their_lines() -> None:
    lines = report("azure").splitlines()
    assert lines[0] == (
        "##vso[task.logissue type=error;sourcepath=deploy/pods.yaml;linenumber=9;columnnumber=5;"
        "code=p/r;]Pod/shop/web: no digest%0Aat all%0Aspec.containers[0].image"
    )
    assert lines[2].startswith("note deploy/pods.yaml:9:5: p/suppressed: Pod/shop/web: let off")
    assert [line[:28] for line in lines].count("##vso[task.logissue type=err") == 3


@pytest.mark.parametrize("detailed", [False, True])
def test_csv_has_a_row_for_each_finding(detailed: bool) -> None:
    rows = list(csv.DictReader(io.StringIO(report("csv", detailed=detailed))))
    assert len(rows) == (8 if detailed else 6)
    first = rows[0]
    assert first["message"] == "no digest\nat all"
    place = [first[key] for key in ("kind", "namespace", "name", "field", "file", "line", "column")]
    field = "spec.containers[0].image"
    assert place == ["Pod", "shop", "web", field, "deploy/pods.yaml", "9", "5"]
    assert rows[2]["accepted"] == "known: since 2024, until 2027-01-31"


def test_yaml_and_lines_have_what_json_has() -> None:
    in_json = json.loads(report("json"))
    assert in_json["schemaVersion"] == 1
    assert read_text(report("yaml"))[0].body == in_json
    *rows, last = map(json.loads, report("ndjson").splitlines())
    assert rows == in_json["results"]
    assert last == {"schemaVersion": 1, "summary": in_json["summary"]}


def test_lines_appear_as_soon_as_they_are_known() -> None:
    from dataclasses import replace

    from chartkit.report.formats import writer_of

    live = io.StringIO()
    writer = writer_of("ndjson")(replace(options(), live=live))
    pod, results, accepted = samples()[0]
    writer.add(pod, results, accepted)
    assert len(live.getvalue().splitlines()) == len(results)


def test_a_comment_is_cut_to_its_limit_and_says_so() -> None:
    from dataclasses import replace

    many = samples() * 2000
    text = written("markdown", replace(options(), comment_limit=65_536), many)
    assert 60_000 < len(text) <= 65_536
    rows = sum(
        line.startswith(("| fail", "| warn", "| error", "| known", "| supp"))
        for line in text.splitlines()[6:]
    )
    assert f"\n{12_000 - rows} more results left out: a comment has at most" in text
    assert "left out" not in written("markdown", options(), many)


def test_other_markdown_is_cut_to_the_limit() -> None:
    from chartkit.report.command_report import cut_comment

    short = "# a\n" * 10
    assert cut_comment(short) == short
    long = "# a\n\n```\n" + "x" * 60 + "\n" + "line of code\n" * 9_000 + "```\n"
    text = cut_comment(long)
    assert len(text) <= 65_536
    assert text.count("```") == 2
    assert "more lines left out" in text

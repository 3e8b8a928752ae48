"""`scan --why`: the checks behind each result, and the rule that came nearest."""

import json
from pathlib import Path
from typing import Any

import pytest

from chartkit.cli.main import main
from chartkit.documents.reader import read_text, resources
from chartkit.engine import compile_any
from chartkit.scan.run import ScanContext
from chartkit.scan.why.asking import nearest_miss
from tests.data import beside, from_table
from tests.errors import error_of

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
POD = _TEXTS["pod"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.yaml").write_text(POLICY)
    (tmp_path / "pod.yaml").write_text(POD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scan(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert error_of(SystemExit, main, ["scan", "pod.yaml", "-p", "p.yaml", *arguments]).code == 1
    return capsys.readouterr().out


def test_text_has_the_checks_below_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    text = scan(capsys, "--why")
    assert (
        """\
        why: none of 2 patterns holds
          p.yaml:11:20  pod.yaml:4:8
          - spec.hostNetwork is true; the pattern wants false
            pod.yaml:4:8
          - metadata.labels is missing; the pattern wants {"net": "host"}
            p.yaml:12:24  pod.yaml:3:1
"""
        in text
    )
    assert (
        """\
rules that say nothing of an object of their kinds:
  p/owner: namespace shop is not shp: Pod/shop/web  p.yaml:14:48
"""
        in text
    )


def test_results_are_those_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    (with_why,) = json.loads(scan(capsys, "--why", "-o", "json"))["results"]
    assert with_why.pop("why")[0] == "none of 2 patterns holds"
    assert [with_why] == json.loads(scan(capsys, "-o", "json"))["results"]


def test_html_has_them_behind_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert "<details><summary>Why</summary><pre>none of 2 patterns" in scan(
        capsys, "--why", "-o", "html"
    )
    assert "<summary>Why" not in scan(capsys, "-o", "html")


CHECK = "      validate: {message: m, pattern: {metadata: {name: a}}}\n"
OBJECTS = _TEXTS["objects"]


def policy(*matches: str) -> str:
    head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n"
    rules = [
        f"    - name: r{at}\n      match: {{any: [{{resources: {{{match}}}}}]}}\n{CHECK}"
        for at, match in enumerate(matches)
    ]
    return head + "".join(rules)


@from_table("matches", "said")
def test_the_rule_that_came_nearest(matches: list[str], said: str) -> None:
    (resource,) = resources(read_text(policy(*matches), "p.yaml"))
    compiled: Any = compile_any(resource)
    objects = resources(read_text(OBJECTS, "o.yaml"))
    assert nearest_miss([compiled], ScanContext(), objects) == said


def test_no_policy_and_no_object() -> None:
    assert nearest_miss([], ScanContext(), []) == ""

from __future__ import annotations

from typing import Any

import jmespath
import pytest

from chartkit.addons.mcp.worker import bounded, text_of, without_passes

SCAN: dict[str, Any] = {
    "schemaVersion": 1,
    "summary": {"fail": 400},
    "results": [{"policy": f"p{number}", "message": "x" * 50} for number in range(400)],
}


def test_what_has_room_stays_as_it_is() -> None:
    notes: list[str] = []
    assert bounded(SCAN, 100_000, "", notes, {}) is SCAN
    assert notes == []


def test_a_long_list_is_cut_and_the_note_asks_for_the_others() -> None:
    notes: list[str] = []
    cut = bounded(SCAN, 5_000, "", notes, {})
    assert len(text_of(cut)) <= 5_000
    assert list(cut) == list(SCAN)
    assert cut["summary"] == SCAN["summary"]
    kept = len(cut["results"])
    assert cut["results"] == SCAN["results"][:kept]
    assert notes == [f"left out: {400 - kept} of 400 (query `results[{kept}:]` gives them)"]
    others = jmespath.search(f"results[{kept}:]", SCAN)
    assert cut["results"] + others == SCAN["results"]


def test_the_others_are_asked_for_without_what_passes() -> None:
    results = [
        {"result": "pass" if number % 3 else "fail", "number": number} for number in range(900)
    ]
    document: dict[str, Any] = {"results": list(results)}
    notes: list[str] = []
    filters = without_passes("scan", document, notes)
    cut = bounded(document, 5_000, "", notes, filters)
    asked = notes[-1].partition("`")[2].partition("`")[0]
    others = jmespath.search(asked, {"results": results})
    assert cut["results"] + others == [each for each in results if each["result"] == "fail"]


def test_parts_of_what_a_query_chose_are_asked_for_by_it() -> None:
    notes: list[str] = []
    chosen = [result["message"] for result in SCAN["results"]]
    cut = bounded(chosen, 2_000, "(results[].message)", notes, {})
    asked = notes[0].partition("`")[2].partition("`")[0]
    assert cut + jmespath.search(asked, SCAN) == chosen


@pytest.mark.parametrize(
    "value",
    [
        {"a": {"b": [{"c": ["x" * 900] * 9}]}, "d": list(range(900))},
        [["y" * 9_000]],
        {"one key": "z" * 9_000, "n": None, "t": True},
        [[[[1] * 500] * 5] * 5],
        {"map": {f"key {number}": "v" * 90 for number in range(3_000)}, "empty": []},
        [{"a": [], "b": {}, "c": ["x" * 900] * 3}] * 3,
    ],
)
def test_anything_is_cut(value: Any) -> None:
    notes: list[str] = []
    cut = bounded(value, 1_000, "", notes, {})
    assert len(text_of(cut)) <= 1_050
    assert type(cut) is type(value)
    assert notes


def test_text_is_cut_between_lines() -> None:
    notes: list[str] = []
    assert bounded("one\ntwo\nthree\n", 9, "answer", notes, {}) == "one\ntwo\n…"
    assert bounded("one", 9, "answer", notes, {}) == "one"
    assert notes == ["answer: the first 8 of 14 characters"]


def test_passes_are_left_out_of_scans_and_counted() -> None:
    document: dict[str, Any] = {
        "results": [{"result": each} for each in ("pass", "fail", "skip", "warn", "error")]
    }
    document["results"][1]["fields"] = [{"field": "a"}]
    notes: list[str] = []
    without_passes("scan", document, notes)
    assert document["results"] == [{"result": each} for each in ("fail", "warn", "error")]
    assert notes == [
        "left out: 2 of 5 results, which pass or are skipped (`detailed` gives them)",
        "left out: further fields of results (`detailed` gives them)",
    ]


def test_rules_of_other_kinds_are_left_out_of_decisions() -> None:
    rules: list[dict[str, Any]] = [
        {"result": "pass", "decision": {}},
        {"result": "none", "decision": {"field": "/kind"}},
        {"result": "none", "decision": {"field": "/metadata/name"}},
        {"result": "skip", "decision": {"field": "/kind"}},
        {"result": "fail", "decision": {"field": "/kind"}},
    ]
    document = {"objects": [{"rules": rules}]}
    notes: list[str] = []
    without_passes("why", document, notes)
    assert document == {"objects": [{"rules": rules[2:]}]}
    assert notes == [
        "left out: 2 of 5 rules, which pass or are about other kinds (name a `policy`)"
    ]


def test_rows_as_expected_are_left_out_of_tests_and_other_documents_stay() -> None:
    document = {"cases": [{"rows": [{"result": "Pass"}, {"result": "Fail"}]}, {"rows": []}]}
    notes: list[str] = []
    without_passes("policies-lint", document, notes)
    assert notes == []
    without_passes("test", document, notes)
    assert document == {"cases": [{"rows": [{"result": "Fail"}]}, {"rows": []}]}
    assert notes == ["left out: 1 of 2 rows, which are as expected (`detailed` gives them)"]

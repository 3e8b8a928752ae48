from __future__ import annotations

from typing import Any

import jmespath
import pytest

from chartkit.addons.mcp.bounded import (
    bounded,
    bounded_text,
    text_of,
    without_passes,
    without_passing_rules,
)

SCAN: dict[str, Any] = {
    "schemaVersion": 1,
    "summary": {"fail": 400},
    "results": [{"policy": f"p{number}", "message": "x" * 50} for number in range(400)],
}


def test_what_has_room_stays_as_it_is() -> None:
    notes: list[str] = []
    assert bounded(SCAN, 100_000, "", notes) is SCAN
    assert notes == []


def test_a_long_list_is_cut_and_the_note_asks_for_the_others() -> None:
    notes: list[str] = []
    cut = bounded(SCAN, 5_000, "", notes)
    assert len(text_of(cut)) <= 5_000
    assert list(cut) == list(SCAN)
    assert cut["summary"] == SCAN["summary"]
    kept = len(cut["results"])
    assert cut["results"] == SCAN["results"][:kept]
    assert notes == [f"left out: {400 - kept} of 400 results (query `results[{kept}:]` gives them)"]
    others = jmespath.search(f"results[{kept}:]", SCAN)
    assert cut["results"] + others == SCAN["results"]


def test_parts_of_what_a_query_chose_are_asked_for_by_it() -> None:
    notes: list[str] = []
    chosen = [result["message"] for result in SCAN["results"]]
    cut = bounded(chosen, 2_000, "(results[].message)", notes)
    asked = notes[0].partition("`")[2].partition("`")[0]
    assert cut + jmespath.search(asked, SCAN) == chosen


@pytest.mark.parametrize(
    "value",
    [
        {"a": {"b": [{"c": ["x" * 900] * 9}]}, "d": list(range(900))},
        [["y" * 9_000]],
        {"one key": "z" * 9_000, "n": None, "t": True},
        [[[[1] * 500] * 5] * 5],
    ],
)
def test_anything_is_cut(value: Any) -> None:
    notes: list[str] = []
    cut = bounded(value, 1_000, "", notes)
    assert len(text_of(cut)) <= 1_050
    assert type(cut) is type(value)
    assert notes


def test_text_is_cut_between_lines() -> None:
    notes: list[str] = []
    assert bounded_text("one\ntwo\nthree\n", 9, notes) == "one\ntwo\n"
    assert bounded_text("one", 9, notes) == "one"
    assert notes == ["the first 8 of 14 characters: ask about fewer objects"]


def test_passes_are_left_out_and_counted() -> None:
    document: dict[str, Any] = {
        "results": [{"result": each} for each in ("pass", "fail", "skip", "warn", "error")]
    }
    document["results"][1]["fields"] = [{"field": "a"}]
    notes: list[str] = []
    without_passes(document, notes)
    assert document["results"] == [{"result": each} for each in ("fail", "warn", "error")]
    assert notes == [
        "left out: 2 passing or skipped results (`detailed` gives them)",
        "left out: further fields of results (`detailed` gives them)",
    ]


def test_rules_that_pass_or_are_about_other_kinds_are_left_out_and_counted() -> None:
    rules: list[dict[str, Any]] = [
        {"result": "pass", "decision": {}},
        {"result": "none", "decision": {"field": "/kind"}},
        {"result": "none", "decision": {"field": "/metadata/name"}},
        {"result": "fail", "decision": {"field": "/kind"}},
    ]
    document = {"objects": [{"rules": rules}]}
    notes: list[str] = []
    without_passing_rules(document, notes)
    assert document == {"objects": [{"rules": rules[2:]}]}
    assert notes == ["left out: 2 rules that pass or are about other kinds (name a `policy`)"]

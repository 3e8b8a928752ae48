"""JSON in lines is that of Python's own library, which takes several times as long."""

import json

import pytest

from chartkit.model import Json
from chartkit.report.json_report import json_text


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        True,
        0,
        1.5,
        float("inf"),
        'a\n"b"é',
        [[], {}, [1, [2, {"a": []}]], ("x", None)],
        {"a": {"b": [{"c": "d"}, {}]}, "": 0, "é\n": False},
        {2: 1, None: 2, True: 3, 1.5: [4], "##": "##"},
    ],
)
def test_json_in_lines(value: Json) -> None:
    expected = json.dumps(value, indent=2, ensure_ascii=False).replace("##", "#\\u0023")
    assert json_text(value) == expected


def test_deep_json_in_lines() -> None:
    deep: Json = []
    for _ in range(700):
        deep = [deep]
    assert json.loads(json_text(deep)) == deep

from typing import Any

import pytest

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.schemas import json_schema
from tests.data import tables

_TABLES = tables(__file__)

SCHEMA: dict[str, Any] = _TABLES["schema"]


def found(text: str) -> list[str]:
    document = read_text(text, "f.yaml")[0]
    return [
        str(each).replace("error CK001: ", "") for each in json_schema.violations(document, SCHEMA)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: a\n", []),
        ("port: 30000\n", ["f.yaml:1: the file has no 'name'"]),
        ("name: ''\n", ["f.yaml:1:1: 'name' is empty"]),
        ("name: A\n", ["f.yaml:1:1: 'name' is \"A\", which does not fit its form"]),
        ("name: 3\n", ["f.yaml:1:1: 'name' must be text, not 3 (quote it: \"3\")"]),
        ("name: a\nport: 80\n", ["f.yaml:2:1: 'port' must be from 30000 to 32767, not 80"]),
        ("name: a\nport: 40000\n", ["f.yaml:2:1: 'port' must be from 30000 to 32767, not 40000"]),
        ("name: a\nnames: []\n", ["f.yaml:2:1: 'names' is empty"]),
        ("name: a\nnames: [x, {}]\n", ["f.yaml:2:12: 'names.1' must be text, not a mapping"]),
        (
            "name: a\nmode: enforce\n",
            [
                "f.yaml:2:1: 'mode' must be Audit or Enforce, not \"enforce\" "
                "(did you mean 'Enforce'?)"
            ],
        ),
        ("name: a\neither: [x]\n", ["f.yaml:2:1: 'either' must be text or a mapping, not a list"]),
        (
            "name: a\neither: {pat: x}\n",
            [
                "f.yaml:2:10: unknown key 'pat' (did you mean 'path'?)",
            ],
        ),
        ("nam: a\n", ["f.yaml:1:1: unknown key 'nam' (did you mean 'name'?)"]),
        (
            "zzz: a\n",
            [
                "f.yaml:1: the file has no 'name'",
                "f.yaml:1:1: unknown key 'zzz' "
                "(known are name, port, mode, names, either, some, timing)",
            ],
        ),
        (
            "name: a\neither.path: x\n",
            [
                "f.yaml:2:1: unknown key 'either.path' "
                "(write 'path' below 'either', a line for each step)"
            ],
        ),
        (
            "name: a\ntiming: {wait: 300}\n",
            [
                "f.yaml:2:10: 'timing.wait' must be text, not 300 "
                "(it is a duration with a unit: 300s, or 300m)"
            ],
        ),
        ("name: a\nwait: 1s\n", ["f.yaml:2:1: unknown key 'wait' (did you mean 'timing.wait'?)"]),
        ("name: a\nsome: {}\n", ["f.yaml:2:1: 'some' is without effect (give one of a, b)"]),
        (
            "name: a\nsome: {c: 1}\n",
            ["f.yaml:2:8: unknown key 'c' (known are a, b)"],
        ),
        (
            "name: a\nzzz: 1\n",
            [
                "f.yaml:2:1: unknown key 'zzz' "
                "(known are name, port, mode, names, either, some, timing)",
            ],
        ),
    ],
)
def test_violations_in_words(text: str, expected: list[str]) -> None:
    assert sorted(found(text)) == sorted(expected)


def test_the_first_is_raised_and_the_others_are_counted() -> None:
    document = read_text("zzz: a\nport: 1\n", "f.yaml")[0]
    with pytest.raises(InputError) as caught:
        json_schema.require(document, SCHEMA)
    assert "and 2 more in this file" in (caught.value.hint or "")


def test_what_is_ignored_does_not_count() -> None:
    document = read_text("port: 30000\n", "f.yaml")[0]
    assert json_schema.violations(document, SCHEMA, ignore=frozenset({"required"})) == []

from typing import Any

import pytest

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.schemas import json_schema
from tests.data import from_table, tables

_TABLES = tables(__file__)

SCHEMA: dict[str, Any] = _TABLES["schema"]


def found(text: str) -> list[str]:
    document = read_text(text, "f.yaml")[0]
    return [
        str(each).replace("error CK001: ", "") for each in json_schema.violations(document, SCHEMA)
    ]


@from_table("text", "expected")
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

"""The page of what converts how has every difference between the generations."""

from pathlib import Path

from chartkit.addons.migrate.differences import GENERAL, meets

_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "migrate-policies.md"


def test_the_page_lists_the_known_differences() -> None:
    text = _PAGE.read_text("utf-8")
    listed = text.partition("| name | difference |\n|---|---|\n")[2].partition("\n\n")[0]
    assert listed.splitlines() == [f"| {each.id} | {each.text} |" for each in GENERAL]


def test_assumed_types_are_those_of_keys_with_dots() -> None:
    assumed = {"spec.labels.example.org/a": "string", "spec.list[].b": "int"}
    assert meets({"spec": {"labels": {"example.org/a": "x"}, "list": [{"b": 1}]}}, assumed)
    assert not meets({"spec": {"labels": {"example.org/a": []}}}, assumed)
    assert not meets({"spec": {"list": [{"b": 1}, {"b": "x"}]}}, assumed)

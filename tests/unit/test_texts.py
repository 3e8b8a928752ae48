"""Texts: of strangers, of mistyped names, and of shared types."""

import html
import json
import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chartkit
from chartkit.documents.reader import parse_yaml
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.engine.cel import ENVIRONMENTS, CelCompileError, compile_expression
from chartkit.model import Diagnostic, Location, Severity, single_line
from chartkit.safe_text import escape_controls, markdown_block, markdown_cell, shown, shown_lines
from chartkit.suggestions import did_you_mean, nearest, suggestion
from tests.data import from_table

CONTROLS = [
    *map(chr, range(32)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff",
    "\ud800",
    "\udfff",
]


@pytest.mark.parametrize("character", CONTROLS)
def test_every_control_character_is_written_out(character: str) -> None:
    assert shown(f"a{character}b").isprintable()
    assert shown(f"a{character}b").isascii()
    if character not in "\t\n":
        assert character not in escape_controls(f"a{character}b ä")
        assert character not in escape_controls(f"a{character}b")


@pytest.mark.parametrize("text", ["", "plain", "ä → 😀", "a b", "a::b", "# title", "##"])
def test_other_texts_are_shown_as_they_are(text: str) -> None:
    assert shown(text) == text
    assert escape_controls(text) == text
    assert shown_lines(text) == [text]


@pytest.mark.parametrize(
    "text", ["::error::x", "  ::error::x", "a ##[error]x", "##vso[task]", "###[x]"]
)
def test_commands_of_continuous_integration(text: str) -> None:
    [line] = shown_lines(f"{text}\n")
    for made in (shown(text), line):
        assert not made.lstrip().startswith("::")
        assert "##[" not in made
        assert "##vso[" not in made


def test_shown_lines() -> None:
    assert shown_lines("a\nb\r\n\n c\rd\n") == ["a", "b", "", " c\\rd"]


def test_whole_outputs() -> None:
    text = json.dumps({"a\x7f": "\u202e\x9b\n"}, ensure_ascii=False)
    assert json.loads(escape_controls(text)) == json.loads(text)
    assert escape_controls("a\tb\n") == "a\tb\n"


@pytest.mark.slow
@given(st.text())
def test_yaml_is_the_same_when_it_is_written_out(text: str) -> None:
    written = dump_yaml({"a": text, text: [text]})
    assert parse_yaml(escape_controls(written)) == parse_yaml(written)


FORBIDDEN = ("![", "](", "@team", "http://", "https://", "www.evil", "<b>h", "#12", "\n")


@from_table("text")
def test_markdown_is_made_of_nothing(text: str) -> None:
    cell = markdown_cell(text)
    assert not [each for each in FORBIDDEN if each in cell]
    assert " | " not in cell.replace("\\|", "")


@pytest.mark.parametrize(
    "text",
    [
        *("GH-1", "gh-12", "#12", "team/app#12", "@team", "a@b.example", "GHSA-ab12-cd34-ef56"),
        *("GL-1", "!12", "team/app!12", "&1", "$12", "%12", '%"v 1"', "~bug", '~"a bug"'),
        *("^alert#12", "[cadence:1]", "[vulnerability:12]", "*iteration:12"),
        *("ftp://evil.invalid", "mailto:a@evil.invalid"),
    ],
)
def test_references_of_github_and_gitlab_are_text(text: str) -> None:
    cell = markdown_cell(f"see {text} there")
    # As a host reads it: after the escapes of Markdown.
    seen = html.unescape(re.sub(r"\\(.)", r"\1", cell))
    assert text not in seen
    assert seen.replace("\u200b", "") == f"see {text} there"


def test_names_of_commits_are_code() -> None:
    commit = "9ba12248f0a1b2c3d4e5f60718293a4b5c6d7e8f"
    assert markdown_cell(f"{commit} web-6d4cf56db6-x") == (
        f"<code>{commit}</code> web-<code>6d4cf56db6</code>-x"
    )
    assert markdown_cell(f"a@{commit[:7]}") == f"a@&#8203;<code>{commit[:7]}</code>"
    for text in (f"sha256:{commit}{commit[:24]}", "abcdef", "deadbeefs", "GHOST-1", "5% ~ $x [a]"):
        assert "<code>" not in markdown_cell(text)
        assert "8203" not in markdown_cell(text)


def test_a_block_of_code_ends_at_its_own_end() -> None:
    assert markdown_block(["a", "```", "````b"]) == ["`````", "a", "```", "````b", "`````"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("reportController", "reportsController"), ("ENFORCE", "Enforce"), ("zzzz", None)],
)
def test_suggestion(name: str, expected: str | None) -> None:
    hint = suggestion(name, ["reportsController", "Enforce", "Audit"])
    assert hint == (f"did you mean '{expected}'?" if expected else None)


def test_the_most_similar_name_comes_first() -> None:
    assert nearest("scann", ["scanner", "scan", "render"]) == ["scan", "scanner"]
    assert nearest("scann", ["scanner", "scan", "render"], 1) == ["scan"]


@from_table("names", "hint")
def test_hint(names: list[str], hint: str | None) -> None:
    assert did_you_mean(names) == hint


def test_no_other_module_looks_for_similar_names() -> None:
    command = ["grep", "-rl", "get_close_matches", "--include=*.py", chartkit.__path__[0]]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [file.rpartition("/")[2] for file in found] == ["suggestions.py"]


def test_a_diagnostic_is_one_line() -> None:
    with pytest.raises(CelCompileError) as caught:
        compile_expression("object.a. == 1 &&\n  true", ENVIRONMENTS["vpol"])
    whole = caught.value.text
    found = str(Diagnostic("cel", Severity.ERROR, whole, Location("a.yaml", 3), "mend it"))
    assert "\n | object.a. == 1 &&\n | ...." in whole
    assert found.startswith("a.yaml:3: error cel: ERROR: <input>:1:11: Syntax error: ")
    assert found.endswith(" (mend it)")
    assert "\n" not in found
    assert " | " not in found


@from_table("text", "line")
def test_a_text_on_one_line(text: str, line: str) -> None:
    assert single_line(text) == line

"""Hostile text in names, messages and properties is text in every format, and nothing more."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import pytest

from chartkit.documents.reader import read_text
from chartkit.report import FORMATS, ReportOptions
from chartkit.safe_text import escape_controls
from tests.unit.report.samples import HOSTILE, facts, hostile, written

CASES = sorted(HOSTILE)


def report(name: str, case: str) -> str:
    """Return a report as a file has it, half surrogates aside."""
    text = HOSTILE[case]
    given = ReportOptions({text: facts(text, text)}, detailed=True)
    return written(name, given, hostile(text))


def shown(name: str, case: str) -> str:
    """Return a report as standard output has it."""
    return escape_controls(report(name, case))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_format_passes_commands_on(name: str, case: str) -> None:
    text = shown(name, case)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    commands = [line for line in text.splitlines() if line.lstrip().startswith("::")]
    own = r"::(error|warning|notice) (file=[^:]*,line=\d+,col=\d+,)?title=[^:]*::"
    assert all(name == "github" and re.match(own, line) for line in commands)
    marks = re.findall(r"##\w*\[[^\]]*\]", text)
    own = r"##vso\[task\.logissue type=(error|warning);"
    assert all(name == "azure" and re.match(own, mark) for mark in marks)
    if name == "azure":
        assert len(marks) == 2


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_read_back(name: str, case: str) -> None:
    for text in (report(name, case).encode("utf-8", "strict").decode(), shown(name, case)):
        if name in {"json", "sarif", "gitlab"}:
            json.loads(text)
        elif name == "ndjson":
            assert len([json.loads(line) for line in text.split("\n") if line]) == 5
        elif name in {"yaml", "policyreport", "openreports"}:
            assert len(read_text(text)) == 1
        elif name == "junit":
            assert len(list(ElementTree.fromstring(text).iter("testcase"))) == 4
        elif name == "csv":
            rows = list(csv.DictReader(io.StringIO(text)))
            assert len(rows) == 4
            cells = [cell for row in rows for cell in row.values()]
            assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
        elif name in {"github", "azure"}:
            assert len(text.splitlines()) == 4


@pytest.mark.parametrize("name", ["json", "yaml", "ndjson"])
@pytest.mark.parametrize("case", CASES)
def test_data_formats_keep_the_text(name: str, case: str) -> None:
    text = report(name, case)
    if name == "ndjson":
        row = json.loads(text.split("\n")[0])
    else:
        row = read_text(text)[0].body["results"][0]
    assert row["message"] == HOSTILE[case].replace("\ud800", "\ufffd")

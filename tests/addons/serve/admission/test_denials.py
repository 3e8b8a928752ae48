"""The YAML in denials, as Kyverno's library writes it."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.serve.admission.denials import blocked, failures
from chartkit.model import Resource, RuleResult, RuleType, Status

_POD = Resource({"kind": "Pod", "metadata": {"name": "web", "namespace": "default"}})


def _denial(message: str, rule: str = "r") -> str:
    result = RuleResult("p", rule, RuleType.VALIDATION, Status.FAIL, message)
    return blocked(_POD, failures([result])).partition("policies \n\n")[2]


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("plain text", "plain text"),
        ("with: colon", "'with: colon'"),
        ("with #hash", "'with #hash'"),
        ("# hash", "'# hash'"),
        ("it's", "it's"),
        ("'quoted'", "'''quoted'''"),
        ("two\nlines", "|-\n    two\n    lines"),
        ("ends\n", "|\n    ends"),
        ("true", '"true"'),
        ("null", '"null"'),
        ("yes", '"yes"'),
        ("y", '"y"'),
        ("12", '"12"'),
        ("1e3", '"1e3"'),
        ("2026-01-01", '"2026-01-01"'),
        ("", '""'),
        ("- item", "'- item'"),
        ("grüße", "grüße"),
        ("a" * 500 + " " + "b" * 500, "a" * 500 + " " + "b" * 500),
    ],
)
def test_messages_are_written_as_in_go(message: str, written: str) -> None:
    assert _denial(message) == f"p:\n  r: {written}\n"


@given(st.text(max_size=60), st.text(min_size=1, max_size=20))
def test_the_yaml_reads_back(message: str, rule: str) -> None:
    try:
        found = yaml.safe_load(_denial(message, rule))
    except yaml.reader.ReaderError:
        return  # A control character, which Kyverno writes as it is.
    assert found == {"p": {rule: message}}

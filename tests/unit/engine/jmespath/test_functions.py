"""The functions' declarations, and those that take something from outside."""

import random
import re

import pytest

from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.declaration import FunctionSpec
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.engine.jmespath.nodes import Sources, use_sources

NOON = 1_700_000_000_000_000_000


def search(text: str) -> object:
    return compile_expression(text).search({})


def test_functions_are_sorted_and_unique() -> None:
    names = list(FUNCTIONS)
    assert names == sorted(set(names))
    assert len(names) == 76


@pytest.mark.parametrize("spec", FUNCTIONS.values(), ids=lambda spec: spec.name)
def test_functions_declaration(spec: FunctionSpec) -> None:
    assert spec.signature.startswith(f"{spec.name}(")
    assert spec.doc.endswith(".")
    assert f"{spec.name}(" in spec.example
    compile_expression(spec.example)


def test_functions_clock() -> None:
    with use_sources(Sources(now=lambda: NOON)):
        assert search("time_now_utc()") == search("time_now()") == "2023-11-14T22:13:20Z"
        assert search("time_since('', '2023-11-14T22:13:00Z', '')") == "20s"


@pytest.mark.parametrize(
    "pattern",
    [
        "[0-9a-f]{8}-[0-9]{2}",
        "(foo|bar)+",
        "a?b*c{2,3}",
        "[^a-z]",
        "[[:alpha:]_.-]{4}",
        "[]x-]",
        "\\x41\\.\\n",
        "x{2}{3}",
        "^.$",
    ],
)
def test_random_text_matches_its_pattern(pattern: str) -> None:
    plain = pattern.replace("[[:alpha:]", "[A-Za-z")
    for seed in range(20):
        with use_sources(Sources(chance=random.Random(seed))):
            text = search(f"random('{pattern}')")
        assert isinstance(text, str)
        assert re.fullmatch(plain.replace("{2}{3}", "{6}"), text, re.DOTALL)


def test_random_text_stays_small() -> None:
    with (
        use_sources(Sources(chance=random.Random(1))),
        pytest.raises(JMESPathError, match="too long"),
    ):
        search("random('((a*)*)*')")


def test_hosts_are_unknown_unless_resolved() -> None:
    with pytest.raises(JMESPathError, match=r"lookup example\.org: no such host"):
        search("is_external_url('https://example.org')")
    with use_sources(Sources(resolve=lambda _: ["10.0.0.1"])):
        assert search("is_external_url('https://example.org')") is False
    with use_sources(Sources(resolve=lambda _: ["192.0.2.1"])):
        assert search("is_external_url('https://example.org')") is True

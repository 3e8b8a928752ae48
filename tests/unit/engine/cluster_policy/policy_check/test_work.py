"""The work of checking a policy grows with its text, and equal texts are looked at once."""

import subprocess
import sys
from typing import Any

import pytest

from chartkit.engine.cluster_policy import match
from chartkit.engine.cluster_policy.policy_check import places, policy_fault
from chartkit.engine.context.variables import template
from chartkit.engine.jmespath import compile_expression
from chartkit.schemas.kind_selectors import parse_kind_selector
from tests.unit.engine.policies import policy, rule

_TEXT = " ".join(f"{{{{ request.object.metadata.labels.a{number} }}}}" for number in range(20))


def test_equal_texts_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def counted(text: str) -> Any:
        compiled.append(text)
        return compile_expression(text)

    monkeypatch.setattr(template, "compile_expression", counted)
    shared = {"key": _TEXT, "operator": "Equals", "value": "a"}
    deny = {"deny": {"conditions": {"any": [dict(shared) for _ in range(100)]}}}
    assert policy_fault(policy(rule(validate=deny))) is None
    assert len(compiled) <= 3 * 20


def test_a_mistake_in_a_text_that_stands_twice_has_the_first_place() -> None:
    twice = [{"key": "{{ nosuch.a }}", "operator": "Equals", "value": "a"} for _ in range(2)]
    fault = policy_fault(policy(rule(validate={"deny": {"conditions": {"any": twice}}})))
    assert fault is not None
    assert "variable nosuch.a must match" in fault


def test_own_values_in_equal_texts_are_each_looked_at() -> None:
    """`@` is another value at each place: below a key that no query can name, there is a fault."""
    own = {"a": "{{ @ }}", "spec": {"b": "{{ @ }}"}}
    assert policy_fault(policy(rule(validate={"pattern": own}))) is None


def check_a_long_word() -> None:
    """Search a word of 600,000 letters for functions, in a process that ends after 20 s."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    long = policy(rule(validate={"message": "{{ " + "a" * 600_000 + " }}", "pattern": {"a": "b"}}))
    assert list(places.unknown_functions(long)) == []


def test_a_long_word_is_searched_once() -> None:
    script = f"from {__name__} import check_a_long_word; check_a_long_word()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_kinds_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def counted(text: str) -> Any:
        parsed.append(text)
        return parse_kind_selector(text)

    monkeypatch.setattr(match, "parse_kind_selector", counted)
    kinds = ("v1/KindOfThisTest", "KindOfThisTest/scale")
    for _ in range(10):
        match.compile_kinds(kinds)
    assert parsed == list(kinds)

"""JMESPath: compiled expressions, declared functions, and what to write for one that fails."""

import copy
import random
import re
from typing import Any

import pytest

from chartkit.engine.jmespath import ExpressionSyntaxError, JMESPathError, compile_expression
from chartkit.engine.jmespath.advice import advice, call_mistakes
from chartkit.engine.jmespath.declaration import FunctionSpec
from chartkit.engine.jmespath.expression import CrashError, InvalidTypeError, NotFoundError
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.engine.jmespath.nodes import Sources, use_sources
from chartkit.go.strconv import Int64
from tests.data import from_table
from tests.errors import error_of

POD: dict[str, Any] = {
    "request": {
        "object": {
            "metadata": {"name": "web", "labels": {"app": "web", "a/b": "x"}},
            "spec": {
                "containers": [
                    {"name": "a", "image": "nginx", "ports": [{"port": 80}]},
                    {"name": "b", "image": "redis"},
                ],
                "replicas": 3,
                "empty": [],
            },
        }
    },
    "index": Int64(2),
}


def search(text: str, data: Any = POD) -> Any:
    return compile_expression(text).search(data)


@from_table("text", "roots")
def test_expression_roots(text: str, roots: set[str]) -> None:
    assert compile_expression(text).roots == roots


@from_table("text", "found")
def test_expression_search(text: str, found: Any) -> None:
    assert search(text) == found


def test_unknown_function_where_reached() -> None:
    assert search("`true` || bogus(`1`)") is True
    with pytest.raises(JMESPathError, match="unknown function: bogus"):
        search("bogus(`1`)")


@pytest.mark.parametrize("text", ["`[1]`(a)", '`{"a": 1}`(a).b', "`1`(a)", "@(a)"])
def test_what_is_called_and_no_name_fails_where_reached(text: str) -> None:
    with pytest.raises(JMESPathError, match="invalid node value type"):
        compile_expression(text).search({"a": 1})


@pytest.mark.parametrize(
    "text", ["request.missing", "request.missing.further", "request.missing.length(@)"]
)
def test_missing_key_is_an_error(text: str) -> None:
    assert str(error_of(NotFoundError, search, text)) == 'Unknown key "missing" in path'


def test_a_second_search_is_like_the_first() -> None:
    for _ in range(2):
        with pytest.raises(JMESPathError, match="incorrect number of args"):
            search("length(request, index)")


def test_crashes_of_kyverno_are_typed_errors() -> None:
    with pytest.raises(CrashError):
        search("contains(`[[1]]`, `[1]`)")
    with pytest.raises(CrashError):
        search("sort_by(items(request.object.metadata.labels, 'k', 'v'), &k)[]")


def test_input_stays_as_it_was() -> None:
    before = copy.deepcopy(POD)
    search("sort_by(request.object.spec.containers, &image)")
    search('merge(request.object.metadata.labels, `{"app": "x"}`)')
    search("reverse(request.object.spec.containers)")
    assert before == POD


def test_results_are_json() -> None:
    assert type(search("items(request.object.metadata.labels, 'k', 'v')")) is list
    assert search("[&a, base64_decode('//8=')]") == [{}, "\ufffd\ufffd"]


def test_compiled_once() -> None:
    assert compile_expression("a.b") is compile_expression("a.b")


@pytest.mark.parametrize("text", ["(" * 500, "a." * 500 + "a", "!" * 500 + "a", "[" * 500])
def test_deep_expressions_are_refused(text: str) -> None:
    with pytest.raises(ExpressionSyntaxError):
        compile_expression(text)


@pytest.mark.parametrize("text", ["a || " * 2000 + "a", "a" + "[0]" * 2000, "*." * 2000 + "a"])
def test_a_tree_too_deep_is_refused_with_one_error(text: str) -> None:
    with pytest.raises(ExpressionSyntaxError, match="expression nests too deeply"):
        compile_expression(text)


@pytest.mark.parametrize(
    "text", ["length(&a[1:2])", "abs(&[::-1])", "floor(&(a == b))", "ceil(&{k: a.b.c})"]
)
def test_a_reference_of_a_wrong_type_is_named(text: str) -> None:
    with pytest.raises(InvalidTypeError, match=r"Invalid type for: \{\{"):
        search(text)


def test_nested_references_compile_in_linear_time() -> None:
    text = "@"
    for _ in range(60):
        text = f"map(&{text}, @)"
    assert compile_expression(text).search([]) == []


def test_deep_values_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(JMESPathError, match="nests too deeply"):
        search("to_string(@)", deep)


def test_syntax_errors_know_their_place() -> None:
    assert error_of(ExpressionSyntaxError, compile_expression, "foo bar").offset == 4


NOON = 1_700_000_000_000_000_000


def searched(text: str) -> object:
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
        assert searched("time_now_utc()") == searched("time_now()") == "2023-11-14T22:13:20Z"
        assert searched("time_since('', '2023-11-14T22:13:00Z', '')") == "20s"


@from_table("pattern")
def test_random_text_matches_its_pattern(pattern: str) -> None:
    plain = pattern.replace("[[:alpha:]", "[A-Za-z")
    for seed in range(20):
        with use_sources(Sources(chance=random.Random(seed))):
            text = searched(f"random('{pattern}')")
        assert isinstance(text, str)
        assert re.fullmatch(plain.replace("{2}{3}", "{6}"), text, re.DOTALL)


def test_random_text_stays_small() -> None:
    with (
        use_sources(Sources(chance=random.Random(1))),
        pytest.raises(JMESPathError, match="too long"),
    ):
        searched("random('((a*)*)*')")


def test_hosts_are_unknown_unless_resolved() -> None:
    with pytest.raises(JMESPathError, match=r"lookup example\.org: no such host"):
        searched("is_external_url('https://example.org')")
    with use_sources(Sources(resolve=lambda _: ["10.0.0.1"])):
        assert searched("is_external_url('https://example.org')") is False
    with use_sources(Sources(resolve=lambda _: ["192.0.2.1"])):
        assert searched("is_external_url('https://example.org')") is True


@from_table("text", "wanted")
def test_an_error_has_advice(text: str, wanted: str) -> None:
    with pytest.raises(JMESPathError) as error:
        compile_expression(text).search({"label": "5"})
    assert (advice(str(error.value), text) or "").startswith(wanted)


@from_table("message", "wanted")
def test_a_message_of_a_rule_names_the_expression(message: str, wanted: str | None) -> None:
    assert advice(message) == wanted


@pytest.mark.parametrize(
    "text", ["add('1', '2')", "add(`1`, to_number('2'))", "sum([`1`, `2`])", "add(a, b)", "add('"]
)
def test_calls_that_can_succeed_are_no_mistake(text: str) -> None:
    assert call_mistakes(text) == []

"""What is made to hang or to burst an engine ends soon, with a result or a typed error."""

from typing import Any

import pytest

from chartkit.documents.reader import parse_yaml, read_text
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.errors import ChartkitError, CompileError, InputError
from chartkit.model import Body, Json, Resource, RuleResult, Status
from tests.objects import api_object

LONG = 100_000


def policy(**rule: Any) -> Body:
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "rules": [
                {"name": "r", "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}, **rule}
            ]
        },
    }


def answers(body: Body, data: Json) -> list[RuleResult]:
    """What a policy says of a ConfigMap with some data."""
    compiled = compile_policy(Resource(body))
    config_map = api_object("v1", "ConfigMap", "default/c", data=data)
    return evaluate([compiled], Request(Resource(config_map)))


def test_a_long_list_under_a_pattern() -> None:
    body = policy(validate={"message": "m", "pattern": {"data": {"items": [{"n": "<10"}]}}})
    [good] = answers(body, {"items": [{"n": 1}] * LONG})
    [bad] = answers(body, {"items": [{"n": 1}] * LONG + [{"n": 11}]})
    assert (good.status, bad.status) == (Status.PASS, Status.FAIL)
    assert bad.message.endswith(f"/data/items/{LONG}/n/")


def test_a_long_list_under_foreach() -> None:
    loop = {
        "list": "request.object.data.items",
        "deny": {
            "conditions": {"any": [{"key": "{{ element }}", "operator": "Equals", "value": "x"}]}
        },
    }
    [result] = answers(
        policy(validate={"message": "m", "foreach": [loop]}), {"items": ["a"] * LONG}
    )
    assert result.status is Status.PASS


def test_a_long_list_in_a_condition() -> None:
    condition = {
        "key": "{{ request.object.data.items }}",
        "operator": "AnyIn",
        "value": ["z*", "y"],
    }
    deny = {"conditions": {"any": [condition]}}
    [result] = answers(policy(validate={"message": "m", "deny": deny}), {"items": ["a"] * LONG})
    assert result.status is Status.PASS


def test_many_wildcards() -> None:
    pattern = "*a" * 200 + "b"
    body = policy(validate={"message": "m", "pattern": {"data": {"text": pattern}}})
    [result] = answers(body, {"text": "a" * 10_000})
    assert result.status is Status.FAIL


def test_a_regular_expression_made_to_run_long() -> None:
    condition = {
        "key": "{{ regex_match('^(a+)+$', request.object.data.text) }}",
        "operator": "Equals",
        "value": True,
    }
    body = policy(validate={"message": "m", "deny": {"conditions": {"any": [condition]}}})
    [result] = answers(body, {"text": "a" * 5_000 + "b"})
    assert result.status is Status.PASS


def test_variables_that_name_each_other() -> None:
    text = {"one": "x {{ request.object.data.two }}", "two": "y {{ request.object.data.one }}"}
    body = policy(
        validate={"message": "m", "pattern": {"data": {"one": "{{ request.object.data.one }} z"}}}
    )
    [result] = answers(body, text)
    assert result.status in (Status.ERROR, Status.FAIL)


def test_a_variable_that_grows() -> None:
    text = {"t": "{{ request.object.data.t }} {{ request.object.data.t }}"}
    body = policy(
        validate={"message": "m", "pattern": {"data": {"t": "a {{ request.object.data.t }}"}}}
    )
    [result] = answers(body, text)
    assert result.status is Status.ERROR


@pytest.mark.parametrize("levels", [90, 199, 2_000])
def test_deep_nesting(levels: int) -> None:
    pattern: Json = "x"
    data: Json = "x"
    for _ in range(levels):
        pattern, data = {"a": pattern}, {"a": data}
    try:
        results = answers(policy(validate={"message": "m", "pattern": {"data": pattern}}), data)
    except CompileError:
        return
    [result] = results
    assert result.status in (Status.PASS, Status.ERROR)


def test_deep_documents_are_refused_by_the_reader() -> None:
    with pytest.raises(InputError, match="nested deeper"):
        read_text("a: " + "[" * 3_000 + "]" * 3_000)


def test_alias_bombs_are_refused_by_the_reader() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(InputError, match="aliases expand to"):
        parse_yaml("\n".join(lines))


def test_a_mutation_over_a_long_list() -> None:
    patch = {"data": {"items": [{"name": "new", "v": 1}]}}
    body = policy(mutate={"patchStrategicMerge": patch})
    try:
        results = answers(body, {"items": [{"name": str(n)} for n in range(20_000)]})
    except ChartkitError as error:
        pytest.fail(f"an error left the engine: {error}")
    [result] = results
    assert result.status in (Status.PASS, Status.ERROR)

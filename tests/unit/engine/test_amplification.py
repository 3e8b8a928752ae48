"""Nothing that a policy says makes more of its input than a budget allows.

Each case runs in a process of its own with little memory and time. A function of JMESPath that is
new must be named in `CALLS`, with the arguments that make the most of it.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from chartkit.engine.budget import MAX_BYTES, Budget, BudgetError
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.jmespath import compile_expression
from chartkit.engine.jmespath.functions import FUNCTIONS
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.errors import ChartkitError
from chartkit.model import Resource, Status
from tests.data import from_table
from tests.objects import api_object

_SIZE = 60_000

CALLS: dict[str, str] = {
    **dict.fromkeys(("abs", "ceil", "floor"), "{name}(number)"),
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "modulo"), "{name}(digits, digits)"),
    **dict.fromkeys(("avg", "sum"), "{name}(numbers)"),
    **dict.fromkeys(("max", "min", "sort"), "{name}(texts)"),
    **dict.fromkeys(("keys", "values"), "{name}(object)"),
    **dict.fromkeys(("max_by", "min_by", "sort_by"), "{name}(texts, &join(@, [@, @, @]))"),
    **dict.fromkeys(("sha1", "sha256", "md5", "base64_encode", "base64_decode"), "{name}(text)"),
    **dict.fromkeys(("to_upper", "to_lower", "to_boolean", "path_canonicalize"), "{name}(text)"),
    **dict.fromkeys(("starts_with", "ends_with", "trim", "trim_prefix"), "{name}(text, text)"),
    **dict.fromkeys(("compare", "equal_fold"), "{name}(text, text)"),
    **dict.fromkeys(("time_now", "time_now_utc"), "{name}()"),
    **dict.fromkeys(("time_utc", "time_to_cron"), "{name}(text)"),
    **dict.fromkeys(("time_add", "time_parse", "time_diff", "time_truncate"), "{name}(text, text)"),
    **dict.fromkeys(("time_before", "time_after"), "{name}(text, text)"),
    **dict.fromkeys(("time_between", "time_since"), "{name}(text, text, text)"),
    **dict.fromkeys(("image_normalize", "is_external_url", "x509_decode"), "{name}(text)"),
    **dict.fromkeys(("regex_replace_all", "regex_replace_all_literal"), "{name}('', text, text)"),
    **dict.fromkeys(("to_string", "to_array", "not_null", "type"), "{name}(shared)"),
    "contains": "contains([shared], not_null(copy))",
    "items": "items(object, text, text)",
    "join": "join(text, texts)",
    "label_match": "label_match({{a: shared}}, {{a: copy}})",
    "length": "length(text)",
    "lookup": "lookup(object, text)",
    "map": "map(&map(&[@, @, @], [@, @, @, @]), texts)",
    "merge": "merge(object, object, object)",
    "object_from_lists": "object_from_lists(texts, texts)",
    "parse_json": "parse_json(text)",
    "parse_yaml": "parse_yaml(laughs)",
    "pattern_match": "pattern_match(text, text)",
    "random": "random('[a-z]{{1000}}{{1000}}')",
    "regex_match": "regex_match('(a?){{500}}b', text)",
    "replace": "replace(text, 'a', text, `-1`)",
    "replace_all": "replace_all(text, 'a', text)",
    "reverse": "reverse(text)",
    "round": "round(number, number)",
    "semver_compare": "semver_compare(text, text)",
    "split": "split(text, '')",
    "to_number": "to_number(digits)",
    "truncate": "truncate(text, number)",
}
"""The call of each function that takes or makes the most."""


def _doubled(levels: int) -> Any:
    value: Any = ["x"]
    for _ in range(levels):
        value = [value, value]
    return value


def _data() -> dict[str, Any]:
    laughs = "a: &a [x, x]\n" + "".join(
        f"{name}: &{name} [*{before}, *{before}, *{before}, *{before}]\n"
        for before, name in zip("abcdefghijklmno", "bcdefghijklmnop", strict=True)
    )
    return {
        "text": "a" * _SIZE,
        "digits": "9" * _SIZE,
        "number": 12345.5,
        "numbers": list(range(_SIZE)),
        "texts": [f"t{index}" for index in range(_SIZE)],
        "object": {f"k{index}": "v" for index in range(_SIZE)},
        "shared": _doubled(60),
        "copy": _doubled(60),
        "laughs": laughs,
    }


def call_all() -> None:
    """Calls every function; raises what is no answer, no error of a rule and no budget."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    for name, call in CALLS.items():
        budget = Budget()
        try:
            found = compile_expression(call.format(name=name)).search(_data(), budget)
        except ChartkitError:
            continue
        if isinstance(found, str):
            assert len(found) <= MAX_BYTES, name


def test_every_function_is_tried() -> None:
    assert set(CALLS) == {spec.name for spec in FUNCTIONS.values()}


@pytest.mark.slow
def test_functions_stay_within_the_budget() -> None:
    script = "from tests.unit.engine.test_amplification import call_all; call_all()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@from_table("text")
def test_what_multiplies_is_stopped(text: str) -> None:
    with pytest.raises(BudgetError):
        compile_expression(text).search(_data(), Budget())


def _policy(**rule: Any) -> Any:
    match = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
    body = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"rules": [{"name": "r", "match": match, **rule}]},
    }
    return compile_policy(Resource(body))


def _nested(kind: str, levels: int, inner: dict[str, Any]) -> dict[str, Any]:
    for _ in range(levels):
        inner = {"list": "split('a,b,c,d', ',')", **inner}
        inner = {"foreach": [inner]}
    return {kind: inner}


_DATA = "{{ request.object.data }}"
_COPIES = [{"op": "copy", "from": "/data", "path": f"/data/l{index}"} for index in range(30)]

RULES: dict[str, dict[str, Any]] = {
    "validate foreach": _nested(
        "validate",
        12,
        {
            "deny": {
                "conditions": {"all": [{"key": "{{element}}", "operator": "Equals", "value": 1}]}
            }
        },
    ),
    "mutate foreach": _nested(
        "mutate", 12, {"patchStrategicMerge": {"metadata": {"labels": {"a": "{{element}}"}}}}
    ),
    "mutate foreach with JSON patches": _nested(
        "mutate", 12, {"patchesJson6902": "- {op: add, path: /data/b, value: '{{element}}'}"}
    ),
    "copies": {"mutate": {"patchesJson6902": json.dumps(_COPIES)}},
    "values": {
        "mutate": {"patchStrategicMerge": {"data": {f"k{index}": _DATA for index in range(2000)}}}
    },
    "a variable many times": {
        "validate": {
            "deny": {
                "conditions": {
                    "all": [
                        {
                            "key": "{{ request.object.data.a }}" * 1000,
                            "operator": "Equals",
                            "value": "x",
                        }
                    ]
                }
            }
        }
    },
    "an error that a default would hide": {
        "context": [
            {
                "name": "v",
                "variable": {
                    "jmesPath": "replace_all(request.object.data.a, 'a', request.object.data.a)",
                    "default": "x",
                },
            }
        ],
        "validate": {
            "deny": {"conditions": {"all": [{"key": "{{ v }}", "operator": "Equals", "value": 1}]}}
        },
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_that_multiplies_is_an_error_that_says_so(rule: dict[str, Any]) -> None:
    body = api_object("v1", "ConfigMap", "d/c", data={"a": "a" * _SIZE})
    (result,) = evaluate([_policy(**rule)], Request(Resource(body)))
    assert result.status is Status.ERROR
    assert "the rule takes more than" in result.message


def test_entries_of_verify_images_times_images_are_an_error_that_says_so() -> None:
    entry = {"imageReferences": ["*"], "mutateDigest": False, "verifyDigest": True}
    policy = _policy(match={"any": [{"resources": {"kinds": ["Pod"]}}]}, verifyImages=[entry] * 60)
    containers = [{"name": f"c{at}", "image": f"ghcr.io/a/b{at}:1"} for at in range(300)]
    body = api_object("v1", "Pod", "d/p", spec={"containers": containers})
    first = evaluate([policy], Request(Resource(body)))[0]
    assert first.status is Status.ERROR
    assert "the images of an object against the entries of verifyImages" in first.message

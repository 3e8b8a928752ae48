"""Random policies and objects, most of them wrong: only CompileError and results come out."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Operation, Request
from chartkit.errors import CompileError
from chartkit.model import Resource, Status
from tests.draws import draws
from tests.objects import api_object

_TEXTS = st.sampled_from(
    [
        "",
        "a",
        "*",
        "?*",
        "Pod",
        "v1/Pod",
        "!a | b",
        ">1",
        "1-5",
        "{{ request.object.metadata.name }}",
        "{{ request.object.spec.x || '' }}",
        "{{ element }}",
        "$(./../x)",
        "(name)",
        "^(containers)",
        "{{",
    ]
)
_SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | _TEXTS
_KEYS = st.sampled_from(
    [
        "any",
        "all",
        "resources",
        "kinds",
        "names",
        "selector",
        "matchLabels",
        "pattern",
        "anyPattern",
        "deny",
        "foreach",
        "list",
        "conditions",
        "key",
        "operator",
        "value",
        "message",
        "metadata",
        "labels",
        "spec",
        "(containers)",
        "name",
        "a",
    ]
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)
_CONDITION = st.fixed_dictionaries(
    {
        "key": _VALUES,
        "operator": st.sampled_from(["Equals", "AnyIn", "GreaterThan", "NotIn", "Bogus"]),
        "value": _VALUES,
    }
)
_CONDITIONS = st.fixed_dictionaries({"any": st.lists(_CONDITION, max_size=3)})
_PODS = st.just({"any": [{"resources": {"kinds": ["Pod"]}}]})
_CONTEXT = st.lists(
    st.fixed_dictionaries(
        {"name": st.just("v"), "variable": st.fixed_dictionaries({"value": _VALUES})}
    ),
    max_size=2,
)
_FOREACH = st.fixed_dictionaries(
    {"list": st.sampled_from(["request.object.spec.l", "[[[", "keys(@)"]), "pattern": _VALUES}
)
_VALIDATE = (
    st.fixed_dictionaries({"message": _TEXTS, "pattern": _VALUES})
    | st.fixed_dictionaries({"anyPattern": st.lists(_VALUES, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"deny": st.fixed_dictionaries({"conditions": _CONDITIONS})})
    | st.fixed_dictionaries({"foreach": st.lists(_FOREACH, min_size=1, max_size=2)})
)
_RULE = st.fixed_dictionaries(
    {"name": st.just("r"), "match": _PODS, "validate": _VALIDATE},
    optional={"preconditions": _CONDITIONS, "context": _CONTEXT},
)
_WILD_RULE = st.fixed_dictionaries(
    {"name": st.just("r"), "match": _PODS | _VALUES, "validate": _VALIDATE | _VALUES},
    optional={"exclude": _VALUES, "preconditions": _VALUES, "context": _VALUES},
)
_OBJECT = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["v1", "apps/v1"]),
        "kind": st.sampled_from(["Pod", "Deployment", "CronJob"]),
        "metadata": st.fixed_dictionaries({"name": _TEXTS, "labels": _VALUES}) | _VALUES,
    },
    optional={"spec": _VALUES},
)


def _policy(rules: Any, background: bool) -> Resource:
    return Resource(
        api_object(
            "kyverno.io/v1", "ClusterPolicy", "p", spec={"rules": rules, "background": background}
        )
    )


@draws(300)
@given(rules=st.lists(_WILD_RULE, min_size=1, max_size=2) | _VALUES, background=st.booleans())
def test_a_policy_of_any_shape_compiles_or_is_refused(rules: Any, background: bool) -> None:
    with suppress(CompileError):
        compile_policy(_policy(rules, background))


@draws(300)
@given(rule=_RULE, body=_OBJECT, background=st.booleans())
def test_no_rule_and_no_object_crashes_a_run(
    rule: dict[str, Any], body: dict[str, Any], background: bool
) -> None:
    try:
        compiled = compile_policy(_policy([rule], background))
    except CompileError:
        return
    for operation in Operation:
        for result in evaluate([compiled], Request(Resource(body), operation=operation)):
            assert isinstance(result.status, Status)
            assert isinstance(result.message, str)

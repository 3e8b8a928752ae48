"""Random patches and objects, most of them wrong: only typed errors and results come out."""

import copy
import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.cli_files.world import UserApi
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.mutate import compile_merge
from chartkit.engine.cluster_policy.mutate.json_patch import compile_json_patch
from chartkit.engine.json_patch import PatchError
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import World
from chartkit.engine.request import Request
from chartkit.errors import CompileError
from chartkit.model import Body, Resource, Status
from tests.draws import draws

_TEXTS = st.sampled_from(
    ["", "a", "*", "x:1", "(a)", "delete", "replace", "1", "{{ element }}", "{{ @ }}"]
)
_SCALARS = st.none() | st.booleans() | st.integers(-3, 90) | st.floats(-2, 2) | _TEXTS
_KEYS = st.sampled_from(
    [
        "a",
        "name",
        "(name)",
        "+(name)",
        "<(name)",
        " (a) ",
        "$patch",
        "containers",
        "ports",
        "containerPort",
        "protocol",
        "env",
        "labels",
        "metadata",
        "spec",
        "finalizers",
        "{{ request.object.spec }}",
    ]
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=20,
)
_ELEMENTS = st.lists(st.dictionaries(_KEYS, _VALUES, max_size=3) | _SCALARS, max_size=4)
_SPECS = st.fixed_dictionaries({}, optional={"containers": _ELEMENTS, "a": _VALUES}) | _VALUES
_OBJECTS = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.just("Pod"),
        "metadata": st.fixed_dictionaries({"name": st.just("p")}),
        "spec": _SPECS,
    }
)
_PATHS = st.lists(
    st.sampled_from(["spec", "containers", "a", "0", "-1", "-", "7", "", "~1"]), max_size=4
).map(lambda parts: "".join(f"/{part}" for part in parts))
_OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"])},
        optional={"path": _PATHS | _SCALARS, "from": _PATHS | _SCALARS, "value": _VALUES},
    ),
    max_size=3,
)
_PATCH_TEXTS = _OPERATIONS.map(json.dumps) | _VALUES.map(json.dumps) | st.text(max_size=20)


@draws(400)
@given(patch=st.fixed_dictionaries({"spec": _SPECS}) | _VALUES, body=_OBJECTS)
def test_a_merge_gives_a_value_or_a_typed_error(patch: Any, body: Body) -> None:
    before = copy.deepcopy((patch, body))
    run = compile_merge(patch)
    with suppress(PatchError):
        json.dumps(run(body))
    assert (patch, body) == before


@draws(400)
@given(text=_PATCH_TEXTS, body=_OBJECTS)
def test_operations_give_a_value_or_a_typed_error(text: str, body: Body) -> None:
    before = copy.deepcopy(body)
    run = compile_json_patch(text)
    with suppress(PatchError):
        json.dumps(run(body))
    assert body == before


@draws(200)
@given(patch=st.fixed_dictionaries({"spec": st.dictionaries(_KEYS, _VALUES, max_size=3)}))
def test_a_patch_that_was_merged_changes_nothing_the_second_time(patch: Body) -> None:
    body = {"apiVersion": "x/v1", "kind": "W", "spec": {"b": 1}}
    run = compile_merge(patch)
    with suppress(PatchError):
        once = run(body)
        if "(" not in json.dumps(patch) and "$patch" not in json.dumps(patch):
            assert run(once) is once


_INNER = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "list": st.just("['a']") | _VALUES,
            "patchStrategicMerge": _VALUES,
            "patchesJson6902": _PATCH_TEXTS | _VALUES,
            "order": _VALUES,
            "deny": _VALUES,
            "foreach": _VALUES,
        },
    )
    | _VALUES,
    max_size=2,
)
_BLOCKS = st.lists(
    st.fixed_dictionaries(
        {"list": st.sampled_from(["request.object.spec.containers", "[[["])},
        optional={
            "patchStrategicMerge": _VALUES,
            "patchesJson6902": _PATCH_TEXTS,
            "order": st.sampled_from(["Ascending", "Descending"]),
            "foreach": _VALUES | _INNER,
            "preconditions": _VALUES,
            "context": _VALUES,
        },
    ),
    max_size=2,
)
_TARGETS = st.lists(
    st.fixed_dictionaries(
        {"apiVersion": st.just("v1"), "kind": st.just("Pod")},
        optional={
            "name": _TEXTS,
            "namespace": _TEXTS,
            "selector": st.fixed_dictionaries({"matchLabels": _VALUES}),
            "preconditions": _VALUES,
        },
    ),
    max_size=2,
)
_MUTATE = st.fixed_dictionaries(
    {},
    optional={
        "patchStrategicMerge": _VALUES,
        "patchesJson6902": _PATCH_TEXTS,
        "foreach": _BLOCKS | _VALUES,
        "targets": _TARGETS | _VALUES,
    },
)


@draws(400)
@given(mutate=_MUTATE, body=_OBJECTS)
def test_no_mutate_rule_crashes_a_run(mutate: Body, body: Body) -> None:
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    policy = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"rules": [{"name": "r", "match": match, "mutate": mutate}], "background": False},
    }
    try:
        compiled = compile_policy(Resource(policy))
    except CompileError:
        return
    for result in evaluate([compiled], Request(Resource(body)), World(UserApi(Cluster([body])))):
        assert isinstance(result.status, Status)
        assert isinstance(result.message, str)
        json.dumps([result.patched, result.patched_target])

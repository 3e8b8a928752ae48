"""Mutating loops: what many patches of one object cost, and that they do what single ones do."""

import json
import sys
from typing import Any

import pytest

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.mutate import compile_merge
from chartkit.engine.cluster_policy.mutate.json_patch import compile_json_patch
from chartkit.engine.cluster_policy.mutate.workspace import Workspace
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.model import Resource, Status
from tests.data import tables
from tests.unit.engine.policies import policy_resource, rule

_TABLES = tables(__file__)

_LIST = "request.object.spec.containers"


def _pod(count: int) -> dict[str, Any]:
    containers = [
        {"name": f"c{index}", "image": f"i:{index}", "ports": [{"containerPort": 80 + index}]}
        for index in range(count)
    ]
    metadata = {"name": "p", "labels": {"z": "1", "a": "2"}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {"containers": containers},
    }


MERGES: list[list[Any]] = tables(__file__)["merges"]


@pytest.mark.parametrize("patches", MERGES)
def test_merges_of_one_object_do_what_merges_of_copies_do(patches: list[Any]) -> None:
    work, shared, single = Workspace(), _pod(5), _pod(5)
    for patch in [*patches, *patches]:
        body = {"spec": {"containers": [patch]}, "metadata": {"labels": {"b": patch.get("name")}}}
        shared = compile_merge(body)(shared, work)
        single = compile_merge(body)(json.loads(json.dumps(single)))
        assert json.dumps(shared) == json.dumps(single)


PATCHES: list[list[dict[str, Any]]] = _TABLES["patches"]


def test_json_patches_of_one_object_do_what_patches_of_copies_do() -> None:
    work, shared, single = Workspace(), _pod(5), _pod(5)
    for operations in [*PATCHES, *PATCHES[:3], *PATCHES[4:], *PATCHES[1:3]]:
        run = compile_json_patch(json.dumps(operations))
        shared = run(shared, work)
        single = run(json.loads(json.dumps(single)))
        assert json.dumps(shared) == json.dumps(single)


def test_patches_of_both_kinds_share_one_object() -> None:
    work, shared, single = Workspace(), _pod(5), _pod(5)
    jsons = [compile_json_patch(json.dumps(one)) for one in [*PATCHES[:3], *PATCHES[4:]]]
    merges = [compile_merge({"spec": {"containers": [one]}}) for patch in MERGES for one in patch]
    for index, merge in enumerate(merges):
        for run in (merge, jsons[index % len(jsons)], merge):
            shared = run(shared, work)
            single = run(json.loads(json.dumps(single)))
            assert json.dumps(shared) == json.dumps(single)


def test_the_object_that_is_patched_stays_as_it_is() -> None:
    pod = _pod(3)
    before, work = json.dumps(pod), Workspace()
    merged = compile_merge({"spec": {"containers": [{"name": "c1", "tty": True}]}})(pod, work)
    kept = json.dumps(merged)
    compile_merge({"spec": {"containers": [{"name": "c1", "tty": False}]}})(merged, work)
    assert json.dumps(pod) == before
    assert json.loads(json.dumps(merged)) == json.loads(kept)


LOOPS: dict[str, dict[str, Any]] = _TABLES["loops"]


def _calls(loop: dict[str, Any], count: int) -> int:
    """How many calls a mutating loop over so many containers makes."""
    mutate = {"foreach": [{"list": _LIST, **loop}]}
    policy = compile_policy(policy_resource(rule(validate=None, mutate=mutate)))
    request, calls = Request(Resource(_pod(count))), 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        (result,) = evaluate([policy], request)
    finally:
        sys.setprofile(None)
    assert result.status is Status.PASS
    assert result.patched is not None
    assert all(one["tty"] for one in result.patched["spec"]["containers"])
    return calls


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_loop_goes_through_the_object_once(loop: dict[str, Any]) -> None:
    """Three times as many elements take about three times as many steps, not nine times."""
    _calls(loop, 10)
    assert _calls(loop, 180) < 5 * _calls(loop, 60)

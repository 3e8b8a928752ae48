import copy
import json
from typing import Any

from chartkit.engine.cluster_policy.mutate.json_patch import compile_json_patch, patch_problem
from chartkit.engine.json_patch import PatchError
from tests.data import from_table
from tests.errors import error_of

BODY: dict[str, Any] = {"kind": "W", "spec": {"a": "1", "l": ["x", "y"], "n": None}}


def _spec(*operations: dict[str, Any]) -> Any:
    before = copy.deepcopy(BODY)
    patched = compile_json_patch(json.dumps(list(operations)))(BODY)
    assert before == BODY
    return patched["spec"]


def _error(*operations: Any) -> str:
    return error_of(PatchError, _spec, *operations).message


def test_add_makes_what_is_missing() -> None:
    assert _spec({"op": "add", "path": "/spec/m/2/k", "value": 1})["m"] == [None, None, {"k": 1}]
    assert _spec({"op": "add", "path": "/spec/n/k", "value": 1})["n"] == {"k": 1}
    assert _spec({"op": "add", "path": "/spec/l/-", "value": "z"})["l"] == ["x", "y", "z"]
    assert _spec({"op": "add", "path": "/spec/l/-1", "value": "z"})["l"] == ["x", "y", "z"]
    assert _spec({"op": "add", "path": "/spec/a~1b", "value": 1})["a/b"] == 1


def test_remove_of_what_is_missing_changes_nothing() -> None:
    text = json.dumps([{"op": "remove", "path": "/spec/x/y"}, {"op": "remove", "path": "/z"}])
    assert compile_json_patch(text)(BODY) is BODY
    assert _spec({"op": "remove", "path": "/spec/l/-1"})["l"] == ["x"]


def test_move_copy_and_test() -> None:
    assert _spec({"op": "move", "from": "/spec/a", "path": "/spec/b"})["b"] == "1"
    assert _spec({"op": "copy", "from": "/spec/l", "path": "/spec/b"})["b"] == ["x", "y"]
    tested = {"op": "test", "path": "/spec/l", "value": ["x", "y"]}
    assert _spec(tested, {"op": "replace", "path": "/spec/a", "value": 2})["a"] == 2


def test_whole_documents_can_be_replaced() -> None:
    patch = json.dumps([{"op": "replace", "path": "", "value": {"kind": "X"}}])
    assert compile_json_patch(patch)(BODY) == {"kind": "X"}


@from_table("operation", "message")
def test_patch_text_errors(operation: Any, message: str) -> None:
    assert _error(operation) == message


def test_texts_follow_yaml_1_1() -> None:
    patched = compile_json_patch("- op: add\n  path: /spec/v\n  value: {n: y, t: 010}")(BODY)
    assert patched["spec"]["v"] == {"false": True, "t": 8}


def test_texts_that_are_no_yaml_are_an_error_when_they_run() -> None:
    for text, message in (
        ("- a: 'b", "failed to convert patchesJSON6902 to JSON: yaml: "),
        ("[a]", "failed to decode patches: invalid state detected"),
        ("a: b", "failed to decode patches: json: cannot unmarshal object into Go value"),
    ):
        patch = compile_json_patch(text)
        assert error_of(PatchError, patch, BODY).message.startswith(message)


def test_the_order_of_keys_is_a_change() -> None:
    body = {"a": {"x": 1, "y": 2}, "kind": "W"}
    operations = [
        {"op": "move", "from": "/a/x", "path": "/a/z"},
        {"op": "move", "from": "/a/z", "path": "/a/x"},
    ]
    patched = compile_json_patch(json.dumps(operations))(body)
    assert patched == body
    assert patched is not body


def test_a_patch_may_not_fill_up_a_list_without_end() -> None:
    assert "more than 100000 nulls" in _error({"op": "add", "path": "/x/99999999/y", "value": 1})


def test_problems_of_patches() -> None:
    assert patch_problem(None) == ""
    assert patch_problem([{"op": "remove", "path": "/a"}]) == ""
    assert patch_problem(5).endswith("number into Go value of type jsonpatch.Patch")

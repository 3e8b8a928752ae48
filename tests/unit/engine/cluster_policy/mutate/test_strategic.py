import copy
from typing import Any

import pytest

from chartkit.engine.cluster_policy.mutate import compile_merge
from chartkit.engine.json_patch import PatchError


def _pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def _widget(**spec: Any) -> dict[str, Any]:
    body = _pod(**spec)
    return {**body, "apiVersion": "example.com/v1", "kind": "Widget"}


def _spec(patch: dict[str, Any], resource: dict[str, Any]) -> Any:
    before = copy.deepcopy((patch, resource))
    patched = compile_merge({"spec": patch})(resource)
    assert (patch, resource) == before
    return patched["spec"]


def test_what_does_not_change_is_the_very_same_object() -> None:
    resource = _pod(hostNetwork=True)
    assert compile_merge({"spec": {"hostNetwork": True}})(resource) is resource


def test_objects_are_merged_and_null_removes() -> None:
    resource = _widget(a={"x": 1, "y": 2}, b=3, kept=None)
    assert _spec({"a": {"y": 5, "z": 6}, "b": None}, resource) == {
        "a": {"x": 1, "y": 5, "z": 6},
        "kept": None,
    }


def test_what_takes_the_place_of_a_text_is_a_text() -> None:
    assert _spec({"a": 5, "b": True, "c": 1}, _widget(a="1", b="x", c=2)) == {
        "a": "5",
        "b": "true",
        "c": 1,
    }


def test_lists_of_kubernetes_kinds_are_joined_and_new_elements_come_first() -> None:
    resource = _pod(containers=[{"name": "a", "image": "x"}, {"name": "b", "image": "y"}])
    patch = {"containers": [{"name": "c", "image": "z"}, {"name": "b", "tty": True}]}
    assert _spec(patch, resource)["containers"] == [
        {"name": "c", "image": "z"},
        {"name": "b", "image": "y", "tty": True},
        {"name": "a", "image": "x"},
    ]


def test_lists_of_custom_kinds_are_replaced() -> None:
    assert _spec({"l": [{"name": "b"}]}, _widget(l=[{"name": "a"}])) == {"l": [{"name": "b"}]}


def test_an_object_inside_a_custom_one_is_joined_by_its_own_kind() -> None:
    inner = _pod(containers=[{"name": "a", "image": "x"}])
    patch = {"inner": {"spec": {"containers": [{"name": "a", "tty": True}]}}}
    found = _spec(patch, _widget(inner=inner))
    assert found["inner"]["spec"]["containers"] == [{"name": "a", "image": "x", "tty": True}]


def test_with_several_keys_the_target_s_elements_come_last() -> None:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    tcp, udp = {"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}
    resource = {**body, "spec": {"ports": [udp, tcp]}}
    assert _spec({"ports": [{**tcp, "name": "n"}]}, resource)["ports"] == [
        udp,
        {**tcp, "name": "n"},
    ]


@pytest.mark.parametrize(
    ("directive", "wanted"),
    [("delete", []), ("replace", [{"name": "a", "image": "x"}]), ("merge", [{"name": "a"}])],
)
def test_directives_of_elements(directive: str, wanted: list[Any]) -> None:
    # kustomize loses what replaces an element of a list.
    resource = _pod(containers=[{"name": "a", "image": "x"}])
    patch = {"containers": [{"name": "a", "$patch": directive}]}
    found = _spec(patch, resource)["containers"]
    assert found == ([{"name": "a", "image": "x"}] if directive == "merge" else wanted)


def test_directives_of_objects_and_lists() -> None:
    assert _spec({"a": {"$patch": "replace", "y": 1}}, _widget(a={"x": 1})) == {"a": {"y": 1}}
    assert _spec({"a": {"$patch": "delete"}}, _widget(a={"x": 1}, b=1)) == {"b": 1}
    resource = _pod(containers=[{"name": "a"}], nodeName="n")
    assert _spec({"containers": [{"$patch": "delete"}]}, resource) == {"nodeName": "n"}
    with pytest.raises(PatchError, match="unknown patch strategy 'x'"):
        _spec({"a": {"$patch": "x"}}, _widget(a={}))


def test_a_whole_object_cannot_be_deleted() -> None:
    with pytest.raises(PatchError, match="filter cannot create or delete objects"):
        compile_merge({"$patch": "delete"})(_pod())


def test_kinds_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(PatchError) as raised:
        _spec({"a": {"b": ["x", None, 1.5]}}, _widget(a="text"))
    assert raised.value.message == (
        "wrong node kind: expected ScalarNode but got MappingNode: node contents:\n"
        '{"b": ["x", null, 1.5]}\n'
    )
    with pytest.raises(PatchError, match="failed to preProcess rule: wrong node kind: expected"):
        compile_merge([])({})


def test_additions_keep_what_is_there() -> None:
    resource = _widget(a=None)
    assert _spec({"+(a)": 1, "+(b)": 2}, resource) == {"a": None, "b": 2}


def test_conditions_decide_over_the_whole_patch_or_one_element() -> None:
    resource = _pod(containers=[{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:2"}])
    one = {"containers": [{"(image)": "x:*", "tty": True}]}
    assert [c.get("tty") for c in _spec(one, resource)["containers"]] == [True, None]
    all_of_it = {"(hostNetwork)": True, "nodeName": "n"}
    assert _spec(all_of_it, resource) == resource["spec"]
    is_global = {"containers": [{"<(image)": "z:*"}], "nodeName": "n"}
    assert _spec(is_global, resource) == resource["spec"]


def test_two_keys_that_come_to_be_one_are_an_error_where_both_stay() -> None:
    patch = {"a": {"+(x)": 1, "x": 2}}
    with pytest.raises(PatchError, match='mapping key "x" already defined'):
        _spec(patch, _widget())
    assert _spec(patch, _widget(a={"y": 0})) == {"a": {"x": 1, "y": 0}}


def test_an_anchor_with_spaces_is_an_error() -> None:
    with pytest.raises(PatchError, match="without spaces"):
        _spec({" (a)": 1}, _widget(a=1))


def test_a_list_may_not_lose_more_than_it_has() -> None:
    patch = {"containers": [{"(name)": "x"}, {"(name)": "y"}]}
    with pytest.raises(PatchError, match="loses more elements"):
        _spec(patch, _pod(containers=[{"name": "a"}]))


def test_elements_without_their_key_push_out_the_others() -> None:
    resource = _pod(imagePullSecrets=[{"name": "a"}, {"x": "y"}, {"name": "b"}])
    found = _spec({"nodeName": "n"}, resource)
    assert found["imagePullSecrets"] == [{"x": "y"}]


def test_long_lists_take_a_bounded_time() -> None:
    elements = [{"name": f"c{index}"} for index in range(20_000)]
    found = _spec({"containers": [{"name": "c1", "tty": True}]}, _pod(containers=elements))
    assert len(found["containers"]) == len(elements)
    with pytest.raises(PatchError, match="more than 1000 elements"):
        _spec({"nodeName": "n"}, _pod(containers=[*elements, {"name": "c1"}]))

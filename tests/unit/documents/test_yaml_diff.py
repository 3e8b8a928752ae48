from chartkit.documents.yaml_dump import in_order, yaml_diff


def test_the_order_of_keys_is_no_difference() -> None:
    assert (
        yaml_diff({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}, "x", "y") == []
    )


def test_lists_are_compared_by_name() -> None:
    before = {"l": [{"name": "one", "x": 1, "z": 2}]}
    after = {"l": [{"name": "new"}, {"z": 2, "x": 1, "name": "one"}]}
    assert yaml_diff(before, after, "x", "y")[3:] == [
        " l:",
        "+- name: new",
        " - name: one",
        "   x: 1",
        "   z: 2",
    ]


def test_new_keys_come_last_and_nothing_is_lost() -> None:
    value = {"z": [1, {"k": 1}], "a": None, "m": {"q": 1}}
    ordered = in_order(value, {"m": 1, "a": {"x": 1}})
    assert list(ordered) == ["m", "a", "z"]
    assert ordered == value


def test_values_of_other_kinds_stay() -> None:
    assert in_order([1, 2, 3], {"a": 1}) == [1, 2, 3]
    assert in_order([[{"b": 1, "a": 1}]], [[{"a": 1, "b": 1}], 2, 3]) == [[{"a": 1, "b": 1}]]

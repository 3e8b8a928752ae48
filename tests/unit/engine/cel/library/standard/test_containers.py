"""Members by place and key, whatever number names them."""

import pytest

from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.values import Uint, Value
from tests.unit.engine.cel.library.calls import answer

_MAP = {1: "one", "a": 2, 0: "zero"}


@pytest.mark.parametrize(
    ("id", "args", "expected"),
    [
        ("index_list", (["a", "b"], 1), ("str", "b")),
        ("index_list", (["a", "b"], 1.0), ("str", "b")),
        ("index_list", (["a", "b"], Uint(1)), ("str", "b")),
        ("index_list", (["a"], 1), ("error", "index out of bounds: 1")),
        ("index_list", (["a"], -1), ("error", "index out of bounds: -1")),
        ("index_list", (["a"], 0.5), ("error", "unsupported index value 0.5 in list")),
        ("index_list", (["a"], Uint(2**63)), ("error", f"unsupported index value {2**63} in list")),
        ("index_list", (["a"], "0"), ("error", "unsupported index type 'string' in list")),
        ("index_map", (_MAP, 1.0), ("str", "one")),
        ("index_map", (_MAP, Uint(1)), ("str", "one")),
        ("index_map", (_MAP, "b"), ("error", "no such key: b")),
        ("index_map", (_MAP, 1.5), ("error", "no such key: 1.5")),
        ("index_map", (_MAP, True), ("error", "no such key: true")),
        ("index_map", ({True: "yes"}, True), ("str", "yes")),
        ("index_map", ({True: "yes"}, 1), ("error", "no such key: 1")),
        ("in_map", (0.0, _MAP), ("bool", True)),
        ("in_map", (False, _MAP), ("bool", False)),
        ("in_map", (None, _MAP), ("bool", False)),
        ("in_map", ([1], _MAP), ("bool", False)),
        ("in_list", (1.0, [Uint(1)]), ("bool", True)),
        ("in_list", (True, [1, 1.0]), ("bool", False)),
        ("size_string", ("é😀",), ("int", 2)),
        ("bytes_size", (b"\xc3\xa9",), ("int", 2)),
        ("matches", ("aéb", "^a.b$"), ("bool", True)),
        ("matches_string", ("a", "("), ("error", "error parsing regexp: missing closing ): `(`")),
        ("contains_string", ("abc", ""), ("bool", True)),
        ("starts_with_string", ("abc", "ab"), ("bool", True)),
        ("ends_with_string", ("abc", "ab"), ("bool", False)),
    ],
)
def test_containers(id: str, args: tuple[Value, ...], expected: tuple[str, Value]) -> None:
    assert answer(LIBRARY, id, args) == expected

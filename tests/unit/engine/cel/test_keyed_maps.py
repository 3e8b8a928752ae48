"""Maps whose keys are not strings: what Python takes for one key, CEL does not."""

import pytest

from chartkit.engine.cel import CelError, compile_expression
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import Stopped
from chartkit.engine.cel.values import KeyedMap, Uint

_MIXED = "{dyn(true): 'a', dyn(1): 'b', dyn(1u): 'c', dyn(1.0): 'd'}"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"size({_MIXED})", 4),
        (f"dyn({_MIXED})[true]", "a"),
        (f"dyn({_MIXED})[1]", "b"),
        (f"dyn({_MIXED})[1u]", "c"),
        (f"dyn({_MIXED})[1.0]", "d"),
        ("dyn({1: 'a'})[1u]", "a"),
        ("dyn({1u: 'a'})[1.0]", "a"),
        ("dyn({dyn(1.0): 'a'}) == dyn({1: 'a'})", True),
        ("dyn({1: 'a'}) == dyn({dyn(1.0): 'a'})", False),
        ("dyn({true: 'a'}) == dyn({1: 'a'})", False),
        ("dyn({1: 'a'}) == dyn({'a': 1})", False),
        ("size({[1]: 1, [1]: 2})", 2),
        ("{[1]: 1}.map(key, key)", [[1]]),
        ("dyn([1]) in {dyn([1]): 1}", False),
        ("null in {dyn(null): 1}", True),
        ("[dyn(1), dyn(true)].transformMapEntry(i, v, {v: i}).size()", 2),
        ("size({1: 'a', ?1: optional.none()})", 0),
    ],
)
def test_each_type_has_its_own_keys(expression: str, expected: object) -> None:
    environment = ENVIRONMENTS["standard"]
    program = compile_expression(expression, environment)
    assert program.evaluate({}) == expected


def test_bytes_are_no_key() -> None:
    with pytest.raises(CelError, match="hash of unhashable type"):
        compile_expression("{b'a': 1}", ENVIRONMENTS["standard"]).evaluate({})


def test_it_is_a_dict_like_any_other() -> None:
    entries = KeyedMap([(1, "a"), (Uint(1), "b")])
    assert isinstance(entries, dict)
    assert list(entries) == list(entries.keys()) == [1, 1]
    assert list(entries.values()) == ["a", "b"]
    assert dict(entries) == {1: "b"}
    assert {**entries} == {1: "b"}
    assert entries.get(1) == entries[1] == "a"
    assert entries.get(2) is None
    assert 1.0 not in entries
    assert entries == KeyedMap([(1, "a"), (Uint(1), "b")])
    assert entries != KeyedMap([(1, "a")])
    assert entries != {}
    assert repr(entries) == "{1: 'a', 1u: 'b'}"
    assert entries.pop(1) == "a"
    assert entries.pop(1, "gone") == "gone"
    assert len(entries) == 1


def test_a_map_that_go_cannot_hold_stops_the_evaluation() -> None:
    text = "listObjToMap([{'k': 'a'}], [{{1: 'x'}: 'x'}], 'k', 'v') == {} || true"
    with pytest.raises(Stopped, match="hash of unhashable type map"):
        compile_expression(text, ENVIRONMENTS["gpol"]).evaluate({})

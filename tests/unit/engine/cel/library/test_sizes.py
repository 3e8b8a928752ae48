"""Nothing that a policy says fills the memory or runs for minutes."""

from collections.abc import Callable

import pytest

from chartkit.engine.cel.errors import CelError, CostLimitExceeded
from chartkit.engine.cel.library.extensions import encoders, lists, strings
from chartkit.engine.cel.library.extensions.formatting import format_text
from chartkit.engine.cel.library.standard import LIBRARY as STANDARD
from chartkit.engine.cel.values import OptionalValue, Value
from tests.cpu import ends_soon

_CODE = {
    each.id: each.implementation
    for library in (STANDARD, encoders.LIBRARY, lists.LIBRARY, lists.SETS_LIBRARY, strings.LIBRARY)
    for each in library.overloads
}
_TEXT = "x" * 100_000
_LARGE = "x" * 6_000_000


def _nested() -> list[Value]:
    """Ten million members in lists that stand in one another again and again."""
    members: list[Value] = [0] * 10
    for _ in range(7):
        members = [members] * 10
    return members


@pytest.mark.parametrize(
    "call",
    [
        lambda: _CODE["add_string"](_LARGE, _LARGE),
        lambda: _CODE["add_bytes"](bytes(6_000_000), bytes(6_000_000)),
        lambda: _CODE["string_replace_string_string"](_TEXT, "x", _TEXT),
        lambda: _CODE["string_replace_string_string"](_TEXT, "", _TEXT),
        lambda: _CODE["list_join_string"]([_TEXT] * 1000, ""),
        lambda: _CODE["list_join_string"]([""] * 1000, _TEXT),
        lambda: _CODE["list_flatten_int"](_nested(), 9),
        lambda: _CODE["list_distinct"]([[number] for number in range(10_000)]),
        lambda: _CODE["list_sets_contains_list"](
            [[n] for n in range(9999)], [[n] for n in range(9999)]
        ),
        lambda: format_text("%s" * 1000, [_TEXT] * 1000),
        lambda: format_text("%.999999999f", [1.5]),
        lambda: format_text("%.999999999e", [1.5]),
        lambda: format_text("%s", [_nested()]),
        lambda: format_text("%s", [[_TEXT] * 1000]),
        lambda: _CODE["json_encode_dyn"](_nested()),
        lambda: _CODE["json_encode_dyn"]({"a": OptionalValue(True, [_TEXT] * 1000)}),
        lambda: _CODE["string_split_string"](_LARGE, ""),
        lambda: _CODE["string_split_string_int"](_LARGE, "x", -1),
        lambda: _CODE["add_list"]([0] * 1_500_000, [0] * 1_500_000),
    ],
)
def test_it_stops_soon(call: Callable[[], Value]) -> None:
    with ends_soon(), pytest.raises(CostLimitExceeded):
        call()


def test_long_lists_of_simple_values_are_compared_at_once() -> None:
    numbers: list[Value] = list(range(100_000))
    assert _CODE["list_distinct"](numbers + numbers) == numbers
    assert _CODE["list_sets_equivalent_list"](numbers, numbers[::-1])


def test_a_range_has_a_million_members_at_most() -> None:
    with pytest.raises(CelError):
        _CODE["lists_range"](2**62)

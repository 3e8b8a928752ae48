"""Texts by characters: places, pieces, and what is out of range."""

import pytest

from chartkit.engine.cel.library.extensions.strings import LIBRARY
from chartkit.engine.cel.values import Value
from tests.unit.engine.cel.library.calls import answer

_INT_MAX = 2**63 - 1


def _outside(place: int) -> tuple[str, str]:
    return "error", f"index out of range: {place}"


@pytest.mark.parametrize(
    ("id", "args", "expected"),
    [
        ("string_char_at_int", ("a😀b", 1), ("str", "😀")),
        ("string_char_at_int", ("a😀b", 3), ("str", "")),
        ("string_char_at_int", ("a", -1), _outside(-1)),
        ("string_char_at_int", ("a", _INT_MAX), _outside(_INT_MAX)),
        ("string_index_of_string", ("tacocat", ""), ("int", 0)),
        ("string_index_of_string", ("😀a", "a"), ("int", 1)),
        ("string_index_of_string", ("a", "b"), ("int", -1)),
        ("string_index_of_string_int", ("tacocat", "a", 3), ("int", 5)),
        ("string_index_of_string_int", ("tacocat", "", 9), ("int", 7)),
        ("string_index_of_string_int", ("tacocat", "a", 9), ("int", -1)),
        ("string_index_of_string_int", ("tacocat", "a", -1), _outside(-1)),
        ("string_last_index_of_string", ("tacocat", "at"), ("int", 5)),
        ("string_last_index_of_string", ("tacocat", ""), ("int", 7)),
        ("string_last_index_of_string", ("", "a"), ("int", -1)),
        ("string_last_index_of_string", ("a", "abc"), ("int", -1)),
        ("string_last_index_of_string_int", ("tacocat", "a", 4), ("int", 1)),
        ("string_last_index_of_string_int", ("tacocat", "at", 5), ("int", 5)),
        ("string_last_index_of_string_int", ("tacocat", "a", 7), ("int", -1)),
        ("string_last_index_of_string_int", ("tacocat", "", 9), ("int", 7)),
        ("string_last_index_of_string_int", ("tacocat", "a", -1), _outside(-1)),
        ("string_lower_ascii", ("ÄBC",), ("str", "Äbc")),
        ("string_upper_ascii", ("äßc",), ("str", "äßC")),
        ("string_replace_string_string", ("abc", "", "-"), ("str", "-a-b-c-")),
        ("string_replace_string_string", ("aaa", "aa", "b"), ("str", "ba")),
        ("string_replace_string_string_int", ("aaa", "a", "b", 2), ("str", "bba")),
        ("string_replace_string_string_int", ("aaa", "a", "b", 0), ("str", "aaa")),
        ("string_replace_string_string_int", ("aaa", "a", "b", -5), ("str", "bbb")),
        ("string_split_string", ("", ""), ("list", [])),
        ("string_split_string", ("", ","), ("list", [""])),
        ("string_split_string", ("aé", ""), ("list", ["a", "é"])),
        ("string_split_string", ("a,,b", ","), ("list", ["a", "", "b"])),
        ("string_split_string_int", ("a,b,c", ",", 2), ("list", ["a", "b,c"])),
        ("string_split_string_int", ("a,b,c", ",", 0), ("list", [])),
        ("string_split_string_int", ("a,b,c", ",", 1), ("list", ["a,b,c"])),
        ("string_split_string_int", ("abc", "", 2), ("list", ["a", "bc"])),
        ("string_split_string_int", ("", "", 2), ("list", [])),
        ("string_substring_int", ("tacocat", 7), ("str", "")),
        ("string_substring_int", ("tacocat", 8), _outside(8)),
        ("string_substring_int_int", ("é😀b", 1, 2), ("str", "😀")),
        (
            "string_substring_int_int",
            ("abc", 2, 1),
            ("error", "invalid substring range. start: 2, end: 1"),
        ),
        ("string_substring_int_int", ("abc", -1, 1), _outside(-1)),
        ("string_substring_int_int", ("abc", 0, 4), _outside(4)),
        ("string_trim", ("\t\u0085\u00a0 a \u2003\u3000",), ("str", "a")),
        ("string_trim", ("\u200ba\x1f",), ("str", "\u200ba\x1f")),
        ("strings_quote", ('a"\\\n\té\x00',), ("str", '"a\\"\\\\\\n\\té\x00"')),
        ("list_join", (["a", "b"],), ("str", "ab")),
        ("list_join_string", ([], ","), ("str", "")),
        ("list_join_string", (["a", 1.0], ","), ("error", "join: invalid input: 1")),
    ],
)
def test_strings(id: str, args: tuple[Value, ...], expected: tuple[str, Value]) -> None:
    assert answer(LIBRARY, id, args) == expected

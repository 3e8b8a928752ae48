"""What a proof remembers of the values of its requests, and for how long."""

import pytest

from chartkit.addons.migrate.proof.requests import contents as module
from chartkit.addons.migrate.proof.requests.contents import Contents


def test_equal_values_have_one_content() -> None:
    contents = Contents()
    first, second = {"a": [1, "1"], "b": {}}, {"b": {}, "a": [1, "1"]}
    assert contents.of(first) is contents.of(second)
    for other in ({"a": [True, "1"], "b": {}}, {"a": ["1", 1], "b": {}}, {"a": [1, "1"], "b": []}):
        assert contents.of(other) is not contents.of(first)


def test_what_is_known_is_forgotten_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 4)
    contents = Contents()
    for number in range(10):
        key = contents.of({"number": number})
        contents.refusals[key], contents.stored[key] = "", None
        assert len(contents.refusals) <= 5
        assert len(contents.stored) <= 5
    assert contents.of({"number": 9}) is key

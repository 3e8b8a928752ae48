"""Texts that are no YAML, or that JSON has no place for."""

from __future__ import annotations

import pytest

from chartkit.engine.jmespath import JMESPathError, compile_expression


@pytest.mark.parametrize("text", ["null: 1.5", "[{~: x}]", "{[a]: 1}", "? {x: 1}\n: 3"])
def test_keys_that_json_has_no_place_for(text: str) -> None:
    with pytest.raises(JMESPathError, match="yaml: a key must be text, a number or a boolean"):
        compile_expression("parse_yaml(@)").search(text)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("nunp", "yaml: invalid leading UTF-8 octet"),
        ("YTogYuk=", "yaml: incomplete UTF-8 octet sequence"),
        ("wyg=", "yaml: invalid trailing UTF-8 octet"),
        ("YTog7aCA", "yaml: invalid Unicode character"),
        ("YTogMQpiOiDAgA==", "yaml: invalid length of a UTF-8 sequence"),
        ("YTogAQ==", "yaml: control characters are not allowed"),
    ],
)
def test_bytes_that_are_no_text_are_an_error_of_the_function(data: str, said: str) -> None:
    with pytest.raises(JMESPathError) as caught:
        compile_expression(f"parse_yaml(base64_decode('{data}'))").search({"a": 1})
    assert str(caught.value) == said

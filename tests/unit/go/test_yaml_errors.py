"""What go-yaml and sigs.k8s.io/yaml say of keys that JSON has no place for."""

import pytest

from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.go.json_decoder import yaml_problem

NULL = "unsupported map key of type: %!s(<nil>), key: <nil>, value: "
LIST = "yaml: invalid map key: "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("null: 1.5", f"{NULL}1.5"),
        ("~: abc", f'{NULL}"abc"'),
        (
            "null: [a, 1, null, {b: 2}]",
            f'{NULL}[]interface {{}}{{"a", 1, interface {{}}(nil), '
            'map[interface {}]interface {}{"b":2}}',
        ),
        ("null: {b: 2}", f'{NULL}map[interface {{}}]interface {{}}{{"b":2}}'),
        ("null: true", f"{NULL}true"),
        ("null: null", f"{NULL}<nil>"),
        ("null: 2.0", f"{NULL}2"),
        ("null: 'null'", f'{NULL}"null"'),
        ("null: 10000000000000000000000", f"{NULL}1e+22"),
        ("null: 2024-01-01", f'{NULL}"2024-01-01"'),
        ('[{null: q"x}]', f'{NULL}"q\\"x"'),
        ("a: {null: x}", f'{NULL}"x"'),
        ("{[a]: 1, null: 2}", f'{LIST}[]interface {{}}{{"a"}}'),
        ("{null: 2, {x: 1}: 3}", f'{LIST}map[interface {{}}]interface {{}}{{"x":1}}'),
        (
            "{[a, {b: null}]: 1}",
            f'{LIST}[]interface {{}}{{"a", '
            'map[interface {}]interface {}{"b":interface {}(nil)}}',
        ),
        ("? [1,2]\n: x", f"{LIST}[]interface {{}}{{1, 2}}"),
    ],
)
def test_keys_that_json_has_no_place_for(text: str, said: str) -> None:
    with pytest.raises(JMESPathError, match=r"^") as caught:
        compile_expression("parse_yaml(@)").search(text)
    assert str(caught.value).endswith(said)


def test_a_text_with_aliases_is_not_written_out() -> None:
    layers = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    assert yaml_problem("\n".join(["a0: &a0 [x]", *layers, "null: *a8"])) is None


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

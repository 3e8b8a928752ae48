"""JSON written and read; the answers are those of Kyverno's own library."""

import pytest

from chartkit.engine.cel.errors import CelError
from tests.unit.engine.cel.library.kyverno.evaluation import value


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("object", '{"a":1,"f":1.5,"l":[1,"a",{"z":null}],"m":{"x":1},"n":null}'),
        ("object.n", "0"),
        ("[dyn(null)]", "[0]"),
        ("{'a': object.l}", '{"a":[1,"a",{"z":null}]}'),
        ("object.l + object.l", '[1,"a",{"z":null},1,"a",{"z":null}]'),
        ("{'a': [1, 2].map(x, x)}", '{"a":[1,2]}'),
        ("'<a>&'", '"\\u003ca\\u003e\\u0026"'),
        ("duration('1s')", "1000000000"),
        ("timestamp('2024-01-01T00:00:00+02:00')", '"2024-01-01T00:00:00+02:00"'),
        ("b'abc'", '"YWJj"'),
        ("type(1)", '"int"'),
        ("optional.none()", "null"),
        ("optional.of(object.m)", '{"x":1}'),
        ("image('nginx')", '"nginx"'),
        ("{'a': quantity('1')}", '{"a":"1"}'),
        ("parseServiceAccount('system:serviceaccount:a:b')", '{"name":"b","namespace":"a"}'),
        ("1e21", "1e+21"),
        ("9223372036854775807", "9223372036854775807"),
    ],
)
def test_values_are_written_as_go_writes_them(written: str, text: str) -> None:
    assert value(f"json.marshal({written})") == text


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{'a': {'b': 1}}", "json: unsupported type: map[interface {}]interface {}"),
        ("{'a': object.m}", "json: unsupported type: map[interface {}]interface {}"),
        ("[[{'a': 1}]]", "json: unsupported type: map[interface {}]interface {}"),
        ("object.l.map(x, x)", "json: unsupported type: map[interface {}]interface {}"),
        ("{1: 'a'}", "unsupported type conversion from 'int' to string"),
        ("[type(1)]", "type conversion not supported for 'type'"),
        ("double('NaN')", "json: unsupported value: NaN"),
    ],
)
def test_what_has_no_json_is_refused(written: str, message: str) -> None:
    with pytest.raises(CelError) as caught:
        value(f"json.marshal({written})")
    assert str(caught.value) == message


def test_numbers_that_are_read_are_doubles() -> None:
    read = value("""json.unmarshal('{"a": [1, 9007199254740993, -0]}').a""")
    assert [(each, type(each)) for each in read] == [  # type: ignore[attr-defined]
        (1.0, float),
        (9007199254740992.0, float),
        (-0.0, float),
    ]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("'{bad'", "invalid character 'b' looking for beginning of object key string"),
        ("1", "unsupported type conversion from 'int' to string"),
        ("null", "type conversion error from 'null_type' to 'string'"),
        ("'1e999'", "json: cannot unmarshal number 1e999 into Go value of type float64"),
    ],
)
def test_what_is_no_json_is_refused(argument: str, message: str) -> None:
    with pytest.raises(CelError) as caught:
        value(f"json.unmarshal({argument})")
    assert str(caught.value) == message


def test_a_deep_text_ends_in_an_error() -> None:
    with pytest.raises(CelError, match="exceeded max depth"):
        value("json.unmarshal('" + "[" * 90_000 + "')")

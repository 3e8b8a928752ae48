"""Quantities: what counts as an integer, sums in the right format, and refused comparisons."""

import pytest

from chartkit.engine.cel.library.kubernetes.quantity import parse_quantity
from tests.unit.engine.cel.library.kubernetes.expressions import comes_to


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("quantity('1000')", 'quantity("1k")'),
        ("quantity('5.')", 'quantity("5.")'),
        ("quantity('1.5Gi')", 'quantity("1536Mi")'),
        ("quantity('1e400')", 'quantity("10e399")'),
        ("isQuantity('1Zi')", "false"),
        ("isQuantity('20Mi')", "true"),
        ("sign(quantity('-1'))", "-1"),
        ("sign(quantity('0'))", "0"),
        ("quantity('1Gi').isInteger()", "true"),
        ("quantity('1.0').isInteger()", "false"),
        ("quantity('3E').asInteger()", "3000000000000000000"),
        ("quantity('1e19').isInteger()", "false"),
        ("quantity('9223372036854775807').isInteger()", "false"),
        ("quantity('16Ei').isInteger()", "false"),
        ("quantity('0e3').asInteger()", "0"),
        ("quantity('1e20').asApproximateFloat()", "1e+20"),
        ("quantity('1k').add(quantity('1Ki'))", 'quantity("2024")'),
        ("quantity('1Gi').add(1)", 'quantity("1073741825")'),
        ("quantity('0').add(quantity('1Gi'))", 'quantity("1Gi")'),
        ("quantity('1').add(quantity('0m')).isInteger()", "true"),
        ("quantity('0m').add(1).isInteger()", "true"),
        ("quantity('0.00Ki').add(1).isInteger()", "false"),
        ("quantity('1').add(quantity('500m')).sub(quantity('500m')).isInteger()", "false"),
        ("quantity('9E').add(quantity('9E')).isInteger()", "false"),
        ("quantity('9E').sub(-9223372036854775807).isInteger()", "false"),
        ("quantity('13E').sub(9223372036854775807).isInteger()", "false"),
        ("quantity('0').sub(-9223372036854775808)", 'quantity("-9223372036854775808")'),
        ("quantity('1').sub(-9223372036854775808)", 'quantity("-9223372036854775807")'),
        ("quantity('-1').sub(-9223372036854775808)", 'quantity("9223372036854775807")'),
        ("quantity('1n').sub(-9223372036854775808)", 'quantity("9223372036854775808000000001n")'),
        ("quantity('50k').add(20).sub(quantity('100k')).sub(-50000)", 'quantity("20")'),
        ("quantity('1Gi').isGreaterThan(quantity('1G'))", "true"),
        ("quantity('1Gi').isLessThan(quantity('1G'))", "false"),
        ("quantity('500m').compareTo(quantity('0.5'))", "0"),
        ("quantity('1Gi') == quantity('1024Mi')", "true"),
        ("quantity('1').add(1) == quantity('2')", "true"),
        ("quantity('2') == quantity('1').add(1)", "error: no such overload"),
        ("quantity('2') != quantity('1').add(1)", "true"),
        ("quantity('2') in [quantity('1').add(1)]", "false"),
        ("[quantity('2')] == [quantity('1').add(5)]", "true"),
        ("{'a': quantity('2')} == {'a': quantity('1').add(5)}", "true"),
        ("dyn(quantity('2')) == dyn(2)", "error: no such overload"),
        ("dyn(2) == dyn(quantity('2'))", "false"),
        ("dyn(quantity('2')) == null", "false"),
    ],
)
def test_quantities_in_cel(expression: str, expected: str) -> None:
    assert comes_to(expression) == expected


def test_a_sum_that_would_need_a_thousand_digits_is_refused() -> None:
    numeric = "error: unable to parse numeric part of quantity"
    assert comes_to("quantity('1e5000').add(1)") == numeric
    assert comes_to("quantity('1e5000').isGreaterThan(quantity('1'))") == "true"


def test_equal_quantities_have_one_hash() -> None:
    assert parse_quantity("1Gi") == parse_quantity("1024Mi")
    assert hash(parse_quantity("1Gi")) == hash(parse_quantity("1024Mi"))
    assert parse_quantity("1Gi") != "1Gi"

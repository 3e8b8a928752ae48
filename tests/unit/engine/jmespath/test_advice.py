"""What to write in place of an expression that fails."""

import pytest

from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.advice import advice, call_mistakes

ADVICE = {
    "sum(`1`, `2`)": "add(a, b) adds two numbers; sum() takes one list",
    "add(`1`)": "it is add(any, any) any",
    "add(`1`, 10)": "write numbers in backticks: `10`",
    "add('1', `2`)": "write `1`",
    "add(label, `2`)": "the operands must be of one type",
    "add(missing, `2`)": "an operand has no value",
    "to_upper(missing)": "an argument has no value",
    "to_upper(`1`)": "to_string() makes a text",
    "label == ``x``": "write one pair of backticks",
    "label == `x`": "JSON is in backticks",
    "label = 'x'": "a comparison has two signs",
    "label == 'x' and label": "write && for and",
    "{{ label }}": "leave the braces out",
    "to_uper(label)": "did you mean 'to_upper'?",
    "request.object": "put the object below request.object",
    "labl": "no variable is called labl",
}


@pytest.mark.parametrize(("text", "wanted"), ADVICE.items())
def test_an_error_has_advice(text: str, wanted: str) -> None:
    with pytest.raises(JMESPathError) as error:
        compile_expression(text).search({"label": "5"})
    assert (advice(str(error.value), text) or "").startswith(wanted)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (
            "failed to resolve sum(a, b) at path /x: JMESPath query failed: incorrect number",
            "add(a, b) adds two numbers; sum() takes one list",
        ),
        (
            "failed to resolve add(a, 1) at path /x: invalid JMESPath query add(a, 1): "
            "SyntaxError: Invalid token: tNumber",
            "write numbers in backticks: `10`",
        ),
        ("failed to load context", None),
        ("", None),
    ],
)
def test_a_message_of_a_rule_names_the_expression(message: str, wanted: str | None) -> None:
    assert advice(message) == wanted


@pytest.mark.parametrize(
    "text", ["add('1', '2')", "add(`1`, to_number('2'))", "sum([`1`, `2`])", "add(a, b)", "add('"]
)
def test_calls_that_can_succeed_are_no_mistake(text: str) -> None:
    assert call_mistakes(text) == []
